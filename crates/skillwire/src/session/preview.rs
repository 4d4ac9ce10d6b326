//! Shows a file of a skill to the user, before anything is approved.

use std::io::{self, Write};

use skillwire_core::{Digest, media_type};
use skillwire_host::{
    Inspected,
    context::{flags::flags, text},
};

use skillwire_terminal::{StyledLine, markdown};

use super::card;
use crate::output::{FAINT, WARNING, styled};

/// Writes what the user should know about a file before reading it.
pub(crate) fn notes(out: &mut impl Write, file: &Inspected) -> io::Result<()> {
    let digest = Digest::of(&file.bytes);
    if file.verified {
        writeln!(
            out,
            "{FAINT}{} matches what {} lists ({digest}); that is no reason to trust it.{FAINT:#}",
            file.uri,
            card::origin(&file.skill.origin)
        )?;
    } else {
        writeln!(
            out,
            "{WARNING}warning{WARNING:#}: {} was compared with nothing: the server gives no digest for it.",
            file.uri
        )?;
    }
    let Ok(text) = std::str::from_utf8(&file.bytes) else {
        let kind = media_type::of(&file.uri.name(), &file.bytes);
        return writeln!(
            out,
            "It is not text ({} bytes, {kind}); `skillwire export` copies it.",
            file.bytes.len()
        );
    };
    let flags = flags(text.as_bytes());
    if !flags.is_empty() {
        writeln!(out, "{WARNING}warning{WARNING:#}: It holds {flags}, shown as escapes.")?;
    }
    Ok(())
}

/// The text of a file as lines: Markdown as it reads, everything else as it is written.
pub(crate) fn lines(file: &Inspected) -> Vec<StyledLine> {
    let is_markdown = file.uri.name().to_ascii_lowercase().ends_with(".md");
    match std::str::from_utf8(&file.bytes) {
        Ok(text) if is_markdown => markdown(text),
        Ok(text) => text::lines(text).lines().map(StyledLine::plain).collect(),
        Err(_) => Vec::new(),
    }
}

/// The text of a file for a terminal of this width, in styles; `None` if it is not text.
pub(crate) fn rendered(file: &Inspected, width: usize) -> Option<String> {
    std::str::from_utf8(&file.bytes).ok()?;
    Some(styled(&lines(file), width))
}

/// The text of a file, with characters that would act on a terminal shown as escapes; `None` if it
/// is not text.
pub(crate) fn text(file: &Inspected) -> Option<String> {
    let mut text = text::lines(std::str::from_utf8(&file.bytes).ok()?);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}
