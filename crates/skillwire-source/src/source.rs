//! The contract every source of skills keeps.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use skillwire_core::finding::{Finding, Strictness};

use crate::skill::Skill;

/// A place skills come from.
///
/// A source remembers what it reported and reports only what differs: the first scan reports every
/// site, a later one those that changed and those that are gone. A source that cannot be read at
/// all says so and reports nothing, so that a server can keep what it has.
pub trait Source: Send + Sync + std::fmt::Debug {
    /// Looks at what may have changed and reports each site that did.
    ///
    /// Returns the findings that belong to no site, such as a folder without any skill: all there
    /// are, wherever the look is at.
    fn scan(
        &self,
        look: &Look,
        report: &mut (dyn FnMut(Report) + Send),
    ) -> Result<Vec<Finding>, Unavailable>;

    /// The directories whose changes matter, for a file system that tells of changes.
    fn watched(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Paths that are everything together, some in each part, for looks that let others pass; none
    /// if a look at everything does not take long.
    fn parts(&self) -> Vec<BTreeSet<PathBuf>> {
        Vec::new()
    }

    /// Takes what to call when there is something to report, for a source that comes to know of
    /// changes by itself; it is then looked at again, with a [`Look`] at no paths.
    ///
    /// A source that has something to report already calls it at once.
    fn on_news(&self, _wake: Wake) {}
}

/// Tells whoever looks at a source that there is something to report.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// What a scan looks at, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// Only what these paths are, contain or are part of; everything when absent.
    pub at: Option<BTreeSet<PathBuf>>,
    /// Whether every file is read anew, whatever the file system says about changes.
    pub closely: bool,
}

impl Look {
    /// Looks at everything, trusting what the file system says about unchanged files.
    pub fn everywhere() -> Self {
        Self::default()
    }

    /// Looks only at some paths.
    pub fn at(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { at: Some(paths.into_iter().collect()), closely: false }
    }

    /// Reads every file anew.
    #[must_use]
    pub fn closely(self) -> Self {
        Self { closely: true, ..self }
    }

    /// Tells whether what has no path is looked at anew.
    ///
    /// A close look at everything may come in parts, and one of them is at no path; what has none would
    /// otherwise be looked at as often as there are parts.
    pub fn is_close_without_paths(&self) -> bool {
        self.closely && self.at.as_ref().is_none_or(BTreeSet::is_empty)
    }
}

/// The name of a site within its source; the same site has the same name in every scan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteKey(pub Arc<str>);

/// News of one site: a skill with all the skills inside it, or a place that tried to be one.
#[derive(Debug)]
pub enum Report {
    /// The site is new or different.
    Site(SiteKey, Vec<Inspected>),
    /// The site is no longer there.
    Gone(SiteKey),
}

/// One place that is or tried to be a skill.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// Where it is, in words the operator knows.
    pub origin: String,
    /// Everything noteworthy; file names are as the operator knows them.
    pub findings: Vec<Finding>,
    /// The skill, when it is to be served.
    pub skill: Option<Arc<Skill>>,
}

impl Inspected {
    /// The findings because of which the skill is not served.
    pub fn reasons(&self, strictness: Strictness) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.skips(strictness))
    }
}

/// A source that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin} cannot be read: {reason}")]
pub struct Unavailable {
    /// The source, in words the operator knows.
    pub origin: String,
    /// Why it cannot be read.
    pub reason: String,
}
