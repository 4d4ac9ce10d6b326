//! Builds a [`SearchIndex`].
//!
//! Scores depend on the whole list (how many skills have a word, how long a field is on average),
//! so the builder first writes down the words of each skill in a compact form, and then turns that
//! around into one list of skills per word, with each word's share of the score computed already.

use std::collections::HashMap;

use crate::{
    index::{Posting, SearchIndex, TermEnds},
    skill_text::{FIELD_BOOSTS, FIELDS, SkillText},
    words::for_each_word,
};

/// The most skills in an index; a [`Posting`] has room for no more.
const MAX_SKILLS: usize = 1 << 28;

/// The most words of all skills together, and the most bytes of all different words. Words beyond
/// these limits, which only gigabytes of text reach, are not indexed.
const MAX_WORDS: usize = 1 << 28;
const MAX_TERM_BYTES: usize = 1 << 31;

/// The most occurrences of a batch, unless one skill has more.
const BATCH: usize = 1 << 16;

/// The usual constants of BM25: how soon further occurrences of a word stop counting, and how much
/// the length of a field counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The score of a skill that has a word which begins like an unfinished one.
const PREFIX_SCORE: f64 = 0.5;

/// A term in one of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FieldTerm(u32);

impl FieldTerm {
    fn new(term: u32, field: u32) -> Self {
        Self(term << 2 | field)
    }

    fn term(self) -> usize {
        (self.0 >> 2) as usize
    }

    fn field(self) -> usize {
        (self.0 & 0b11) as usize
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Default)]
pub(crate) struct IndexBuilder {
    /// The number of each term, in the order in which the terms were first seen.
    terms: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    term_bytes: usize,
    /// How many skills have a term in a field, by [`FieldTerm`].
    frequencies: Vec<u32>,
    /// How many skills have a term in any field, by the number of the term.
    posting_counts: Vec<u32>,
    batches: Vec<WordBatch>,
    skills: usize,
    /// How many words all skills together have.
    words: usize,
    /// How many words all skills together have in each field.
    field_words: [u32; FIELDS],
    /// Every word of the skill that is being added.
    added: Vec<FieldTerm>,
}

/// The words of some skills, one skill after the other. Many batches need less memory than one long
/// list, which would be copied whenever it grows and be freed only at the end.
struct WordBatch {
    skills: Vec<SkillRow>,
    /// The terms of each skill, in their order.
    occurrences: Vec<FieldTerm>,
    /// How often each occurs, at most 255 times.
    counts: Vec<u8>,
}

/// One skill of a batch.
struct SkillRow {
    /// How many of the batch's occurrences are its own.
    occurrences: usize,
    /// How many words each field has, at most 65,535.
    lengths: [u16; FIELDS],
}

impl IndexBuilder {
    pub(crate) fn add(&mut self, skill: &SkillText) {
        if self.skills == MAX_SKILLS {
            return;
        }
        let mut lengths = [0_u16; FIELDS];
        for ((field, text), length) in (0..).zip(skill.fields()).zip(&mut lengths) {
            for_each_word(text, |word| {
                if let Some(term) = self.intern(word) {
                    self.words += 1;
                    self.added.push(FieldTerm::new(term, field));
                    *length = length.saturating_add(1);
                }
            });
        }
        for (total, length) in self.field_words.iter_mut().zip(lengths) {
            *total += u32::from(length);
        }
        self.skills += 1;
        self.close_row(lengths);
    }

    /// Turns the words of the skill that is being added into a row of the last batch.
    fn close_row(&mut self, lengths: [u16; FIELDS]) {
        let batch = match self.batches.last_mut() {
            Some(last) if last.occurrences.len() + self.added.len() <= BATCH => last,
            _ => self.batches.push_mut(WordBatch {
                skills: Vec::new(),
                occurrences: Vec::with_capacity(BATCH),
                counts: Vec::with_capacity(BATCH),
            }),
        };
        let before = batch.occurrences.len();
        let mut last_term = None;
        self.added.sort_unstable();
        for same in self.added.chunk_by(PartialEq::eq) {
            let occurrence = same[0];
            batch.occurrences.push(occurrence);
            batch.counts.push(u8::try_from(same.len()).unwrap_or(u8::MAX));
            self.frequencies[occurrence.index()] += 1;
            if last_term.replace(occurrence.term()) != Some(occurrence.term()) {
                self.posting_counts[occurrence.term()] += 1;
            }
        }
        let occurrences = batch.occurrences.len() - before;
        batch.skills.push(SkillRow { occurrences, lengths });
        self.added.clear();
    }

    /// The number of a term; none if the index is full.
    fn intern(&mut self, word: &str) -> Option<u32> {
        if self.words == MAX_WORDS {
            return None;
        }
        if let Some(known) = self.terms.get(word) {
            return Some(*known);
        }
        if self.term_bytes + word.len() > MAX_TERM_BYTES {
            return None;
        }
        let number = u32::try_from(self.terms.len()).ok()?;
        self.terms.insert(word.into(), number);
        self.term_bytes += word.len();
        self.posting_counts.push(0);
        self.frequencies.extend([0; FIELDS]);
        Some(number)
    }

