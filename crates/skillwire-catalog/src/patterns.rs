//! Patterns over skill paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of glob patterns such as `acme/*` or `internal-*`.
///
/// `*` matches within a segment, `**` across segments; no pattern matches nothing.
#[derive(Debug, Clone)]
pub struct PathPatterns(GlobSet);

/// A pattern that cannot be understood.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be understood: {reason}")]
pub struct InvalidPattern {
    pattern: String,
    reason: String,
}

impl PathPatterns {
    /// Compiles patterns.
    pub fn parse<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let invalid = |error: globset::Error| InvalidPattern {
                pattern: pattern.to_owned(),
                reason: error.kind().to_string(),
            };
            let glob =
                GlobBuilder::new(pattern).literal_separator(true).build().map_err(invalid)?;
            set.add(glob);
        }
        let set = set.build().map_err(|error| InvalidPattern {
            pattern: String::new(),
            reason: error.to_string(),
        })?;
        Ok(Self(set))
    }

    /// Makes the set that matches nothing.
    pub fn none() -> Self {
        Self(GlobSet::empty())
    }

    /// Tells whether any pattern matches.
    pub fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

impl Default for PathPatterns {
    fn default() -> Self {
        Self::none()
    }
}
