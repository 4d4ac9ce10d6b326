//! Where in a file a finding points.

use serde::Serialize;

/// A half-open range of byte offsets into one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset just past the last byte.
    pub end: usize,
}

impl Span {
    /// Makes a span from byte offsets; an inverted pair becomes empty.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

/// A one-based line and column, the form people and editors read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// One-based line number.
    pub line: usize,
    /// One-based column, counted in code points.
    pub column: usize,
}

impl Position {
    /// Finds the position of a byte offset in `text`.
    ///
    /// An offset past the end or inside a code point is moved to the nearest boundary before it,
    /// so a finding can always be shown.
    pub fn of(text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = before.split(|byte| *byte == b'\n').count();
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        Self { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_code_points_not_bytes() {
        let text = "a: é\nb: c".as_bytes();
        assert_eq!(Position::of(text, 5), Position { line: 1, column: 5 });
        assert_eq!(Position::of(text, 6), Position { line: 2, column: 1 });
        assert_eq!(Position::of(text, 999), Position { line: 2, column: 5 });
    }
}
