//! Which findings and files the user wants to hear of.

use skillwire_core::Code;
use skillwire_source::PathPatterns;

use crate::{args::CheckArgs, failure::Failure, nearest::nearest};

/// The codes and paths that the user selected or left out.
#[derive(Default)]
pub(super) struct Selection {
    /// Empty if every code counts.
    selected: Vec<Code>,
    ignored: Vec<Code>,
    excluded: PathPatterns,
}

impl Selection {
    pub(super) fn of(args: &CheckArgs) -> Result<Self, Failure> {
        let excluded = PathPatterns::parse(&args.exclude).map_err(|error| {
            Failure::usage(format!("`--exclude`: {error}."))
                .hint("Write a path below the folder, such as `drafts/**`.")
        })?;
        let (selected, ignored) =
            (codes("--select", &args.select)?, codes("--ignore", &args.ignore)?);
        Ok(Self { selected, ignored, excluded })
    }

    /// Whether findings with a code are reported.
    pub(super) fn takes(&self, code: Code) -> bool {
        (self.selected.is_empty() || self.selected.contains(&code)) && !self.ignored.contains(&code)
    }

    /// Whether a path below the folder is left out of the check.
    pub(super) fn excludes(&self, path: &str) -> bool {
        self.excluded.matches(path)
    }
}

/// The codes that the words of an option name; `*` at the end of a word stands for the rest of a code.
fn codes(option: &str, words: &[String]) -> Result<Vec<Code>, Failure> {
    let mut codes = Vec::new();
    for word in words {
        let fits = |code: &&Code| match word.strip_suffix('*') {
            Some(beginning) => code.as_str().starts_with(beginning),
            None => code.as_str() == word,
        };
        let before = codes.len();
        codes.extend(Code::ALL.iter().filter(fits));
        if codes.len() == before {
            let failure = Failure::usage(format!("`{option}`: there is no code `{word}`."));
            let known = Code::ALL.iter().map(|code| code.as_str());
            return Err(match nearest(word, known) {
                Some(near) => failure.hint(format!("Did you mean `{near}`?")),
                None => {
                    failure.hint("`skillwire check` prints the code of each finding in brackets.")
                }
            });
        }
    }
    Ok(codes)
}
