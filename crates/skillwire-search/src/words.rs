//! Splits text into words, the same way for the index and for queries.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// The longest word that is indexed or searched for, in characters.
const MAX_WORD_CHARS: usize = 64;

/// Calls `found` for each word of a text, in order.
///
/// Words are folded, so that case, accents, the width of characters and a plural `s` make no
/// difference. Each ideograph and kana is a word of its own, because there are no spaces between
/// them. All other characters only separate words.
pub(crate) fn for_each_word(text: &str, mut found: impl FnMut(&str)) {
    let mut word = WordBuffer::default();
    if text.is_ascii() {
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() {
                word.push(char::from(byte.to_ascii_lowercase()));
            } else {
                word.end(&mut found);
            }
        }
    } else {
        for c in text.nfkd().filter(|c| !is_combining_mark(*c)) {
            if is_ideograph(c) {
                word.end(&mut found);
                word.push(c);
                word.end(&mut found);
            } else if c.is_alphanumeric() {
                // Upper case first: this turns `ß` into `ss` and both forms of a small sigma into
                // one.
                c.to_uppercase().flat_map(char::to_lowercase).for_each(|c| word.push(c));
            } else {
                word.end(&mut found);
            }
        }
    }
    word.end(&mut found);
}

/// Characters that stand for words without spaces between them.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// The word that is being read. Its text never grows beyond the limit, however long the input is.
#[derive(Default)]
struct WordBuffer {
    text: String,
    chars: usize,
}

impl WordBuffer {
    fn push(&mut self, c: char) {
        self.chars += 1;
        if self.chars <= MAX_WORD_CHARS {
            self.text.push(c);
        }
    }

    fn end(&mut self, found: &mut impl FnMut(&str)) {
        if (1..=MAX_WORD_CHARS).contains(&self.chars) {
            found(singular(&self.text));
        }
        self.text.clear();
        self.chars = 0;
    }
}

/// Removes a plural `s`. This is wrong for some words, which does no harm: skills and queries are
/// treated alike.
fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|singular| singular.len() > 2).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_compared_without_case_accents_and_plural() {
        assert_eq!(words("Café-INVOICES, re\u{301}sume\u{301}s"), ["cafe", "invoice", "resume"]);
        assert_eq!(words("gas bus"), ["gas", "bus"]);
    }

    #[test]
    fn letters_that_differ_in_case_or_width_alone_are_folded() {
        assert_eq!(words("Straße STRASSE"), ["strasse", "strasse"]);
        assert_eq!(words("ΣΊΣΥΦΟΣ Σίσυφος"), ["σισυφοσ", "σισυφοσ"]);
        assert_eq!(words("ＰＤＦ ﬁle İstanbul"), ["pdf", "file", "istanbul"]);
    }

    #[test]
    fn ascii_and_other_text_are_split_alike() {
        let text = "One-two_three, FOUR4 five's classes";
        let mut expected = words(text);
        expected.push("é".nfkd().take(1).collect());
        assert_eq!(words(&format!("{text} é")), expected);
    }

    #[test]
    fn characters_without_spaces_between_them_are_words() {
        assert_eq!(words("退款 PDF処理"), ["退", "款", "pdf", "処", "理"]);
    }

    #[test]
    fn overlong_words_and_signs_are_no_words() {
        assert_eq!(words(&"x".repeat(MAX_WORD_CHARS)).len(), 1);
        assert_eq!(words(&"x".repeat(MAX_WORD_CHARS + 1)), [""; 0]);
        assert_eq!(words(&format!("a {} b", "é".repeat(MAX_WORD_CHARS + 1))), ["a", "b"]);
        assert_eq!(words("+-*/(){}[]\"':^~!&|\\"), [""; 0]);
    }
}
