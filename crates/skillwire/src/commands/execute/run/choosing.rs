//! What the user is told who names no script of a skill, or one that it does not have.

use skillwire_core::RelPath;

use crate::{
    failure::Failure, nearest::nearest_path, refusals::argument, report::printable,
    session::NamedSkill,
};

/// The most scripts that a message names.
const MOST_NAMED: usize = 12;

/// Makes the failure for a command without a script.
pub(super) fn unnamed(named: &NamedSkill) -> Failure {
    let Some(files) = named.listed.other_files() else {
        return Failure::usage("No script was named.")
            .hint("Its server does not list the files of the skill.");
    };
    let files: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
    let handle = argument(&named.handle);
    let hint = match scripts(&files).as_slice() {
        [] => "The skill has no scripts.".to_owned(),
        [first, ..] => {
            let first = argument(first);
            format!("{} `skillwire run {handle} {first}` runs one.", listed(&files))
        }
    };
    Failure::usage("No script was named.").hint(hint)
}

/// Makes the failure for a script that the skill does not have: with the one that was probably meant,
/// or else with all.
pub(super) fn unknown(typed: &RelPath, files: &[RelPath]) -> Failure {
    let scripts = scripts(files);
    let hint = match nearest_path(typed.as_str(), files.iter().map(RelPath::as_str)) {
        Some(meant) => format!("Did you mean `{}`?", printable(meant)),
        None if scripts.is_empty() => "The skill has no scripts.".to_owned(),
        None => listed(files),
    };
    let typed = printable(typed.as_str());
    Failure::usage(format!("The skill has no file `{typed}`.")).hint(hint)
}

fn scripts(files: &[RelPath]) -> Vec<&str> {
    let scripts = files.iter().filter(|path| skillwire_trust::is_script(path));
    scripts.map(RelPath::as_str).collect()
}

/// Names the scripts of a skill in a sentence.
fn listed(files: &[RelPath]) -> String {
    let scripts = scripts(files);
    let shown = scripts.iter().take(MOST_NAMED).map(|path| format!("`{}`", printable(path)));
    let shown: Vec<_> = shown.collect();
    let rest = match scripts.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("The skill's scripts: {}{rest}.", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<RelPath> {
        texts.iter().map(|text| RelPath::parse(text).unwrap()).collect()
    }

    fn said(typed: &str, files: &[RelPath]) -> String {
        unknown(&RelPath::parse(typed).unwrap(), files).to_string()
    }

    #[test]
    fn a_script_without_its_folder_or_with_a_slip_is_recognised() {
        let files = paths(&["references/a.md", "scripts/pay.py", "scripts/report.py"]);
        assert!(said("pay.py", &files).ends_with("Did you mean `scripts/pay.py`?"));
        assert!(said("scripts/reprot.py", &files).ends_with("Did you mean `scripts/report.py`?"));
        let all = "The skill's scripts: `scripts/pay.py`, `scripts/report.py`.";
        assert!(said("entirely/else.sh", &files).ends_with(all));
        assert!(said("x.py", &files[..1]).ends_with("The skill has no scripts."));
    }

    #[test]
    fn a_message_names_no_more_scripts_than_fit() {
        let many: Vec<_> = (0..40).map(|n| format!("scripts/tool-{n}.py")).collect();
        let files: Vec<_> = many.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        assert!(
            listed(&files).ends_with("`scripts/tool-11.py` and 28 more."),
            "{}",
            listed(&files)
        );
    }
}
