//! `skillwire check --explain CODE`: the page of a reason code.

use std::io::Write;

use skillwire_core::Code;

use super::Outcome;
use crate::{exit::Exit, failure::Failure, output::STRONG, prose};

/// Prints the page of a code.
pub(super) fn run(code: &str) -> Outcome {
    let found = Code::parse(code).ok_or_else(|| unknown(code))?;
    let mut out = prose::stdout();
    for line in found.page().lines() {
        if line.starts_with('#') {
            writeln!(out, "{STRONG}{line}{STRONG:#}")?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
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
