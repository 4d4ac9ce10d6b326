//! Finds out whether a skill is signed, so that a repair would break the signature.

use std::path::Path;

/// The endings of files that hold a detached signature.
const ENDINGS: [&str; 7] =
    [".sig", ".asc", ".minisig", ".sigstore", ".sigstore.json", ".p7s", ".signature"];

/// How many levels of directories are searched.
const DEPTH: usize = 8;

/// The name of a signature over the files of a directory, if there is one: in the directory, below
/// it, or in a directory around it up to `root`.
pub(super) fn over(directory: &Path, root: &Path) -> Option<String> {
    let around = directory.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    below(directory, DEPTH).or_else(|| around.into_iter().find_map(|folder| below(folder, 1)))
}

fn below(directory: &Path, depth: usize) -> Option<String> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            return if depth > 1 { below(&entry.path(), depth - 1) } else { None };
        }
        let lower = name.to_ascii_lowercase();
        ENDINGS.iter().any(|ending| lower.ends_with(ending)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use skillwire_testkit::SkillFolder;

    use super::*;

    #[test]
    fn a_signature_is_found_in_a_skill_below_it_and_around_it_rs_14() {
        for (path, found) in [
            ("team/a/skill.oms.sig", Some("skill.oms.sig")),
            ("team/a/meta/SKILL.md.asc", Some("SKILL.md.asc")),
            ("team/all.sigstore.json", Some("all.sigstore.json")),
            ("team/b/x.sig", None),
            ("team/a/notes.md", None),
        ] {
            let folder = SkillFolder::with_skills(&["team/a", "team/b"]);
            folder.file(path, "");
            let over = over(&folder.join("team/a"), folder.path());
            assert_eq!(over.as_deref(), found, "{path}");
        }
    }
}
