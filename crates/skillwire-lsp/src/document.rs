//! Places in a text: byte offsets, which the checks use, and the positions of editors.

use lsp_types::{Position, Range};
use skillwire_core::Span;

/// A text with the offsets at which its lines begin.
#[derive(Debug)]
pub(crate) struct TextLines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let ends =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The position of a byte offset. Columns count UTF-16 code units, as every editor understands.
    ///
    /// An offset past the end or inside a character is moved to the boundary before it.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        Position::new(as_u32(line), as_u32(before.chars().map(char::len_utf16).sum()))
    }

    /// The byte offset of a position; a position past the end of its line is the end of the line.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(&start) = self.starts.get(line) else { return self.text.len() };
        let rest = &self.text[start..];
        let mut units = 0;
        for (at, character) in rest.char_indices() {
            if units >= position.character || matches!(character, '\n' | '\r') {
                return start + at;
            }
            units += as_u32(character.len_utf16());
        }
        self.text.len()
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    /// The text of a line up to an offset in it.
    pub(crate) fn line_before(&self, offset: usize) -> &'a str {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        &self.text[self.starts[line]..offset]
    }

    /// The range of the first line, for findings about a whole file.
    pub(crate) fn first_line(&self) -> Range {
        let end = self.text.find(['\n', '\r']).unwrap_or(self.text.len());
        self.range(Span::new(0, end))
    }

    /// The range of the whole text.
    pub(crate) fn all(&self) -> Range {
        self.range(Span::new(0, self.text.len()))
    }
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf_16_code_units_and_come_back_as_the_same_offsets() {
        let text = "a: é\n😀 b\r\nend";
        let lines = TextLines::new(text);
        for (offset, position) in
            [(0, (0, 0)), (5, (0, 4)), (6, (1, 0)), (10, (1, 2)), (14, (2, 0))]
        {
            let position = Position::new(position.0, position.1);
            assert_eq!(lines.position(offset), position, "{offset}");
            assert_eq!(lines.offset(position), offset, "{position:?}");
        }
        assert_eq!(lines.position(7), Position::new(1, 0), "inside of a character");
        assert_eq!(lines.offset(Position::new(1, 99)), 12, "the end of the line");
        assert_eq!(lines.offset(Position::new(9, 0)), text.len());
        assert_eq!(lines.line_before(12), "😀 b");
    }
}
