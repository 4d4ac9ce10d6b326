//! The operator's decisions about serving.

use skillwire_core::{RelPath, Scheme, Strictness};

use crate::patterns::{InvalidPattern, PathPatterns};

/// The rules that every skill of a source is checked with.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServingRules {
    /// The scheme of the skills' URIs.
    pub(crate) scheme: Scheme,
    /// How forgiving the source is about skills that break the format.
    pub(crate) strictness: Strictness,
    /// Files that are served although their name says that they hold a secret.
    pub(crate) allow_secret: SecretAllowList,
    /// Whether a file with more than one hard link keeps its skill from being served.
    pub(crate) single_link: bool,
    /// Whether findings that never keep a skill from being served are left out.
    pub(crate) brief: bool,
}

/// File names and paths an operator allows although they look like secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretAllowList(PathPatterns);

impl SecretAllowList {
    /// Reads shell patterns; `*` stops at a slash and `**` does not.
    pub fn parse(
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, InvalidPattern> {
        PathPatterns::parse(patterns).map(Self)
    }

    /// Tells whether a pattern fits the file's name or its whole path within the skill.
    pub fn allows(&self, path: &RelPath) -> bool {
        self.0.matches(path.file_name()) || self.0.matches(path.as_str())
    }
}
