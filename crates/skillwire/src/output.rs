//! Colours; `anstream` takes them out where nobody wants them.

use anstyle::{AnsiColor, Style};

/// Errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Notes and advice.
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// What to do next.
pub(crate) const HELP: Style = AnsiColor::Green.on_default().bold();
/// What matters in a line.
pub(crate) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What is there now and was not before.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
/// What was there before and is not now.
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
