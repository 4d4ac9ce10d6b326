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
    let kept = String::from_utf8_lossy(kept);
    let mut text = String::with_capacity(kept.len());
    let mut state = EscapeState::Plain;
    for c in kept.chars() {
        state = state.after(c, &mut text);
    }
    // A byte that is not UTF-8 became a replacement character of three bytes.
    while text.len() > most {
        text.pop();
    }
    OutputText { text, truncated }
}

/// Where in a terminal control sequence the next character stands.
#[derive(Clone, Copy)]
enum EscapeState {
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

/// What is left out of a script's output. Emoji and several scripts are made of joiners and
/// variation selectors, so these stay.
const HIDDEN: CharClasses =
    CharClasses::ALL.without(CharClass::Joiner).without(CharClass::VariationSelector);

fn is_visible(c: char) -> bool {
    c == '\t' || !HIDDEN.contains(c)
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
    fn what_is_kept_is_never_longer_than_allowed() {
        let cut = text(&[0xff; 100], 10, false);
        assert!(cut.text.len() <= 10 && cut.truncated, "{cut:?}");
        assert!(!text(b"0123456789", 10, false).truncated);
        assert!(text(b"0123456789", 10, true).truncated);
        assert_eq!(text("ääää".as_bytes(), 3, false).text, "ä");
    }
}
