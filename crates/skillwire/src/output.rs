//! Styles and words that commands share. `anstream` removes colours from pipes and files.

use std::{fmt::Write as _, io};

use anstyle::{AnsiColor, Style};
use skillwire_core::{DiffLine, LineChange, NO_LINE_FEED};
use skillwire_terminal::{StyledLine, Tone};

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

/// The style of a tone.
fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => STRONG,
        Tone::Faint => FAINT,
        Tone::Heading | Tone::Note => NOTE,
        Tone::Code => AnsiColor::Magenta.on_default(),
        Tone::Link => AnsiColor::Blue.on_default().underline(),
        Tone::Added => ADDED,
        Tone::Removed => REMOVED,
        Tone::Warning => WARNING,
        Tone::Error => ERROR,
    }
}

/// Lines with their styles, fitted to a terminal of this width.
pub(crate) fn styled(lines: &[StyledLine], width: usize) -> String {
    let mut text = String::new();
    for line in lines.iter().flat_map(|line| line.wrapped(width)) {
        for span in line.spans() {
            let style = style(span.tone);
            // Writing into a string does not fail.
            let _ = write!(text, "{style}{}{style:#}", span.text);
        }
        text.push('\n');
    }
    text
}

/// Writes a line of a unified diff in the colour of its change. `text` is the line as it may be shown.
pub(crate) fn changed_line(
    out: &mut impl io::Write,
    line: DiffLine<'_>,
    text: &str,
) -> io::Result<()> {
    let style = match line.change {
        LineChange::Unchanged => Style::new(),
        LineChange::Removed => REMOVED,
        LineChange::Added => ADDED,
    };
    writeln!(out, "{style}{}{text}{style:#}", line.change.sign())?;
    if !line.is_ended {
        writeln!(out, "{FAINT}{NO_LINE_FEED}{FAINT:#}")?;
    }
    Ok(())
}

/// A number with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    }
}

/// A number of bytes with its unit.
pub(crate) fn byte_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
