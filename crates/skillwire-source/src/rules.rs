//! What the operator decided about serving.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use skillwire_core::{finding::Strictness, path::RelPath, uri::Scheme};

/// The decisions that every skill of a source is judged by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// The scheme of the skills' URIs.
    pub(crate) scheme: Scheme,
    /// How forgiving the source is about skills that break the format.
    pub(crate) strictness: Strictness,
    /// Files that are served although their name says that they hold a secret.
    pub(crate) allow_secret: SecretAllowList,
    /// Whether a file with more than one hard link keeps its skill from being served.
    pub(crate) single_link: bool,
}

/// File names and paths an operator allows although they look like secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretAllowList(GlobSet);

/// A pattern that cannot be understood; the text reads on after the name of an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be understood: {reason}")]
pub struct InvalidPattern {
    pattern: String,
    reason: String,
}

impl SecretAllowList {
    /// Reads shell patterns; `*` stops at a slash and `**` does not.
    pub fn parse(
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, InvalidPattern> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            set.add(glob.map_err(|error| invalid(pattern, &error))?);
        }
        set.build().map(Self).map_err(|error| invalid(error.glob().unwrap_or_default(), &error))
    }

    /// Tells whether a pattern fits the file's name or its whole path within the skill.
    pub fn allows(&self, path: &RelPath) -> bool {
        self.0.is_match(path.file_name()) || self.0.is_match(path.as_str())
    }
}

fn invalid(pattern: &str, error: &globset::Error) -> InvalidPattern {
    InvalidPattern { pattern: pattern.to_owned(), reason: error.kind().to_string() }
}
