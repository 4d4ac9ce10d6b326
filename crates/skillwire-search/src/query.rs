//! Splits a query into the words to search for.

use crate::words::for_each_word;

/// The longest query, in bytes.
///
/// An index ignores the rest of a longer query. A server should refuse such a query, so that its
/// client learns of the limit.
pub const MAX_QUERY_BYTES: usize = 1_024;

/// The most different words of a query that are searched for.
const MAX_QUERY_WORDS: usize = 32;

/// The fewest characters of an unfinished word; fewer would match too many words.
const MIN_PREFIX_CHARS: usize = 2;

/// The words of a query. There is no query language: signs only separate words.
#[derive(Debug, Default)]
pub(crate) struct Query {
    /// The different words, in their order.
    pub(crate) words: Vec<String>,
    /// The last word, which the user may still be typing.
    pub(crate) prefix: Option<String>,
}

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
        let mut words: Vec<String> = Vec::new();
        let mut last = String::new();
        for_each_word(text, |word| {
            word.clone_into(&mut last);
            if words.len() < MAX_QUERY_WORDS && !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        });
        let prefix = (last.chars().count() >= MIN_PREFIX_CHARS).then_some(last);
        Self { words, prefix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_word_may_be_unfinished() {
        let query = Query::parse("refund Refunds invo");
        assert_eq!(query.words, ["refund", "invo"]);
        assert_eq!(query.prefix.as_deref(), Some("invo"));
        assert_eq!(Query::parse("refund i").prefix, None);
    }

    #[test]
    fn query_is_cut_at_its_limits_and_between_characters() {
        let words = (0..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(Query::parse(&words).words.len(), MAX_QUERY_WORDS);
        assert_eq!(Query::parse(&"é".repeat(MAX_QUERY_BYTES)).words, [""; 0], "one overlong word");
        let cut = Query::parse(&format!("a {}é", " ".repeat(MAX_QUERY_BYTES - 3)));
        assert_eq!(cut.words, ["a"]);
    }
}
