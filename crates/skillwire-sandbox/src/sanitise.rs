//! Turns bytes that a script wrote into text that cannot act on a terminal or hide from a reader.
//!
//! A control sequence could rewrite what the user saw before, set the clipboard, or make a terminal
//! answer as if the user had typed. An invisible or reordering character could hide instructions
//! from a reader that a model still reads.

use skillwire_core::{CharClass, CharClasses};

use crate::outcome::OutputText;

/// Keeps the first `most` bytes as text; `more` says whether the script wrote more than these
/// bytes.
pub(crate) fn text(bytes: &[u8], most: usize, more: bool) -> OutputText {
    let truncated = more || bytes.len() > most;
    let kept = &bytes[..bytes.len().min(most)];
    let mut text = String::with_capacity(kept.len());
    let mut cleaner = TextCleaner::default();
    cleaner.push(kept, &mut text);
    cleaner.finish(&mut text);
    // A byte that is not UTF-8 became a replacement character of three bytes.
    while text.len() > most {
        text.pop();
    }
    OutputText { text, truncated }
}

/// Cleans text that arrives in pieces. A character or a control sequence may be split between two.
#[derive(Debug, Default)]
pub(crate) struct TextCleaner {
    state: EscapeState,
    /// The beginning of a character whose other bytes have not arrived.
    partial: Vec<u8>,
}

impl TextCleaner {
    /// Adds what may be shown of these bytes to the text.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) {
        self.partial.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.partial);
        let whole = bytes.len() - incomplete_tail(&bytes);
        for c in String::from_utf8_lossy(&bytes[..whole]).chars() {
            self.state = self.state.after(c, text);
        }
        self.partial = bytes[whole..].to_vec();
    }

    /// Adds what stands for a character that never became whole.
    pub(crate) fn finish(&mut self, text: &mut String) {
        for c in String::from_utf8_lossy(&std::mem::take(&mut self.partial)).chars() {
            self.state = self.state.after(c, text);
        }
    }
}

/// How many bytes at the end are the beginning of a character that could still become whole.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(_) => return 0,
            Err(error) => match error.error_len() {
                Some(invalid) => rest = &rest[error.valid_up_to() + invalid..],
                None => return rest.len() - error.valid_up_to(),
            },
        }
    }
}

/// A file name or path without characters that act on a terminal, end a line or cannot be seen.
/// Each of them becomes `_`.
pub(crate) fn name(text: &str) -> String {
    text.chars().map(|c| if CharClasses::ALL.contains(c) { '_' } else { c }).collect()
}

/// Where in a terminal control sequence the next character stands.
#[derive(Debug, Clone, Copy, Default)]
enum EscapeState {
    #[default]
    Plain,
    /// After an escape character.
    Escape,
    /// In a control sequence (CSI), which a character from `@` to `~` ends.
    Control,
    /// In a control string (OSC, DCS, SOS, PM, APC), which only a terminator ends.
    String,
    /// In such a string after an escape character.
    StringEscape,
}

impl EscapeState {
    fn after(self, c: char, out: &mut String) -> Self {
        match (self, c) {
            // A line break ends every sequence, so that one left open cannot swallow the rest.
            (_, '\n') => {
                out.push('\n');
                Self::Plain
            }
            (Self::String | Self::StringEscape, '\u{7}' | '\u{9c}')
            | (Self::StringEscape, '\\') => Self::Plain,
            (Self::String | Self::StringEscape, '\u{1b}') => Self::StringEscape,
            (Self::String | Self::StringEscape, _)
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_')
            | (_, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => Self::String,
            // Intermediate characters of a short escape sequence.
            (_, '\u{1b}') | (Self::Escape, ' '..='/') => Self::Escape,
            (Self::Escape, '[') | (_, '\u{9b}') | (Self::Control, ' '..='?') => Self::Control,
            (Self::Escape, _) | (Self::Control, '@'..='~') => Self::Plain,
            (Self::Plain | Self::Control, c) => {
                if is_visible(c) {
                    out.push(c);
                }
                Self::Plain
            }
        }
    }
}

/// What is left out of a script's output. Emoji and several scripts are made of joiners and the
/// first sixteen variation selectors, so these stay.
const HIDDEN: CharClasses =
    CharClasses::ALL.without(CharClass::Joiner).without(CharClass::VariationSelector);

/// Variation selectors that ordinary text does not need. There are 240 of them, so a sequence can
/// carry any bytes past a reader.
const SUPPLEMENTARY_SELECTORS: std::ops::RangeInclusive<char> = '\u{e0100}'..='\u{e01ef}';

fn is_visible(c: char) -> bool {
    c == '\t' || (!HIDDEN.contains(c) && !SUPPLEMENTARY_SELECTORS.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(bytes: &[u8]) -> String {
        text(bytes, 1024, false).text
    }

    #[test]
    fn control_sequences_are_stripped_whole() {
        for (written, kept) in [
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}P1;2q...\u{9c}y", "y"),
            ("\u{9b}2Jz", "z"),
            ("\u{1b}(Bq\u{1b}7r", "qr"),
            ("one\rtwo\u{8}\u{0}\u{7f}", "onetwo"),
            ("a\u{202e}b\u{200b}c\u{e0041}d\u{2066}", "abcd"),
            ("\u{1b}]never closed\nnext line", "\nnext line"),
            ("\u{1b}[\u{1b}[31mx", "x"),
        ] {
            assert_eq!(clean(written.as_bytes()), kept, "{written:?}");
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for kept in ["", "Größe\n\t大きさ 👩\u{200d}💻\n", "C:\\dir [ok] 100%"] {
            assert_eq!(clean(kept.as_bytes()), kept);
        }
    }

    #[test]
    fn text_in_pieces_is_cleaned_as_if_it_came_at_once() {
        let written =
            "Größe 👩\u{200d}💻 \u{1b}[31mred\u{1b}]0;title\u{7}x\u{1b}]open\nend".as_bytes();
        let mut invalid = written.to_vec();
        invalid.extend([0xff, 0xe2, 0x82]);
        for bytes in [written, &invalid] {
            for size in 1..bytes.len() {
                let mut cleaner = TextCleaner::default();
                let mut text = String::new();
                bytes.chunks(size).for_each(|piece| cleaner.push(piece, &mut text));
                cleaner.finish(&mut text);
                assert_eq!(text, clean(bytes), "in pieces of {size}");
            }
        }
    }

    #[test]
    fn hidden_bytes_reach_neither_names_nor_text_b_12() {
        assert_eq!(clean("a\u{e0100}b\u{e01ef}c\u{fe0f}".as_bytes()), "abc\u{fe0f}");
        let written = "a\nb\u{1b}[2Jc\u{202e}d\u{e0041}e\u{e0100}f\u{200b}/g.txt";
        assert_eq!(name(written), "a_b_[2Jc_d_e_f_/g.txt");
        assert_eq!(name("Größe 大きさ.csv"), "Größe 大きさ.csv");
    }

    #[test]
    fn what_is_kept_is_never_longer_than_allowed() {
        let cut = text(&[0xff; 100], 10, false);
        assert!(cut.text.len() <= 10 && cut.truncated, "{cut:?}");
        assert!(!text(b"0123456789", 10, false).truncated);
        assert!(text(b"0123456789", 10, true).truncated);
        assert_eq!(text("ääää".as_bytes(), 3, false).text, "ä");
    }
}
