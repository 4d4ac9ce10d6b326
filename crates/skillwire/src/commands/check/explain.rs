//! `skillwire check --explain CODE`: the page of a reason code.

use std::io::Write;

use skillwire_core::Code;
use skillwire_terminal::markdown;

use super::Outcome;
use crate::{exit::Exit, failure::Failure, output::styled, prose};

/// Prints the page of a code: rendered for a terminal, and to a pipe as it is written.
pub(super) fn run(code: &str) -> Outcome {
    let found = Code::parse(code).ok_or_else(|| unknown(code))?;
    let text = match prose::width() {
        Some(width) => styled(&markdown(found.page()), width),
        None => found.page().to_owned(),
    };
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn unknown(code: &str) -> Failure {
    let words = |text: &str| text.split('-').map(str::to_owned).collect::<Vec<_>>();
    let asked = words(&code.to_lowercase());
    let begins = |word: &String| asked.iter().any(|a| a.len() > 2 && word.starts_with(a.as_str()));
    let alike = |known: &&Code| words(known.as_str()).iter().any(begins);
    let near: Vec<_> = Code::ALL.iter().filter(alike).map(|code| format!("`{code}`")).collect();
    let failure = Failure::usage(format!("There is no code `{}`.", code.escape_debug()));
    if near.is_empty() {
        failure.hint("`skillwire check` prints the code of each finding in brackets.")
    } else {
        failure.hint(format!("These are alike: {}.", near.join(", ")))
    }
}
