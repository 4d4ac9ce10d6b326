//! Finding skills by words, best first.
//!
//! The engine is `tantivy`, with everything in memory. An index is made from a list of skills and
//! never changed: what it finds are places in that list, so that whoever made the list decides what
//! is shown.

mod kept;
mod words;

use std::{cmp::Ordering, collections::BTreeSet, ops::Bound};

use serde_json::{Map, Value};
use skillwire_host::registry::Item;
use tantivy::{
    IndexWriter, ReloadPolicy, Score, Searcher, TantivyDocument, TantivyError, Term,
    columnar::Column,
    indexer::{IndexWriterOptions, NoMergePolicy},
    query::{BooleanQuery, BoostQuery, EnableScoring, InvertedIndexRangeQuery, Query, TermQuery},
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
};

pub(crate) use self::kept::{KeptIndex, Made};
use self::words::{Words, words};

/// The most bytes of a query that a client may send.
pub const MAX_QUERY: usize = 1_024;

/// The most different words of a query that are looked for.
const MAX_WORDS: usize = 32;

/// The fewest characters that are taken for the beginning of a word.
const MIN_BEGINNING: usize = 2;

/// How much less a word counts that only begins with what was typed.
const BEGINNING: Score = 0.5;

/// What the engine knows our way of finding words by.
const TOKENIZER: &str = "words";

/// What the engine knows the place of a skill by.
const PLACE: &str = "place";

/// The parts of a skill that are searched, and how much a word in them counts.
const PARTS: [(&str, Score); 4] =
    [("name", 4.0), ("tags", 2.0), ("description", 1.0), ("around", 0.5)];

/// What of a skill is searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Searched {
    name: String,
    tags: String,
    description: String,
    /// Where it comes from, and the headings of its text.
    around: String,
}

impl Searched {
    /// What its origin lists about a skill, and the place it has there.
    pub fn new(name: &str, place: &str, frontmatter: &Map<String, Value>) -> Self {
        let metadata = frontmatter.get("metadata").and_then(|metadata| metadata.get("tags"));
        let tags = frontmatter.get("tags").or(metadata).map(Value::to_string).unwrap_or_default();
        let description = frontmatter.get("description").and_then(Value::as_str);
        Self {
            name: name.to_owned(),
            tags,
            description: description.unwrap_or_default().to_owned(),
            around: place.to_owned(),
        }
    }

    /// Adds the headings of its text.
    #[must_use]
    pub fn with_headings(mut self, headings: &str) -> Self {
        self.around.push('\n');
        self.around.push_str(headings);
        self
    }

    /// What its origin lists about a skill of a host.
    pub fn of_item(item: &Item) -> Self {
        let Item { handle, listed, .. } = item;
        Self::new(listed.name().as_str(), handle, listed.entry().frontmatter.fields())
    }

    fn into_parts(self) -> [String; 4] {
        [self.name, self.tags, self.description, self.around]
    }
}

/// Why there is no answer; nothing about a skill or a query can be the reason.
#[derive(Debug, thiserror::Error)]
#[error("the skills could not be searched: {0}")]
pub struct SearchError(#[from] TantivyError);

/// What a query found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The places of the skills that fit best, the best first.
    pub best: Vec<usize>,
    /// How many there are in all.
    pub all: usize,
}

/// An index of skills.
pub struct Index {
    searcher: Searcher,
    parts: Vec<(Field, Score)>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("skills", &self.searcher.num_docs()).finish_non_exhaustive()
    }
}

impl Index {
    /// Indexes skills by their place in a list.
    pub fn new(skills: impl IntoIterator<Item = Searched>) -> Result<Self, SearchError> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let parts: Vec<(Field, Score)> = PARTS
            .iter()
            .map(|(name, boost)| (schema.add_text_field(name, options.clone()), *boost))
            .collect();
        let place_field = schema.add_u64_field(PLACE, FAST);
        let index = tantivy::Index::create_in_ram(schema.build());
        index.tokenizers().register(TOKENIZER, Words);
        // One thread and the least memory the engine takes; nothing changes, so nothing is merged.
        let options =
            IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let mut writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for (place, skill) in (0_u64..).zip(skills) {
            let mut document = TantivyDocument::new();
            document.add_u64(place_field, place);
            for ((field, _), text) in parts.iter().zip(skill.into_parts()) {
                document.add_text(*field, text);
            }
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { searcher: reader.searcher(), parts })
    }

    /// The best skills that have words of a query, or begin with its last one, among those that
    /// `shows` admits.
    pub fn find(
        &self,
        query: &str,
        most: usize,
        shows: impl Fn(usize) -> bool,
    ) -> Result<Found, SearchError> {
        let weight =
            self.query(query).weight(EnableScoring::enabled_from_searcher(&self.searcher))?;
        let mut found: Vec<(Score, usize)> = Vec::new();
        for segment in self.searcher.segment_readers() {
            let places: Column<u64> = segment.fast_fields().u64(PLACE)?;
            weight.for_each(segment, &mut |document, score| {
                let place = places.first(document).and_then(|place| usize::try_from(place).ok());
                found.extend(place.filter(|place| shows(*place)).map(|place| (score, place)));
            })?;
        }
        let all = found.len();
        // What is as good stands in the order of the list.
        let better = |a: &(Score, usize), b: &(Score, usize)| -> Ordering {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
        };
        if most < all {
            found.select_nth_unstable_by(most, better);
            found.truncate(most);
        }
        found.sort_unstable_by(better);
        Ok(Found { best: found.into_iter().map(|(_, place)| place).collect(), all })
    }

    /// Any of the words in any part. There is no language of queries: signs only separate words.
    fn query(&self, query: &str) -> BooleanQuery {
        let words = words(query);
        let last = words.last().filter(|last| last.chars().count() >= MIN_BEGINNING).cloned();
        let mut different = BTreeSet::new();
        for word in words {
            if different.len() < MAX_WORDS {
                different.insert(word);
            }
        }
        let mut any: Vec<Box<dyn Query>> = Vec::new();
        for (field, boost) in &self.parts {
            for word in &different {
                let term = Term::from_field_text(*field, word);
                let whole = TermQuery::new(term, IndexRecordOption::WithFreqs);
                any.push(Box::new(BoostQuery::new(Box::new(whole), *boost)));
            }
            if let Some(last) = &last {
                // No word has this character, so that it ends what begins like this one.
                let end = format!("{last}{}", char::MAX);
                let begun = InvertedIndexRangeQuery::new(
                    Bound::Excluded(Term::from_field_text(*field, last)),
                    Bound::Excluded(Term::from_field_text(*field, &end)),
                );
                any.push(Box::new(BoostQuery::new(Box::new(begun), *boost * BEGINNING)));
            }
        }
        BooleanQuery::union(any)
    }
}

#[cfg(test)]
mod tests;
