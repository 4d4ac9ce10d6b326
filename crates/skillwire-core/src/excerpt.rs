//! The few lines of a file that a finding is about.

use std::ops::Range;

use serde::Serialize;

use crate::{secret_text, span::Span};

/// The most lines that are shown; of a longer passage only the first one is.
const MOST_LINES: usize = 3;

/// The most bytes of a line that an excerpt shows before its mark; longer lines are rare.
const BEFORE: usize = 2_048;

/// The most bytes of a line that an excerpt shows after its mark.
const AFTER: usize = 160;

/// The most bytes that an excerpt marks.
const MOST_MARKED: usize = 320;

/// The most bytes of a character in UTF-8.
const LONGEST_CHARACTER: usize = 4;

/// Stands where a line was cut.
const CUT: char = '…';

/// Whole lines around a passage, or parts of them where they are very long.
///
/// The text comes from the same bytes that the check read, so both always agree. Keys and tokens
/// are blotted out, because more people read the logs that findings end up in than the file itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    text: String,
    marked: Span,
}

impl Excerpt {
    /// Cuts an excerpt out of `text`; a passage that reaches too far is shortened, and one that divides
    /// a character has all of it.
    pub fn of(text: &[u8], passage: Span) -> Self {
        let start = passage.start.min(text.len());
        let end = passage.end.clamp(start, text.len());
        let (start, end) = whole_characters(text, start, end);
        let end = shortened(text, start, end);
        let (from, cut_before) = line_start(text, start);
        let (to, cut_after) = line_end(text, end);
        let mut shown = String::new();
        if cut_before {
            shown.push(CUT);
        }
        shown.push_str(&String::from_utf8_lossy(&text[from..start]));
        let marked_from = shown.len();
        shown.push_str(&String::from_utf8_lossy(&text[start..end]));
        let marked_to = shown.len();
        shown.push_str(&String::from_utf8_lossy(&text[end..to]));
        if cut_after {
            shown.push(CUT);
        }
        Self { text: secret_text::blotted(shown), marked: Span::new(marked_from, marked_to) }
    }

    /// Rebuilds an excerpt from its parts; nothing when they do not fit together.
    pub fn from_parts(text: String, marked: Span) -> Option<Self> {
        text.get(marked.start..marked.end).is_some().then_some(Self { text, marked })
    }

    /// Returns the lines, without the last line end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Tells whether the first line was cut at its beginning.
    pub fn is_cut_before(&self) -> bool {
        self.text.starts_with(CUT)
    }

    /// Returns the bytes of [`text`](Self::text) that the finding is about.
    pub fn marked(&self) -> Span {
        self.marked
    }
}

/// Widens a passage to the characters that it divides: a piece of one would be shown as no character at
/// all, and what a finding about a hidden character is about would be lost. Bytes that are not UTF-8
/// stay as they are.
fn whole_characters(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    let first = character_around(text, start).map_or(start, |character| character.start);
    if start == end {
        return (first, first);
    }
    (first, character_around(text, end).map_or(end, |character| character.end))
}

/// The character that has bytes on both sides of `at`.
fn character_around(text: &[u8], at: usize) -> Option<Range<usize>> {
    let before = at.saturating_sub(LONGEST_CHARACTER - 1);
    let start = (before..at).rev().find(|start| text[*start] & 0xc0 != 0x80)?;
    let most = text.len().min(start + LONGEST_CHARACTER);
    let valid = text[start..most].utf8_chunks().next()?.valid();
    let end = start + valid.chars().next()?.len_utf8();
    (end > at).then_some(start..end)
}

/// Ends a passage within its first lines and not too far to the right.
fn shortened(text: &[u8], start: usize, end: usize) -> usize {
    let passage = &text[start..end];
    let ends = passage.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let passage = &passage[..passage.len() - ends];
    let lines = passage.iter().filter(|byte| **byte == b'\n').take(MOST_LINES).count() + 1;
    if lines <= MOST_LINES && passage.len() <= MOST_MARKED {
        return start + passage.len();
    }
    let line = passage.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    let line = line.unwrap_or(passage.len()).min(MOST_MARKED);
    // Never back to before the passage, should it begin within a character.
    boundary(text, start + line).max(start)
}

/// Where the line of `at` begins, or a place nearer to it, and whether the line was cut.
fn line_start(text: &[u8], at: usize) -> (usize, bool) {
    let least = at.saturating_sub(BEFORE);
    match text[least..at].iter().rposition(|byte| *byte == b'\n') {
        Some(found) => (least + found + 1, false),
        None if least == 0 => (0, false),
        None => (boundary(text, least), true),
    }
}

