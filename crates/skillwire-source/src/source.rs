//! The contract that every source of skills keeps.

use std::{collections::BTreeSet, error::Error, path::PathBuf, sync::Arc};

use skillwire_core::{Finding, Strictness};

use crate::{lookup::SkillLookup, skill::Skill, uri_template::UriTemplate};

/// Where skills come from: a directory, memory, another server, or a store of the embedder's own.
///
/// A source is made of *groups*. A group is one skill together with the skills nested inside its
/// directory, or a directory that failed to be a skill. The source remembers what it reported for
/// each group and reports only differences: the first scan reports every group, a later scan those
/// that were added, changed or removed. [`ChangeTracker`](crate::ChangeTracker) does that
/// bookkeeping for sources that can list everything they have.
pub trait SkillSource: Send + Sync + std::fmt::Debug {
    /// Scans what the request names and reports each group that changed since the last scan.
    ///
    /// Returns the findings that belong to no group, such as a folder without any skill. The list
    /// is complete even if the request names only some paths.
    ///
    /// A source that cannot be read at all returns an error and reports nothing, so that a server
    /// keeps serving what it has.
    fn scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable>;

    /// The directories whose file system events make a new scan necessary.
    fn watched_directories(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Splits a full scan into smaller ones, so that a server can scan single changed skills in
    /// between.
    ///
    /// Each element is the paths of one [`ScanRequest`]; all of them together cover the source. A
    /// source that scans quickly returns nothing and is scanned at once.
    fn scan_parts(&self) -> Vec<BTreeSet<PathBuf>> {
        Vec::new()
    }

    /// Registers a callback for a source that learns of changes by itself, such as one that follows
    /// another server.
    ///
    /// The source calls it whenever there is something new to report, and at once if there already
    /// is. The receiver then scans with a [`ScanRequest`] for no paths. Calls may come from any
    /// thread and must not block.
    fn on_change(&self, _callback: ChangeCallback) {}

    /// Finds skills that scans do not report, for a source that has too many to list.
    fn lookup(&self) -> Option<Arc<dyn SkillLookup>> {
        None
    }

    /// Returns patterns of the URIs of its skills, for users who fill them in.
    fn templates(&self) -> Vec<UriTemplate> {
        Vec::new()
    }
}

/// Tells the owner of a source that a scan would report something.
pub type ChangeCallback = Arc<dyn Fn() + Send + Sync>;

/// What a scan covers, and whether it trusts file times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScanRequest {
    /// Only the groups that these paths are, contain or lie in; everything when absent.
    pub paths: Option<BTreeSet<PathBuf>>,
    /// Whether every file is read again even if the file system says that it did not change.
    pub force_read: bool,
}

impl ScanRequest {
    /// Scans everything, and trusts the file system about unchanged files.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Scans only some paths.
    pub fn paths(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { paths: Some(paths.into_iter().collect()), force_read: false }
    }

    /// Reads every file again.
    #[must_use]
    pub fn force_read(self) -> Self {
        Self { force_read: true, ..self }
    }

    /// Tells whether content that has no path, such as a generated skill, is read again.
    ///
    /// A forced scan of everything may be split into parts, and exactly one of them names no path.
    /// Without this rule, content without a path would be read once for each part.
    pub fn forces_pathless_read(&self) -> bool {
        self.force_read && self.paths.as_ref().is_none_or(BTreeSet::is_empty)
    }
}

/// Identifies a group within its source; the same group has the same key in every scan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey(pub Arc<str>);

/// What a scan reports about one group.
#[derive(Debug)]
pub enum SourceChange {
    /// The group is new or different; these are all its skills.
    Updated(GroupKey, Vec<InspectedSkill>),
    /// The group is no longer there.
    Removed(GroupKey),
}

/// A skill after inspection: its findings, and the skill itself if it can be served.
#[derive(Debug, Clone)]
pub struct InspectedSkill {
    /// Where it is, in words that the operator knows.
    pub origin: String,
    /// Everything noteworthy; file names are those that the operator knows.
    pub findings: Vec<Finding>,
    /// The skill, unless a finding keeps it from being served.
    pub skill: Option<Arc<Skill>>,
}

impl InspectedSkill {
    /// The findings that keep the skill from being served.
    pub fn reasons(&self, strictness: Strictness) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.skips(strictness))
    }
}

/// A source cannot be read at all.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{origin} cannot be read: {reason}")]
#[non_exhaustive]
pub struct SourceUnavailable {
    /// The source, in words that the operator knows.
    pub origin: String,
    /// Why it cannot be read.
    pub reason: String,
    /// The error of the system, if there was one.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl SourceUnavailable {
    /// Says which source cannot be read, and why.
    pub fn new(origin: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { origin: origin.into(), reason: reason.into(), source: None }
    }

    /// Adds the error that caused it.
    #[must_use]
    pub fn caused_by(self, error: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(error)), ..self }
    }
}

/// Two of them are equal if an operator would read the same.
impl PartialEq for SourceUnavailable {
    fn eq(&self, other: &Self) -> bool {
        self.origin == other.origin && self.reason == other.reason
    }
}

impl Eq for SourceUnavailable {}
