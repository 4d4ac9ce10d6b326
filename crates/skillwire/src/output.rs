//! Styles and words that commands share. `anstream` removes colours from pipes and files.

use anstyle::{AnsiColor, Style};

/// Errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Notes and advice.
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// What to do next.
pub(crate) const HELP: Style = AnsiColor::Green.on_default().bold();
/// Lines that a repair adds.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
/// Lines that a repair removes.
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
/// The important part of a line.
pub(crate) const STRONG: Style = Style::new().bold();
/// The less important part of a line.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// A number with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    }
}
