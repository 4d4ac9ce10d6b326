//! Finding skills by words: in the handle, the description and the tags, best first.

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};
use serde_json::{Map, Value};
use skillwire_host::registry::Item;

/// The most words of a query that are looked for.
const MAX_WORDS: usize = 32;

/// Words in lower case; a plural is found by its singular and the other way round.
#[derive(Debug, Clone, Copy, Default)]
struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words
            .map(|word| {
                let word = word.to_lowercase();
                match word.strip_suffix('s') {
                    Some(singular) if singular.len() > 2 => singular.to_owned(),
                    _ => word,
                }
            })
            .collect()
    }
}

/// An index of skills; nothing is fetched for it.
pub struct Index {
    embedder: Embedder<u32, Words>,
    scorer: Scorer<u32, u32>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Index")
    }
}

impl Index {
    /// Indexes skills by their place in a list.
    pub fn new(items: &[Item]) -> Self {
        Self::of_texts(items.iter().map(text_of))
    }

    /// Indexes texts by their place in a list.
    pub(crate) fn of_texts(texts: impl Iterator<Item = String>) -> Self {
        let texts: Vec<String> = texts.collect();
        let corpus: Vec<&str> = texts.iter().map(String::as_str).collect();
        let builder = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Words, &corpus);
        let (embedder, mut scorer) = (builder.build(), Scorer::new());
        for (place, text) in (0_u32..).zip(&texts) {
            scorer.upsert(&place, embedder.embed(text));
        }
        Self { embedder, scorer }
    }

    /// The places of the skills that have words of a query, best first.
    pub fn find(&self, query: &str) -> Vec<usize> {
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        let mut found = self.scorer.matches(&self.embedder.embed(&words.join(" ")));
        // What is as good stands in the order of the list.
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found.into_iter().filter_map(|found| usize::try_from(found.id).ok()).collect()
    }
}

fn text_of(item: &Item) -> String {
    text(item.listed.name().as_str(), &item.handle, item.listed.entry().frontmatter.fields())
}

/// What of a skill is searched; its name counts most.
pub(crate) fn text(name: &str, place: &str, frontmatter: &Map<String, Value>) -> String {
    let metadata = frontmatter.get("metadata").and_then(|metadata| metadata.get("tags"));
    let tags = frontmatter.get("tags").or(metadata).map(Value::to_string).unwrap_or_default();
    let description = frontmatter.get("description").and_then(Value::as_str).unwrap_or_default();
    format!("{name} {name} {place} {description} {tags}")
}
