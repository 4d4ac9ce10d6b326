//! Which skills a view shows.

use std::{fmt, sync::Arc};

use skillwire_core::SkillUri;
use skillwire_source::{PathPatterns, path_of};

/// Chooses skills one by one, for servers whose rules ask for more than paths.
///
/// A filter is asked when a snapshot is made, and never for a request. If it would answer otherwise than
/// before, [`Catalog::refilter`](crate::Catalog::refilter) makes the snapshots again.
pub trait SkillFilter: Send + Sync + fmt::Debug {
    /// Tells whether a view shows the skill at this URI. It may not exist.
    fn shows(&self, uri: &SkillUri) -> bool;
}

/// The skills that a caller sees.
#[derive(Debug, Clone)]
pub enum VisibleSkills {
    /// All of them.
    Everything,
    /// Those whose path matches.
    Matching(PathPatterns),
    /// Those that a filter chooses.
    Chosen(Arc<dyn SkillFilter>),
}

impl VisibleSkills {
    /// Tells whether the skill at this URI is shown, if there is one.
    pub(crate) fn shows(&self, uri: &SkillUri) -> bool {
        match self {
            Self::Everything => true,
            Self::Matching(patterns) => patterns.matches(&path_of(uri)),
            Self::Chosen(filter) => filter.shows(uri),
        }
    }
}

/// Two are equal if callers with them can share a view: patterns that were written alike, or one filter.
impl PartialEq for VisibleSkills {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, Self::Everything) => true,
            (Self::Matching(one), Self::Matching(other)) => one == other,
            (Self::Chosen(one), Self::Chosen(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for VisibleSkills {}

impl From<PathPatterns> for VisibleSkills {
    fn from(patterns: PathPatterns) -> Self {
        Self::Matching(patterns)
    }
}

impl From<Option<PathPatterns>> for VisibleSkills {
    fn from(patterns: Option<PathPatterns>) -> Self {
        patterns.map_or(Self::Everything, Self::Matching)
    }
}
