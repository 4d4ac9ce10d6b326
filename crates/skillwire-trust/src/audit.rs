//! The audit log: what happened to skills, for later inspection.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, ContentSet, Digest};

use crate::{origin::SkillId, record::StoreError, refusal::Reason};

/// An action that was done or attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The user was asked to approve a skill.
    Ask,
    /// A skill was approved.
    Approve,
    /// An approval was withdrawn.
    Revoke,
    /// A skill was switched on.
    Enable,
    /// A skill was switched off.
    Disable,
    /// A skill was loaded.
    Load,
    /// A file of a loaded skill was read.
    Read,
    /// The user inspected content.
    Inspect,
    /// A tool that runs code was called while acting on a skill.
    Execute,
    /// A script of the skill was run in isolation, or could not be.
    Run,
    /// A resource of a server was read by its URI, without loading a skill.
    ReadResource,
    /// A resource of another origin was read while an agent acted on a skill.
    CrossOriginRead,
    /// A skill was copied out.
    Export,
    /// A window was closed.
    Release,
    /// An origin was removed.
    Remove,
}

/// The outcome of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The action was done.
    Allowed,
    /// The action was refused.
    Refused,
}

/// One event in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it happened.
    pub time: SystemTime,
    /// The skill; absent for an event about a whole origin.
    pub skill: Option<SkillId>,
    /// The label of the origin.
    pub label: String,
    /// The digest of the skill's whole content.
    pub content: Option<Digest>,
    /// The identity of the skill's files, wherever they are; earlier versions did not log it.
    pub content_id: Option<ContentId>,
    /// The action that was done or attempted.
    pub action: Action,
    /// The outcome.
    pub decision: Decision,
    /// Why the action was refused.
    pub reason: Option<Reason>,
    /// The file or tool that the event is about.
    pub detail: Option<String>,
}

/// The content of a skill, as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedContent {
    /// The digest of the whole content, which belongs to the URI of the skill.
    pub fingerprint: Digest,
    /// The identity of its files, unless a path has none.
    pub id: Option<ContentId>,
}

impl From<&ContentSet> for LoggedContent {
    fn from(content: &ContentSet) -> Self {
        Self { fingerprint: content.fingerprint(), id: content.content_id().ok() }
    }
}

/// A log that keeps events in the order they happened.
pub trait Audit: Send + Sync {
    /// Appends one event.
    fn append(&self, event: &Event) -> Result<(), StoreError>;
}

/// A log that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAudit;

impl Audit for NoAudit {
    fn append(&self, _: &Event) -> Result<(), StoreError> {
        Ok(())
    }
}
