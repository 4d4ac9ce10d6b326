//! The tail of a server's standard error.

use std::{collections::VecDeque, fmt::Write as _};

use skillwire_core::CharClasses;

/// The most bytes that are kept.
const MAX_TAIL_BYTES: usize = 16 * 1024;

/// The most lines of an error.
const MAX_LINES: usize = 8;

/// The most characters of each of them.
const MAX_LINE_CHARS: usize = 200;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct StderrTail(VecDeque<u8>);

impl StderrTail {
    /// Appends bytes and drops as many from the beginning as exceed the limit.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_TAIL_BYTES)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(MAX_TAIL_BYTES);
        self.0.drain(..over);
        self.0.extend(bytes);
    }

    /// Returns the text, with lines kept and everything else escaped that a terminal or log would
    /// act on.
    pub(super) fn shown(&self) -> String {
        let (first, second) = self.0.as_slices();
        let bytes = [first, second].concat();
        let mut shown = String::with_capacity(bytes.len());
        for c in String::from_utf8_lossy(&bytes).chars() {
            if c == '\n' || !CharClasses::UNPRINTABLE.contains(c) {
                shown.push(c);
            } else {
                let _ = write!(shown, "{}", c.escape_unicode());
            }
        }
        shown
    }

    /// Returns the last lines that are not empty, shortened, for an error.
    pub(super) fn last_lines(&self) -> String {
        let shown = self.shown();
        let lines: Vec<&str> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
        let shorten = |line: &&str| match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => (*line).to_owned(),
        };
        last.iter().map(shorten).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_to_its_end_and_escaped_h_70() {
        let mut tail = StderrTail::default();
        for _ in 0..100 {
            tail.push(&[b'x'; 10_000]);
        }
        tail.push(b"last\x1b[2J\nline");
        assert_eq!(tail.0.len(), MAX_TAIL_BYTES);
        assert!(tail.shown().ends_with("xlast\\u{1b}[2J\nline"), "{}", tail.shown());
        tail.push(&vec![b'y'; MAX_TAIL_BYTES * 2]);
        assert_eq!(tail.shown(), "y".repeat(MAX_TAIL_BYTES));
    }

    #[test]
    fn characters_that_hide_or_reorder_are_escaped_h_70() {
        let mut tail = StderrTail::default();
        tail.push("a\u{ad}b\u{61c}c\u{fffa}d".as_bytes());
        assert_eq!(tail.shown(), "a\\u{ad}b\\u{61c}c\\u{fffa}d");
    }

    #[test]
    fn an_error_has_the_last_lines_shortened_and_safe_for_terminals_fu_02() {
        let mut tail = StderrTail::default();
        for n in 0..20 {
            tail.push(format!("line {n}\n\n").as_bytes());
        }
        tail.push(format!("{}\x1b[2J\n", "x".repeat(1_000)).as_bytes());
        tail.push(b"the end\x07");
        let lines = tail.last_lines();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!((lines[0], lines[MAX_LINES - 1]), ("line 14", "the end\\u{7}"));
        assert!(lines.iter().all(|line| line.chars().count() <= MAX_LINE_CHARS + 1), "{lines:?}");
    }
}
