//! Shows repairs as a unified diff.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use skillwire_core::diff_lines;

use crate::{
    output::{ADDED, FAINT, REMOVED, changed_line},
    report::printable,
};

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 2;

/// The longest time for comparing a file with its repaired version, whatever the file contains.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes what would change in a file.
///
/// With `visible`, for a terminal, characters that would act on it are escaped. In a pipe the lines
/// are unchanged, so that `patch` can read them.
pub(in crate::commands) fn content(
    out: &mut impl Write,
    file: &str,
    before: &str,
    after: &str,
    visible: bool,
) -> std::io::Result<()> {
    let hunks = diff_lines(before, after, CONTEXT, Instant::now() + PATIENCE);
    if hunks.is_empty() {
        return Ok(());
    }
    let file = printable(file);
    writeln!(out, "{REMOVED}--- {file}{REMOVED:#}")?;
    writeln!(out, "{ADDED}+++ {file}{ADDED:#}")?;
    for hunk in hunks {
        writeln!(out, "{FAINT}{hunk}{FAINT:#}")?;
        for line in hunk.lines {
            let text = if visible { printable(line.text) } else { line.text.to_owned() };
            changed_line(out, line, &text)?;
        }
    }
    Ok(())
}

/// Writes that a file would get another name.
pub(super) fn name(out: &mut impl Write, file: &str, name: &str) -> std::io::Result<()> {
    let renamed = match file.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{name}"),
        None => name.to_owned(),
    };
    writeln!(out, "{REMOVED}rename from {}{REMOVED:#}", printable(file))?;
    writeln!(out, "{ADDED}rename to {}{ADDED:#}", printable(&renamed))
}
