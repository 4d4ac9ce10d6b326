//! Translates between code points of the frontmatter, bytes of the file, and lines.

use crate::char_class::CharClasses;
use crate::excerpt::Excerpt;
use crate::finding::{Code, Finding};
use crate::span::{Position, Span};

use super::FILE;
use super::fence::Fenced;

/// Knows where every code point of the frontmatter stands in the file.
///
/// The YAML parser counts code points; findings want bytes of the whole file, and people want
/// lines. All lookups are logarithmic, so that ten thousand findings cost no more than one scan.
pub(super) struct FilePositions<'a> {
    /// The whole file.
    file: &'a [u8],
    /// The frontmatter as the author wrote it.
    pub(super) text: &'a str,
    /// Where the frontmatter begins in the file.
    offset: usize,
    /// The number of the frontmatter's first line, which begins where a line of the file does.
    first_line: usize,
    /// Byte offset of each code point, and of the end.
    bytes: Vec<usize>,
    /// Byte offset of the start of each line.
    lines: Vec<usize>,
}

impl<'a> FilePositions<'a> {
    pub(super) fn new(file: &'a [u8], fenced: &Fenced<'a>) -> Self {
        let text = fenced.yaml;
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            text,
            offset: fenced.yaml_offset,
            first_line: Position::of(file, fenced.yaml_offset).line,
            bytes: text.char_indices().map(|(at, _)| at).chain([text.len()]).collect(),
            lines: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// The byte of the frontmatter at which code point number `index` begins.
    pub(super) fn byte(&self, index: usize) -> usize {
        self.bytes.get(index).copied().unwrap_or(self.text.len())
    }

    /// Turns bytes of the frontmatter into bytes of the file.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.offset + start, self.offset + end)
    }

    /// The line and column of a byte of the file.
    pub(super) fn position(&self, at: usize) -> Position {
        let at = at.saturating_sub(self.offset);
        let index = |byte: usize| self.bytes.partition_point(|&start| start < byte);
        let line = self.lines.partition_point(|&start| start <= at).saturating_sub(1);
        let column = index(at) - index(self.lines[line]) + 1;
        Position { line: self.first_line + line, column }
    }

    /// Makes a finding that points at `span`.
    pub(super) fn finding(&self, code: Code, span: Span, message: impl Into<String>) -> Finding {
        let mut finding = Finding::new(code, FILE, message);
        finding.position = Some(self.position(span.start));
        finding.end = Some(self.position(span.end));
        finding.span = Some(span);
        finding.excerpt = Some(Excerpt::of(self.file, span));
        finding
    }
}

/// Shortens text for a message and makes hidden characters visible.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::new();
    for (count, ch) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        if CharClasses::UNPRINTABLE.contains(ch) {
            out.extend(ch.escape_default());
        } else {
            out.push(ch);
        }
    }
    out
}
