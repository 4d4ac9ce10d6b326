//! The words of a text, as they are indexed and as they are looked for.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Longer words are nobody's to look for.
const MAX_CHARS: usize = 64;

/// Takes a text apart: words in lower case and without accents, of which a plural is found by its
/// singular and the other way round. Each ideograph and kana is a word of its own.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)) {
        if is_ideograph(c) {
            end(&mut word, &mut words);
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else {
            end(&mut word, &mut words);
        }
    }
    end(&mut word, &mut words);
    words
}

fn end(word: &mut String, words: &mut Vec<String>) {
    let whole = std::mem::take(word);
    if whole.is_empty() || whole.chars().count() > MAX_CHARS {
        return;
    }
    match whole.strip_suffix('s') {
        Some(singular) if singular.len() > 2 => words.push(singular.to_owned()),
        _ => words.push(whole),
    }
}

/// Characters that stand for words without spaces between them.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// [`words`] for the engine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Words;

/// The words of one text, one after the other.
pub(super) struct WordStream {
    left: std::vec::IntoIter<String>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        WordStream { left: words(text).into_iter(), token: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        let Some(word) = self.left.next() else { return false };
        self.token.text = word;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_accents_and_plural() {
        assert_eq!(words("Café-INVOICES, re\u{301}sume\u{301}s"), ["cafe", "invoice", "resume"]);
        assert_eq!(words("gas bus"), ["gas", "bus"]);
    }

    #[test]
    fn characters_without_spaces_between_them_are_words() {
        assert_eq!(words("退款 PDF処理"), ["退", "款", "pdf", "処", "理"]);
    }

    #[test]
    fn what_nobody_types_is_no_word() {
        assert_eq!(words(&"x".repeat(MAX_CHARS + 1)), [""; 0]);
        assert_eq!(words("+-*/(){}[]\"':^~!&|\\"), [""; 0]);
    }
}