    pub(crate) fn finish(mut self) -> SearchIndex {
        let mut index = SearchIndex { skills: self.skills, ..SearchIndex::default() };
        // Where the next posting of each term goes.
        let mut next = self.sort_terms(&mut index);
        let postings = index.terms.last().map_or(0, |last| last.postings_end as usize);
        index.postings = vec![Posting::default(); postings];
        index.weights = vec![0; postings];
        let scoring = Scoring::new(self.skills, self.field_words, self.frequencies);
        index.prefix_scores = scoring.prefix_scores();
        let mut skill = 0;
        for batch in self.batches {
            let mut occurrences = batch.occurrences.as_slice();
            let mut counts = batch.counts.iter();
            for row in &batch.skills {
                let own = occurrences.split_off(..row.occurrences).unwrap_or_default();
                for of_term in own.chunk_by(|one, other| one.term() == other.term()) {
                    let mut fields = 0;
                    let mut score = 0.0;
                    for (occurrence, count) in of_term.iter().zip(counts.by_ref()) {
                        fields |= 1 << occurrence.field();
                        score += scoring.score(*occurrence, *count, row.lengths);
                    }
                    let at = &mut next[of_term[0].term()];
                    index.postings[*at] = Posting::new(skill, fields);
                    index.weights[*at] = scoring.weight(score);
                    *at += 1;
                }
                skill += 1;
            }
        }
        index
    }

    /// Writes the terms in the order of their text, and returns where the postings of each begin,
    /// by number.
    fn sort_terms(&mut self, index: &mut SearchIndex) -> Vec<usize> {
        let mut sorted: Vec<(Box<str>, u32)> =
            std::mem::take(&mut self.terms).into_iter().collect();
        sorted.sort_unstable();
        index.text.reserve_exact(self.term_bytes);
        index.terms.reserve_exact(sorted.len());
        let mut begins = vec![0; sorted.len()];
        let mut postings_end = 0_u32;
        for (term, number) in sorted {
            let number = number as usize;
            begins[number] = postings_end as usize;
            index.text.push_str(&term);
            postings_end += self.posting_counts[number];
            let text_end = u32::try_from(index.text.len()).unwrap_or(u32::MAX);
            index.terms.push(TermEnds { text_end, postings_end });
        }
        begins
    }
}

/// BM25, summed over the fields.
struct Scoring {
    frequencies: Vec<u32>,
    skills: u32,
    average_lengths: [f64; FIELDS],
    /// The factor that turns a score into a weight.
    scale: f64,
}

impl Scoring {
    fn new(skills: usize, field_words: [u32; FIELDS], frequencies: Vec<u32>) -> Self {
        let skills = u32::try_from(skills).unwrap_or(u32::MAX);
        let average_lengths = field_words.map(|words| f64::from(words) / f64::from(skills.max(1)));
        let mut scoring = Self { frequencies, skills, average_lengths, scale: 1.0 };
        // No score is higher than that of a word that one skill has in every field, often.
        let highest = FIELD_BOOSTS.iter().sum::<f64>() * scoring.rarity(1) * (K1 + 1.0);
        scoring.scale = f64::from(u16::MAX) / highest;
        scoring
    }

    /// How much a word counts: the fewer skills have it, the more.
    fn rarity(&self, frequency: u32) -> f64 {
        let with = f64::from(frequency) + 0.5;
        let without = f64::from(self.skills.saturating_sub(frequency)) + 0.5;
        (without / with).ln_1p()
    }

    /// How well a skill fits a word that occurs in a field this often.
    fn score(&self, occurrence: FieldTerm, count: u8, lengths: [u16; FIELDS]) -> f64 {
        let field = occurrence.field();
        let length = f64::from(lengths[field]) / self.average_lengths[field];
        let count = f64::from(count);
        let saturated = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
        FIELD_BOOSTS[field] * self.rarity(self.frequencies[occurrence.index()]) * saturated
    }

    /// A score as an index stores it. It is never zero, because a search finds a skill by its
    /// score.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "scores are positive, and none is above the highest"
    )]
    fn weight(&self, score: f64) -> u16 {
        (score * self.scale).clamp(1.0, f64::from(u16::MAX)) as u16
    }

    /// The score of a skill for an unfinished word, by the set of fields that have a word which
    /// begins like it. How rare the whole words are does not count.
    fn prefix_scores(&self) -> [u32; 1 << FIELDS] {
        std::array::from_fn(|fields| {
            let within = (0..FIELDS).filter(|field| fields & 1 << field != 0);
            let score: f64 = within.map(|field| PREFIX_SCORE * FIELD_BOOSTS[field]).sum();
            if fields == 0 { 0 } else { u32::from(self.weight(score)) }
        })
    }
}
