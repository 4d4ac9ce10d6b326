//! What is remembered about a skill the user was asked about.

use std::time::SystemTime;

use skillwire_core::{ContentSet, Digest};

use crate::{
    grants::Grants,
    integrity::ApprovalBinding,
    origin::{Origin, SkillId},
};

/// Everything remembered about one skill of one origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The skill, by origin and URI.
    pub id: SkillId,
    /// What was approved, whole.
    pub approval: Option<Approval>,
    /// The content the user declined.
    pub declined: Option<Digest>,
    /// Whether the user switched the skill off.
    pub disabled: bool,
    /// When the user was asked about this skill, oldest first, no more than are needed to see a flood.
    pub asked: Vec<SystemTime>,
}

impl Record {
    /// The record of a skill that the user was never asked about.
    pub fn new(id: SkillId) -> Self {
        Self { id, approval: None, declined: None, disabled: false, asked: Vec::new() }
    }
}

/// One approval: content and grants.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The content as it was approved.
    pub content: ContentSet,
    /// What was granted besides loading.
    pub grants: Grants,
    /// When.
    pub at: SystemTime,
    /// Whether another content was seen since; the approval does not come back with the old one.
    pub revoked: bool,
    /// What the approval is bound to.
    pub binding: ApprovalBinding,
}

/// Keeps records; one that cannot be read is an error and never an approval.
pub trait RecordStore: Send + Sync {
    /// The record of a skill.
    fn get(&self, id: &SkillId) -> Result<Option<Record>, StoreError>;

    /// Tells whether the user switched a skill off; every load asks, so this should be quick.
    fn is_disabled(&self, id: &SkillId) -> Result<bool, StoreError> {
        Ok(self.get(id)?.is_some_and(|record| record.disabled))
    }

    /// Changes the record of a skill while no other process can, and returns the new one.
    ///
    /// The change sees the record as it is now, or a new one.
    fn update(
        &self,
        id: &SkillId,
        change: &mut dyn FnMut(&mut Record),
    ) -> Result<Record, StoreError>;

    /// Forgets everything about an origin and says how many records that were.
    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError>;

    /// Every record that can be read, and what is wrong with the others.
    fn all(&self) -> (Vec<Record>, Vec<StoreError>);
}

/// State that cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{place}` {problem}")]
pub struct StoreError {
    /// Where, as the user knows it.
    pub place: String,
    /// What is wrong, reading on from the place.
    pub problem: String,
}