/// Where the line of `at` ends, or a place nearer to it, and whether the line was cut.
fn line_end(text: &[u8], at: usize) -> (usize, bool) {
    let most = text.len().min(at + AFTER);
    match text[at..most].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(found) => (at + found, false),
        None if most == text.len() => (most, false),
        None => (boundary(text, most), true),
    }
}

/// The nearest place at or before `at` that is not inside a character.
fn boundary(text: &[u8], mut at: usize) -> usize {
    while at > 0 && text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: usize, end: usize) -> (String, String) {
        let excerpt = Excerpt::of(text.as_bytes(), Span::new(start, end));
        let marked = excerpt.marked();
        (excerpt.text().to_owned(), excerpt.text()[marked.start..marked.end].to_owned())
    }

    fn pair(text: &str, marked: &str) -> (String, String) {
        (text.to_owned(), marked.to_owned())
    }

    #[test]
    fn an_excerpt_is_the_whole_line_around_a_passage() {
        assert_eq!(shown("a\nname: x y\r\nb\n", 8, 9), pair("name: x y", "x"));
        assert_eq!(shown("name: x", 6, 7), pair("name: x", "x"));
        assert_eq!(shown("", 5, 9), pair("", ""));
        assert_eq!(shown("a\n", 2, 2), pair("", ""));
    }

    #[test]
    fn up_to_three_lines_are_shown_whole_and_more_by_their_first() {
        assert_eq!(shown("a: |\n  b\n  c\nd", 3, 13), pair("a: |\n  b\n  c", "|\n  b\n  c"));
        assert_eq!(shown("a: |\n  b\n  c\n  d\n", 3, 17), pair("a: |", "|"));
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let text = "é".repeat(2_000);
        let (line, marked) = shown(&text, 3_000, 3_002);
        assert_eq!(marked, "é");
        assert!(line.starts_with("…é") && line.ends_with("é…"), "{line}");
        assert_eq!(line.chars().count(), 1 + 1_024 + 1 + 80 + 1);
        let (line, marked) = shown(&text, 0, 2_000);
        assert!(line.starts_with('é') && line.ends_with('…'), "{line}");
        assert_eq!(marked.chars().count(), 160);
        let (line, _) = shown(&text[..2_204], 2_044, 2_046);
        assert_eq!(line, text[..2_204]);
        // An odd number of bytes before them moves every character across the limits.
        let text = format!("x{}", "é".repeat(2_000));
        let (line, _) = shown(&text, 3_002, 3_002);
        assert!(line.starts_with("…é") && line.ends_with("é…"), "{line}");
        let (line, marked) = shown(&text, 0, 2_000);
        assert!(line.starts_with("xé") && !line.contains('\u{fffd}'), "{line}");
        assert_eq!(marked.chars().count(), 160);
    }

    #[test]
    fn a_character_that_a_passage_divides_is_shown_whole() {
        let text = "a\u{202e}b\u{e0073}c";
        for (start, end) in [(1, 2), (2, 3), (3, 4), (1, 4)] {
            assert_eq!(shown(text, start, end), pair(text, "\u{202e}"), "{start}..{end}");
        }
        assert_eq!(shown(text, 5, 6), pair(text, "\u{e0073}"));
        assert_eq!(shown(text, 3, 6), pair(text, "\u{202e}b\u{e0073}"));
        assert_eq!(shown(text, 2, 2), pair(text, ""));
        // What only looks like the beginning of a character takes nothing with it.
        let broken = Excerpt::of(b"\xe2ab", Span::new(1, 2));
        assert_eq!(broken.text(), "\u{fffd}ab");
        assert_eq!(broken.marked(), Span::new(3, 4));
    }

    #[test]
    fn what_is_not_text_is_cut_as_well_v_56() {
        // Each of these bytes goes on with a character that never began.
        let text = [0x80; 5_000];
        let first = Excerpt::of(&text, Span::new(0, 400));
        assert_eq!(first.marked(), Span::new(0, 0));
        let last = Excerpt::of(&text, Span::new(4_999, 5_000));
        assert!(last.is_cut_before());
    }

    #[test]
    fn it_is_known_whether_the_beginning_of_a_line_is_there() {
        let text = "x".repeat(5_000);
        let cut = |at| Excerpt::of(text.as_bytes(), Span::new(at, at + 1)).is_cut_before();
        assert!(!cut(0) && !cut(BEFORE) && cut(BEFORE + 1));
    }

    #[test]
    fn an_excerpt_is_made_of_parts_only_if_they_fit() {
        assert!(Excerpt::from_parts("é".to_owned(), Span::new(0, 2)).is_some());
        assert!(Excerpt::from_parts("é".to_owned(), Span::new(1, 2)).is_none());
        assert!(Excerpt::from_parts("é".to_owned(), Span::new(0, 3)).is_none());
    }
}
