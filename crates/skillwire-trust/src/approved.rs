//! A skill that may be loaded, with exactly the content that was approved.

use std::sync::Arc;

use skillwire_core::{ContentSet, Digest, SkillEntry};
use skillwire_dialects::{SkillOffer, sep_2076::ArgumentValues};

use crate::{
    audit::LoggedContent,
    decision_channel::DecisionChannel,
    grants::Grants,
    integrity::Integrity,
    listed::ListedSkill,
    lock::{LockFile, LockMismatch},
    origin::{Origin, SkillId},
    record::Record,
    refusal::Refusal,
    signed_decision::SignedDecision,
    standing::Standing,
};

/// The source of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovedBy {
    /// The user, for this content until it changes.
    User,
    /// A lock file, which is reviewed like code.
    Lock,
    /// The user, by putting the skill into a folder of this machine.
    Folder,
    /// The user, for one load.
    Once,
    /// A signer that the user trusts instead of a question, for this content.
    Signer,
}

/// A skill that may be loaded.
///
/// Only a decision leads to one: a review that the user answered with yes
/// ([`AnsweredReview::outcome`](crate::AnsweredReview::outcome)), a record that covers the skill as it is
/// listed, a lock file that lists its content, or the folder of this machine that it lies in.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedSkill {
    listed: ListedSkill,
    grants: Grants,
    by: ApprovedBy,
    /// The identity of the content, unless the skill is dynamic; every event in the log carries it.
    logged: Option<LoggedContent>,
}

impl ApprovedSkill {
    /// Creates the value for a skill that the user, a lock file or a folder has approved.
    pub(crate) fn new(listed: ListedSkill, grants: Grants, by: ApprovedBy) -> Self {
        let logged = listed.content().map(|content| LoggedContent::from(&content));
        Self { listed, grants, by, logged }
    }

    /// Returns the skill if its record, or the folder it lies in, approves it as it is listed.
    ///
    /// A record never approves a skill without digests.
    pub fn by_record(listed: &ListedSkill, record: Option<&Record>) -> Option<Self> {
        let Standing::Approved(grants) = Standing::of(listed, record) else { return None };
        match listed.integrity() {
            Integrity::Dynamic => None,
            // Files that were pinned earlier are held to the same bytes.
            Integrity::FirstSeen => {
                let approval = record?.approval.as_ref()?;
                let pinned = listed.with_pins(&approval.content);
                listed.is_covered_by(approval).then(|| Self::new(pinned, grants, ApprovedBy::User))
            }
            Integrity::Manifest => {
                let approval = record.and_then(|record| record.approval.as_ref());
                let channel = approval.and_then(|approval| approval.channel);
                let by = match listed.id().origin {
                    Origin::Server(_) if channel.is_some_and(DecisionChannel::is_signed) => {
                        ApprovedBy::Signer
                    }
                    Origin::Server(_) => ApprovedBy::User,
                    Origin::Local | Origin::Project => ApprovedBy::Folder,
                };
                Some(Self::new(listed.clone(), grants, by))
            }
        }
    }

    /// Takes the approval of the next load out of a record, if it is one of the skill as it is listed.
    pub fn by_next_load(listed: &ListedSkill, record: &mut Record) -> Option<Self> {
        let content = listed.content()?.fingerprint();
        let is_open = !record.disabled && record.declined != Some(content);
        let next = record.next_load.take_if(|next| is_open && next.content == content)?;
        Some(Self::new(listed.clone(), next.grants, ApprovedBy::Once))
    }

    /// Returns the skill if a lock file lists its content.
    pub fn by_lock(listed: &ListedSkill, lock: &LockFile) -> Result<Self, LockMismatch> {
        if listed.integrity().is_first_seen() {
            return Err(LockMismatch::FirstSeen);
        }
        let content = listed.content().ok_or(LockMismatch::NoDigests)?;
        let grants = lock.allows(listed.id(), &content)?;
        Ok(Self::new(listed.clone(), grants, ApprovedBy::Lock))
    }

    /// Returns the skill for loading alone, if a lock file trusts the key of this decision about its
    /// content. A decision never approves a skill without digests.
    pub fn by_locked_key(listed: &ListedSkill, _decision: &SignedDecision) -> Option<Self> {
        let is_bound = listed.integrity() == Integrity::Manifest;
        is_bound.then(|| Self::new(listed.clone(), Grants::load_only(), ApprovedBy::Lock))
    }

    /// Returns the id of the skill.
    pub fn id(&self) -> &SkillId {
        self.listed.id()
    }

    /// Returns the entry that was approved.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        self.listed.entry()
    }

    /// Returns the content that was approved, unless the skill is dynamic.
    pub fn content(&self) -> Option<ContentSet> {
        self.listed.content()
    }

    /// Returns one digest over the approved content, unless the skill is dynamic.
    pub fn fingerprint(&self) -> Option<Digest> {
        self.logged.map(|content| content.fingerprint)
    }

    /// Returns the approved content as the log names it, unless the skill is dynamic.
    pub fn logged_content(&self) -> Option<LoggedContent> {
        self.logged
    }

    /// Returns the grants besides loading.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns the source of the approval.
    pub fn by(&self) -> ApprovedBy {
        self.by
    }

    /// Returns the approval for a load with the values of the skill's arguments.
    pub fn with_arguments(self, values: &ArgumentValues) -> Result<Self, Refusal> {
        Ok(Self { listed: self.listed.with_arguments(values)?, ..self })
    }

    /// Replaces what the server promised, after it was asked for more.
    #[must_use]
    pub fn with_offer(self, offer: SkillOffer) -> Self {
        Self { listed: self.listed.with_offer(offer), ..self }
    }

    /// Returns the skill as it was listed when it was approved.
    pub fn listed(&self) -> &ListedSkill {
        &self.listed
    }
}
