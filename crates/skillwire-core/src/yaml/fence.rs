//! Finds the frontmatter of a `SKILL.md` and the text that follows it.

use crate::finding::{Code, Finding};
use crate::span::{Position, Span};

use super::FILE;

const BOM: &str = "\u{feff}";

/// A `SKILL.md` cut at its fences; nothing is copied or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced<'a> {
    /// The text between the fences, without the fence lines.
    pub yaml: &'a str,
    /// Where `yaml` begins, in bytes of the file.
    pub yaml_offset: usize,
    /// Everything after the closing fence line.
    pub body: &'a str,
    /// Where `body` begins, in bytes of the file.
    pub body_offset: usize,
    /// Whether the file begins with a UTF-8 byte order mark.
    pub bom: bool,
    /// Whether any line of the file ends in CRLF.
    pub crlf: bool,
}

/// Splits the bytes of a `SKILL.md` into frontmatter and body.
///
/// The frontmatter opens with a first line that is exactly `---` and closes at the next line that
/// is exactly `---`; blanks at the end of either line do not matter. Lines end in LF or CRLF.
#[expect(clippy::result_large_err, reason = "a refusal happens once for each file")]
pub fn split(bytes: &[u8]) -> Result<Fenced<'_>, Finding> {
    let file = decode(bytes)?;
    let text = file.strip_prefix(BOM).unwrap_or(file);
    let start = file.len() - text.len();

    let opening = text.split_inclusive('\n').next().unwrap_or_default();
    if !is_fence(opening) {
        return Err(missing(bytes, text, Span::new(start, start + opening.trim_end().len())));
    }
    let yaml_offset = start + opening.len();
    let mut at = yaml_offset;
    for line in file[yaml_offset..].split_inclusive('\n') {
        let next = at + line.len();
        if is_fence(line) {
            return Ok(Fenced {
                yaml: &file[yaml_offset..at],
                yaml_offset,
                body: &file[next..],
                body_offset: next,
                bom: start > 0,
                crlf: file.contains("\r\n"),
            });
        }
        at = next;
    }
    Err(unclosed(bytes, &file[yaml_offset..], yaml_offset, Span::new(start, start + 3)))
}

/// Tells whether a line, given with its line end, is `---` and nothing else.
fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    line.strip_prefix("---")
        .is_some_and(|rest| rest.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
}

#[expect(clippy::result_large_err, reason = "a refusal happens once for each file")]
fn decode(bytes: &[u8]) -> Result<&str, Finding> {
    // Without a byte order mark, ASCII in UTF-16 passes for UTF-8 with NUL characters.
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, b'-', ..] | [b'-', 0, ..]) {
        return Err(utf_16(bytes));
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let at = error.valid_up_to();
    let bad = bytes.get(at).copied().unwrap_or_default();
    Err(Finding::new(
        Code::FrontmatterNotUtf8,
        FILE,
        format!("`SKILL.md` is not UTF-8: byte 0x{bad:02x} is not part of a character."),
    )
    .help("Save the file as UTF-8; it may be in Latin-1 or Windows-1252 now.")
    .at(bytes, Span::new(at, at + error.error_len().unwrap_or(1))))
}

fn utf_16(bytes: &[u8]) -> Finding {
    Finding::new(Code::FrontmatterNotUtf8, FILE, "`SKILL.md` is UTF-16, not UTF-8.")
        .help("Save the file again with the encoding UTF-8.")
        .at(bytes, Span::new(0, bytes.len().min(2)))
}

fn missing(bytes: &[u8], text: &str, first_line: Span) -> Finding {
    let help = if text.trim().is_empty() {
        "The file is empty. Begin it with a line `---`, the fields `name` and `description`, and \
         another line `---`."
    } else if text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_nearly_fence) {
        "Make `---` the very first line: nothing may stand before, above or after it."
    } else {
        "Begin the file with a line `---`, the fields `name` and `description`, and another line \
         `---`."
    };
    Finding::new(
        Code::FrontmatterMissing,
        FILE,
        "`SKILL.md` does not begin with a line that is exactly `---`.",
    )
    .help(help)
    .at(bytes, first_line)
}

fn unclosed(bytes: &[u8], rest: &str, offset: usize, opening: Span) -> Finding {
    let finding = Finding::new(
        Code::FrontmatterUnclosed,
        FILE,
        "No line closes the frontmatter: after the first line, none is exactly `---`.",
    );
    let near = rest.lines().position(|line| is_nearly_fence(line) || line.trim_end() == "...");
    let help = match near {
        Some(index) => {
            let line = Position::of(bytes, offset).line + index;
            format!("Line {line} comes close. Write exactly `---` there, with nothing before it.")
        }
        None => "Add a line `---` after the last field.".to_owned(),
    };
    finding.help(help).at(bytes, opening)
}

/// Tells whether a line resembles a fence, so that its author probably meant one.
fn is_nearly_fence(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("---") || line.starts_with("\u{2014}")
}
