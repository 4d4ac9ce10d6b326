//! The contract every source of skills keeps.

use skillwire_core::finding::{Finding, Level, Strictness};

use crate::skill::Skill;

/// A place skills come from.
///
/// A scan reads everything anew, as far as the source knows that it changed, and is complete: a
/// skill that is not in it is gone. A source that cannot be read at all says so instead of
/// returning less, so that a server can keep what it has.
pub trait Source: Send + Sync + std::fmt::Debug {
    /// Reads everything there is now.
    fn scan(&self) -> Result<Scan, Unavailable>;
}

/// Everything a source found.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Each place that is or tried to be a skill, in path order.
    pub inspected: Vec<Inspected>,
    /// Findings that belong to no skill, such as a folder without any.
    pub findings: Vec<Finding>,
}

/// One place that is or tried to be a skill.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// Where it is, in words the operator knows.
    pub origin: String,
    /// Everything noteworthy; file names are as the operator knows them.
    pub findings: Vec<Finding>,
    /// The skill, when it is to be served.
    pub skill: Option<Skill>,
}

impl Inspected {
    /// The findings because of which the skill is not served.
    pub fn reasons(&self, strictness: Strictness) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| refuses(finding, strictness))
    }
}

/// Tells whether a finding keeps its skill from being served.
///
/// That is so when its code says it, and when an option of the operator made an error of what
/// would otherwise only be worth a warning.
pub(crate) fn refuses(finding: &Finding, strictness: Strictness) -> bool {
    let raised = finding.level == Level::Error && finding.code.level() < Level::Error;
    raised || finding.skips(strictness)
}

/// A source that cannot be read at all.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{origin} cannot be read: {reason}")]
pub struct Unavailable {
    /// The source, in words the operator knows.
    pub origin: String,
    /// Why it cannot be read.
    pub reason: String,
}
