//! Findings and results as people and programs read them.

use std::io::Write;

use serde::Serialize;
use skillwire_core::finding::{Finding, Level};

use crate::output::{ERROR, FAINT, HELP, NOTE, WARNING};

/// Writes one finding in the form of a compiler's message.
pub(crate) fn finding(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    let style = match finding.level {
        Level::Error => ERROR,
        Level::Warning => WARNING,
        Level::Info | Level::Advice => NOTE,
    };
    let (level, code) = (finding.level.as_str(), finding.code);
    writeln!(out, "{style}{level}[{code}]{style:#}: {}", printable(&finding.message))?;
    let place = match finding.position {
        Some(position) => format!("{}:{}:{}", finding.file, position.line, position.column),
        None => finding.file.clone(),
    };
    writeln!(out, "  {FAINT}-->{FAINT:#} {}", printable(&place))?;
    if let Some(help) = &finding.help {
        writeln!(out, "  {HELP}help{HELP:#}: {}", printable(help))?;
    }
    Ok(())
}

/// Writes a value as indented JSON and ends the line.
pub(crate) fn json(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    writeln!(out)
}

/// Escapes what would act on a terminal: names and texts here come from strangers.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let keep = c == '\n' || !(c.is_control() || is_invisible(c));
            let (plain, escaped) =
                if keep { (Some(c), None) } else { (None, Some(c.escape_unicode())) };
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_54_strangers_cannot_act_on_a_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\nd"), "a\\u{1b}[31mb\\u{202e}c\nd");
    }
}
