//! Shell patterns over paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of shell patterns such as `acme/*`, `internal-*` or `*.pem`.
///
/// `*` matches within a segment, `**` across segments. An empty set matches no path.
#[derive(Clone, Default)]
pub struct PathPatterns {
    patterns: Vec<String>,
    set: GlobSet,
}

/// Shows the patterns as they were written: the index compares this text to notice other options.
impl std::fmt::Debug for PathPatterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.patterns.fmt(f)
    }
}

/// Two sets are equal if they were written alike.
impl PartialEq for PathPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for PathPatterns {}

/// A pattern that is not a valid shell pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be understood: {}", .source.kind())]
pub struct InvalidPattern {
    pattern: String,
    source: globset::Error,
}

impl InvalidPattern {
    fn new(pattern: &str, source: globset::Error) -> Self {
        Self { pattern: pattern.to_owned(), source }
    }
}

impl PathPatterns {
    /// Compiles patterns.
    pub fn parse<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        let mut set = GlobSetBuilder::new();
        let mut written = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            set.add(glob.map_err(|error| InvalidPattern::new(pattern, error))?);
            written.push(pattern.to_owned());
        }
        let set = set.build();
        let set = set.map_err(|error| {
            let pattern = error.glob().unwrap_or_default().to_owned();
            InvalidPattern::new(&pattern, error)
        })?;
        Ok(Self { patterns: written, set })
    }

    /// Tells whether there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Tells whether any pattern matches.
    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}
