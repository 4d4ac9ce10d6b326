//! What happened to skills, for people who look later.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skillwire_core::Digest;

use crate::{origin::SkillId, record::StoreError, refusal::Reason};

/// What was done or attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A user was asked to approve.
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
    /// Content was inspected by the user.
    Inspect,
    /// A tool that runs code was called while acting on a skill.
    Execute,
    /// A script of the skill was run in isolation, or could not be.
    Run,
    /// A resource of another origin was read while acting on a skill.
    CrossOriginRead,
    /// A skill was copied out.
    Export,
    /// A window was closed.
    Release,
    /// An origin was removed.
    Remove,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It was done.
    Allowed,
    /// It was not.
    Refused,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub time: SystemTime,
    /// Which skill; absent for a whole origin.
    pub skill: Option<SkillId>,
    /// Which origin.
    pub label: String,
    /// The content it was about, as one digest over the whole set.
    pub content: Option<Digest>,
    /// What was done or attempted.
    pub action: Action,
    /// How it ended.
    pub decision: Decision,
    /// Why it was refused.
    pub reason: Option<Reason>,
    /// The file or tool it was about.
    pub detail: Option<String>,
}

/// Keeps events in the order they happened.
pub trait Audit: Send + Sync {
    /// Appends one event.
    fn append(&self, event: &Event) -> Result<(), StoreError>;
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAudit;

impl Audit for NoAudit {
    fn append(&self, _: &Event) -> Result<(), StoreError> {
        Ok(())
    }
}
