//! Generates completions and manual pages from the definition of the command line.

use std::io::Write;

use clap::CommandFactory;

use super::Outcome;
use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    exit::Exit,
    failure::Failure,
};

/// The variable by which a shell asks the program for completions.
pub(super) const COMPLETE: &str = "SKILLWIRE_COMPLETE";

/// `skillwire completions`: a script for a shell, which asks this program while the user types.
pub(super) fn completions(args: &CompletionsArgs) -> Outcome {
    let shells = clap_complete::env::Shells::builtins();
    let shell = args.shell.to_string();
    let Some(completer) = shells.completer(&shell) else {
        return Err(Failure::usage(format!("There are no completions for `{shell}`.")));
    };
    let mut script = Vec::new();
    completer.write_registration(COMPLETE, "skillwire", "skillwire", "skillwire", &mut script)?;
    if args.shell == clap_complete::Shell::Bash {
        script.extend_from_slice(BASH_COLONS.as_bytes());
    }
    print(&script)
}

/// Completes words with a colon in bash, which takes a colon for the end of a word: the words are put
/// together again, and what stands before the last colon is not repeated.
const BASH_COLONS: &str = r#"
_skillwire() {
    local line=${COMP_LINE:0:COMP_POINT}
    local current=${line##*[[:space:]]}
    if [[ $COMP_WORDBREAKS != *:* || $current != *:* ]]; then
        _clap_complete_skillwire "$@"
        return
    fi
    local COMP_WORDS=($line)
    local COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _clap_complete_skillwire "$1" "$current" "$3"
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
}
complete -o nospace -o bashdefault -F _skillwire skillwire
"#;

/// `skillwire man`: the manual page of the program, or those of all commands in a folder.
pub(super) fn manual(args: &ManArgs) -> Outcome {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(manual_command()).render(&mut page)?;
        return print(&page);
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(manual_command(), dir))
        .map_err(|error| {
            Failure::usage(format!("`{}` cannot be written.", dir.display())).because(error)
        })?;
    Ok(Exit::Ok)
}

/// The command line as manual pages describe it: the same for every target.
fn manual_command() -> clap::Command {
    Cli::command().long_version(None)
}

fn print(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Exit::Ok)
}
