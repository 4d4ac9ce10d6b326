//! What the host remembers about a skill that it asked the user about.

use std::{io, sync::Arc, time::SystemTime};

use skillwire_core::{ContentSet, Digest};

use crate::{
    decision_channel::DecisionChannel,
    grants::Grants,
    integrity::ApprovalBinding,
    origin::{Origin, SkillId},
    signature::Voucher,
};

/// Everything that the host remembers about one skill of one origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The skill, by origin and URI.
    pub id: SkillId,
    /// The approval, with the whole approved content.
    pub approval: Option<Approval>,
    /// The digest of the content that the user declined.
    pub declined: Option<Digest>,
    /// Whether the user switched the skill off.
    pub disabled: bool,
    /// The approval of the next load, which is taken out when the skill is loaded.
    pub next_load: Option<NextLoad>,
    /// How often an approval of the skill was withdrawn. An answer to a question from before the
    /// last time does not count.
    pub revocations: u64,
    /// When the host asked the user about this skill, oldest first, no more than it needs to see a
    /// flood.
    pub asked: Vec<SystemTime>,
}

impl Record {
    /// Creates the record of a skill that the user was never asked about.
    pub fn new(id: SkillId) -> Self {
        Self {
            id,
            approval: None,
            declined: None,
            disabled: false,
            next_load: None,
            revocations: 0,
            asked: Vec::new(),
        }
    }
}

/// One approval: content and grants.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The approved content.
    pub content: ContentSet,
    /// The grants besides loading.
    pub grants: Grants,
    /// When the user approved it.
    pub at: SystemTime,
    /// How the decision reached the host; `None` for a record of a version that did not keep it.
    pub channel: Option<DecisionChannel>,
    /// Whether the host has seen other content since. The approval does not return with the old
    /// content: a server could otherwise switch between the two without a question to the user.
    pub revoked: bool,
    /// What the approval is bound to.
    pub binding: ApprovalBinding,
    /// The trusted signer that vouched for the content when it was approved.
    pub voucher: Option<Voucher>,
}

/// An approval that is good for the next load, whenever that is, and for none after it.
#[derive(Debug, Clone, PartialEq)]
pub struct NextLoad {
    /// The digest of the approved content.
    pub content: Digest,
    /// The grants besides loading.
    pub grants: Grants,
    /// When the user approved it.
    pub at: SystemTime,
}

/// A store of records; a record that cannot be read is an error and never an approval.
pub trait RecordStore: Send + Sync {
    /// Returns the record of a skill.
    fn get(&self, id: &SkillId) -> Result<Option<Record>, StoreError>;

    /// Tells whether the user switched a skill off; every load asks, so this should be fast.
    fn is_disabled(&self, id: &SkillId) -> Result<bool, StoreError> {
        Ok(self.get(id)?.is_some_and(|record| record.disabled))
    }

    /// Changes the record of a skill while no other process can, and returns the new record.
    ///
    /// `change` gets the current record, or a new one. Reading and writing are one step, so that a
    /// revocation by another process is not overwritten.
    fn update(
        &self,
        id: &SkillId,
        change: &mut dyn FnMut(&mut Record),
    ) -> Result<Record, StoreError>;

    /// Removes every record of an origin and returns how many there were.
    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError>;

    /// Returns every readable record, and the errors of the others.
    fn all(&self) -> (Vec<Record>, Vec<StoreError>);

    /// Returns every readable record of an origin, and the errors of the others.
    fn of_origin(&self, origin: &Origin) -> (Vec<Record>, Vec<StoreError>) {
        let (mut records, errors) = self.all();
        records.retain(|record| record.id.origin == *origin);
        (records, errors)
    }
}

impl<T: RecordStore + ?Sized> RecordStore for Arc<T> {
    fn get(&self, id: &SkillId) -> Result<Option<Record>, StoreError> {
        (**self).get(id)
    }

    fn is_disabled(&self, id: &SkillId) -> Result<bool, StoreError> {
        (**self).is_disabled(id)
    }

    fn update(
        &self,
        id: &SkillId,
        change: &mut dyn FnMut(&mut Record),
    ) -> Result<Record, StoreError> {
        (**self).update(id, change)
    }

    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError> {
        (**self).remove_origin(origin)
    }

    fn all(&self) -> (Vec<Record>, Vec<StoreError>) {
        (**self).all()
    }
}

/// The error for state that cannot be read or written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{place}` {problem}")]
#[non_exhaustive]
pub struct StoreError {
    /// The place, in words that the user knows.
    pub place: String,
    /// What is wrong, as a clause that follows the place.
    pub problem: String,
    /// The error of the system.
    pub source: Option<Arc<io::Error>>,
}

impl StoreError {
    /// Creates an error from a place and a clause that follows it.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), source: None }
    }

    /// Keeps the error of the system that caused this one.
    #[must_use]
    pub fn caused_by(self, source: Option<Arc<io::Error>>) -> Self {
        Self { source, ..self }
    }
}

/// Two errors are equal if they say the same about the same place.
impl PartialEq for StoreError {
    fn eq(&self, other: &Self) -> bool {
        (&self.place, &self.problem) == (&other.place, &other.problem)
    }
}

impl Eq for StoreError {}
