//! Bytes of a script as text that neither acts on a terminal nor hides from a reader.

use skillwire_core::char_class::{CharClass, CharClasses};

use crate::outcome::Text;

/// Keeps the first `most` bytes, as text.
pub(crate) fn text(bytes: &[u8], most: usize, more: bool) -> Text {
    let truncated = more || bytes.len() > most;
    let kept = &bytes[..bytes.len().min(most)];
    let kept = String::from_utf8_lossy(kept);
    let mut text = String::with_capacity(kept.len());
    let mut state = State::Plain;
    for c in kept.chars() {
        state = state.after(c, &mut text);
    }
    // A character that cannot be read takes three bytes in the place of one.
    while text.len() > most {
        text.pop();
    }
    Text { text, truncated }
}

/// Where in a control sequence a character stands.
#[derive(Clone, Copy)]
enum State {
    Plain,
    /// After an escape character.
    Escape,
    /// In a sequence that a character from `@` to `~` ends.
    Control,
    /// In a string that only a terminator ends.
    String,
    /// In such a string after an escape character.
    StringEscape,
}

impl State {
    fn after(self, c: char, out: &mut String) -> Self {
        match (self, c) {
            // A line break ends everything, so that a sequence left open cannot eat the rest.
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
            // Intermediates of a short sequence go on.
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

/// What is left out of a script's output. Emoji and several scripts are made of joiners and variation
/// selectors, so these stay.
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
