//! Patterns over text, with a bound on their time.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// The most memory that one pattern may take when it is compiled.
const PATTERN_SIZE: usize = 4 << 20;

/// The most memory that the table of a running pattern may take.
const TABLE_SIZE: usize = 8 << 20;

/// A pattern that knows ASCII letters only, and takes time in proportion to the text.
///
/// Text is folded to ASCII before. A pattern with the word boundaries of Unicode would leave its fast
/// way at every other character.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Regex);

/// Several patterns that are tried at once.
#[derive(Debug)]
pub(crate) struct PatternSet(RegexSet);

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        Self::build(pattern, false)
    }

    /// Compiles a pattern for which upper and lower case, and lines, are as a rule means them.
    pub(crate) fn of_rule(pattern: &str) -> Result<Self, String> {
        Self::build(pattern, true)
    }

    fn build(pattern: &str, of_rule: bool) -> Result<Self, String> {
        let mut builder = RegexBuilder::new(pattern);
        builder.unicode(false).size_limit(PATTERN_SIZE).dfa_size_limit(TABLE_SIZE);
        builder.case_insensitive(of_rule).multi_line(of_rule);
        builder.build().map(Self).map_err(|error| format!("`{pattern}`: {error}"))
    }

    /// Compiles a pattern of this crate.
    pub(crate) fn fixed(pattern: &str) -> Self {
        Self::new(pattern).expect("the tests compile the patterns of this crate")
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }

    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        self.0.find(text.as_bytes()).map(|found| whole_characters(text, found.range()))
    }

    pub(crate) fn find_iter<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        self.0.find_iter(text.as_bytes()).map(|found| whole_characters(text, found.range()))
    }

    /// The groups of every match; the first is the match.
    pub(crate) fn groups_iter<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Vec<Option<Range<usize>>>> + 'a {
        self.0.captures_iter(text.as_bytes()).map(|captures| {
            let range = |found: regex::bytes::Match<'_>| whole_characters(text, found.range());
            captures.iter().map(|group| group.map(range)).collect()
        })
    }
}

impl PatternSet {
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut builder = RegexSetBuilder::new(patterns);
        builder.unicode(false).size_limit(PATTERN_SIZE * 4).dfa_size_limit(TABLE_SIZE * 2);
        builder.build().map(Self).map_err(|error| error.to_string())
    }

    /// The indices of the patterns that match.
    pub(crate) fn matches(&self, text: &str) -> Vec<usize> {
        self.0.matches(text.as_bytes()).into_iter().collect()
    }
}

/// Widens a range to whole characters: patterns match bytes.
fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let mut start = range.start;
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = range.end;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
