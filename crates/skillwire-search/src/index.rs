//! The index, and how it is searched.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use crate::{
    builder::IndexBuilder,
    query::Query,
    skill_text::{FIELDS, SkillText},
};

/// An immutable index of a list of skills.
///
/// Skills are ranked by BM25 over their name, tags, description and context, in this order of
/// importance. The builder adds up the scores of all fields, so that a search only sums one number
/// for each word and skill.
#[derive(Default)]
pub struct SearchIndex {
    /// The text of all terms, in order.
    pub(crate) text: String,
    pub(crate) terms: Vec<TermEnds>,
    /// The skills that have a term, in their order, for one term after the other.
    pub(crate) postings: Vec<Posting>,
    /// The score that a term adds to a skill, in parallel to the postings.
    pub(crate) weights: Vec<u16>,
    /// The score that an unfinished word adds, by the set of fields that have a word which begins
    /// like it.
    pub(crate) prefix_scores: [u32; 1 << FIELDS],
    /// The number of skills.
    pub(crate) skills: usize,
}

/// Where the text and the postings of a term end; they begin where those of the term before end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermEnds {
    pub(crate) text_end: u32,
    pub(crate) postings_end: u32,
}

/// A skill that has a term, and the set of fields it has it in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posting(u32);

impl Posting {
    pub(crate) fn new(skill: u32, fields: u32) -> Self {
        Self(skill << FIELDS | fields)
    }

    fn skill(self) -> usize {
        (self.0 >> FIELDS) as usize
    }

    fn fields(self) -> u8 {
        self.0.to_le_bytes()[0] & ((1 << FIELDS) - 1)
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchHits {
    /// The positions of the best skills, the best first. Equally good ones keep the list's order.
    pub best: Vec<usize>,
    /// How many skills were found in all.
    pub total: usize,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("SearchIndex");
        out.field("skills", &self.skills).field("terms", &self.terms.len()).finish_non_exhaustive()
    }
}

/// Indexes skills by their position in a list.
impl FromIterator<SkillText> for SearchIndex {
    fn from_iter<T: IntoIterator<Item = SkillText>>(skills: T) -> Self {
        let mut builder = IndexBuilder::default();
        for skill in skills {
            builder.add(&skill);
        }
        builder.finish()
    }
}

impl SearchIndex {
    /// Finds the skills that have any word of a query, or a word that begins with its last one,
    /// among those that `is_visible` admits. Returns at most `limit` of them.
    ///
    /// The time this takes grows with the number of skills that have these words. A query longer
    /// than [`MAX_QUERY_BYTES`](crate::MAX_QUERY_BYTES) is cut.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        is_visible: impl Fn(usize) -> bool,
    ) -> SearchHits {
        let query = Query::parse(query);
        let terms: Vec<_> = query.words.iter().filter_map(|word| self.term(word)).collect();
        let completions = query.prefix.map_or(0..0, |prefix| self.completions(&prefix));
        if terms.is_empty() && completions.is_empty() {
            return SearchHits::default();
        }
        let mut scores = vec![0_u32; self.skills];
        for term in terms {
            let postings = self.postings_of(term..term + 1);
            for (posting, weight) in
                self.postings[postings.clone()].iter().zip(&self.weights[postings])
            {
                scores[posting.skill()] += u32::from(*weight);
            }
        }
        if !completions.is_empty() {
            self.score_completions(completions, &mut scores);
        }
        best(&scores, limit, is_visible)
    }

    /// Adds the score of an unfinished word to every skill that has a word which begins like it;
    /// several such words in one field count once.
    fn score_completions(&self, completions: Range<usize>, scores: &mut [u32]) {
        let mut fields = vec![0_u8; self.skills];
        for posting in &self.postings[self.postings_of(completions)] {
            fields[posting.skill()] |= posting.fields();
        }
        for (score, fields) in scores.iter_mut().zip(fields) {
            *score += self.prefix_scores[usize::from(fields)];
        }
    }

    fn term(&self, word: &str) -> Option<usize> {
        let place = self.terms_before(|term| term < word);
        (place < self.terms.len() && self.text_of(place) == word).then_some(place)
    }

    /// The terms that begin with a prefix and are longer.
    fn completions(&self, prefix: &str) -> Range<usize> {
        let start = self.terms_before(|term| term <= prefix);
        let end = self.terms_before(|term| term <= prefix || term.starts_with(prefix));
        start..end
    }

    /// How many terms come before the first for which `is_before` is false.
    fn terms_before(&self, is_before: impl Fn(&str) -> bool) -> usize {
        let mut range = 0..self.terms.len();
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            if is_before(self.text_of(middle)) {
                range.start = middle + 1;
            } else {
                range.end = middle;
            }
        }
        range.start
    }

    fn text_of(&self, term: usize) -> &str {
        let start = self.before(term).map_or(0, |before| before.text_end);
        &self.text[start as usize..self.terms[term].text_end as usize]
    }

    /// The postings of neighbouring terms.
    fn postings_of(&self, terms: Range<usize>) -> Range<usize> {
        let end_of = |term: &TermEnds| term.postings_end as usize;
        let start = self.before(terms.start).map_or(0, end_of);
        start..self.before(terms.end).map_or(0, end_of)
    }

    fn before(&self, term: usize) -> Option<&TermEnds> {
        term.checked_sub(1).map(|before| &self.terms[before])
    }
}

/// The visible skills with the highest scores.
fn best(scores: &[u32], limit: usize, is_visible: impl Fn(usize) -> bool) -> SearchHits {
    let mut total = 0;
    // The heap has the worst of the best on top. Skills come in the order of the list, so a skill
    // that is only as good as the worst ranks after it.
    let mut best = BinaryHeap::with_capacity(limit.min(scores.len()));
    for (skill, score) in scores.iter().enumerate().filter(|(_, score)| **score > 0) {
        if !is_visible(skill) {
            continue;
        }
        total += 1;
        if best.len() < limit {
            best.push((Reverse(*score), skill));
        } else if let Some(mut worst) = best.peek_mut()
            && worst.0.0 < *score
        {
            *worst = (Reverse(*score), skill);
        }
    }
    let best = best.into_sorted_vec().into_iter().map(|(_, skill)| skill).collect();
    SearchHits { best, total }
}

#[cfg(test)]
mod tests;
