//! Repairs as a unified diff.

use std::io::Write;

use similar::TextDiff;

use crate::{
    output::{ADDED, FAINT, REMOVED},
    report::printable,
};

/// Writes what would change in a file.
///
/// For a terminal everything is made visible; through a pipe the lines stay as they are, so that
/// `patch` can read them.
pub(super) fn content(
    out: &mut impl Write,
    file: &str,
    before: &str,
    after: &str,
    visible: bool,
) -> std::io::Result<()> {
    let diff = TextDiff::from_lines(before, after);
    let file = printable(file);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(2).header(&file, &file).to_string();
    for line in unified.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let shown = if visible { printable(content) } else { content.to_owned() };
        let style = match content.as_bytes().first() {
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(b'@') => FAINT,
            _ => anstyle::Style::new(),
        };
        writeln!(out, "{style}{shown}{style:#}")?;
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
