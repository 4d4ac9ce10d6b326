//! Checks the raw text before the YAML parser reads it.

use std::borrow::Cow;

use crate::finding::{Code, Finding};
use crate::span::Span;

use super::fence::Fenced;
use super::place::FilePositions;
use super::{FILE, Limits};

/// Refuses frontmatter that is too large to parse.
pub(super) fn too_large(file: &[u8], fenced: &Fenced<'_>, limits: &Limits) -> Option<Finding> {
    let (size, most) = (fenced.yaml.len(), limits.bytes);
    (size > most).then(|| {
        Finding::new(
            Code::YamlLimit,
            FILE,
            format!("The frontmatter has {size} bytes; at most {most} are read."),
        )
        .help("Move long text into the body or into a supporting file.")
        .at(file, Span::new(fenced.yaml_offset, fenced.yaml_offset + size))
    })
}

/// Reports characters and lines that end or spoil a YAML document, and takes them out of the way.
///
/// The text that comes back has as many code points as the one that went in, so places stay
/// right while the parser looks for further problems. There is none if it is in doubt where lines
/// end.
pub(super) fn mask<'a>(places: &FilePositions<'a>) -> (Option<Cow<'a, str>>, Vec<Finding>) {
    if let Some(finding) = conflict(places) {
        return (None, vec![finding]);
    }
    let mut findings = Vec::new();
    let mut text = Cow::Borrowed(places.text);
    if let Some(finding) = forbidden_characters(places) {
        findings.push(finding);
        text = text.chars().map(|ch| if is_forbidden(ch) { '\u{fffd}' } else { ch }).collect();
    }
    if let Some(at) = lone_carriage_return(places.text) {
        let span = places.span(at, at + 1);
        let message =
            "A carriage return without a line feed is a line end to some YAML parsers only.";
        let help = "Save the file with LF or CRLF line ends.";
        findings.push(places.finding(Code::YamlSyntax, span, message).help(help));
        return (None, findings);
    }
    let mut markers: Vec<usize> = Vec::new();
    let mut seen = Vec::new();
    for (index, start) in line_starts(places.text) {
        let Some(marker) = document_marker(&places.text[start..]) else { continue };
        markers.push(index);
        if !seen.contains(&marker) {
            seen.push(marker);
            let span = places.span(start, start + marker.len());
            findings.push(document_finding(places, marker, span));
        }
    }
    if !markers.is_empty() {
        // A comment in place of the marker lets the parser go on to the end.
        let mut next = markers.iter().copied().peekable();
        text = text
            .chars()
            .enumerate()
            .map(|(index, ch)| if next.next_if_eq(&index).is_some() { '#' } else { ch })
            .collect();
    }
    (Some(text), findings)
}

/// Finds a line that a merge with conflicts has left; both versions of a value follow it.
fn conflict(places: &FilePositions<'_>) -> Option<Finding> {
    let (_, start) = line_starts(places.text).find(|(_, start)| {
        let line = &places.text[*start..];
        ["<<<<<<<", ">>>>>>>"].iter().any(|mark| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r', '\n']))
        })
    })?;
    let line = places.text[start..].lines().next().unwrap_or_default();
    let span = places.span(start, start + line.len());
    let message = "A merge left a conflict here that is not resolved.";
    let help =
        "Keep one of the versions, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`.";
    Some(places.finding(Code::YamlSyntax, span, message).help(help))
}

fn lone_carriage_return(text: &str) -> Option<usize> {
    text.match_indices('\r').map(|(at, _)| at).find(|&at| !text[at + 1..].starts_with('\n'))
}

/// Finds characters outside of what YAML 1.2 calls printable, and stray byte order marks.
fn forbidden_characters(places: &FilePositions<'_>) -> Option<Finding> {
    let mut bad = places.text.char_indices().filter(|&(_, ch)| is_forbidden(ch));
    let (at, ch) = bad.next()?;
    let more = bad.count();
    let code = u32::from(ch);
    let message = match more {
        0 => format!("The frontmatter holds the character U+{code:04X}, which YAML forbids."),
        _ => format!(
            "The frontmatter holds {} characters that YAML forbids; the first is U+{code:04X}.",
            more + 1
        ),
    };
    let span = places.span(at, at + ch.len_utf8());
    let help = "Delete it, or write it as an escape such as `\\x07` in a double-quoted value.";
    Some(places.finding(Code::YamlSyntax, span, message).help(help))
}

fn is_forbidden(ch: char) -> bool {
    !matches!(ch, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

/// The code point number and byte of the start of each line; every line ends in LF by now.
fn line_starts(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut previous = '\n';
    text.char_indices().enumerate().filter_map(move |(index, (at, ch))| {
        let starts = previous == '\n';
        previous = ch;
        starts.then_some((index, at))
    })
}

fn document_marker(line: &str) -> Option<&'static str> {
    if line.starts_with('%') {
        return Some("%");
    }
    ["---", "..."].into_iter().find(|marker| {
        line.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    })
}

fn document_finding(places: &FilePositions<'_>, marker: &str, span: Span) -> Finding {
    let (message, help) = match marker {
        "%" => (
            "A line that begins with `%` is a YAML directive; frontmatter may not have any.",
            "Remove the line, or indent or quote the text if it belongs to a value.",
        ),
        "..." => (
            "A line `...` ends the YAML document before the frontmatter ends.",
            "Remove the line; only `---` closes the frontmatter.",
        ),
        _ => (
            "A line that begins with `---` starts a second YAML document.",
            "Write `---` alone on its line to close the frontmatter, or indent the text.",
        ),
    };
    places.finding(Code::YamlDocuments, span, message).help(help)
}
