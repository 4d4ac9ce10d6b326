//! A skill that may be loaded, with exactly the content that was approved.

use std::sync::Arc;

use skillwire_core::{ContentSet, Digest, SkillEntry};
use skillwire_dialects::{SkillOffer, sep_2076::ArgumentValues};

use crate::{grants::Grants, listed::ListedSkill, origin::SkillId, refusal::Refusal};

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
}

/// A skill that may be loaded. Only the host makes one, and only from a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedSkill {
    listed: ListedSkill,
    grants: Grants,
    by: ApprovedBy,
    /// One digest over the content, unless the skill is dynamic; every event in the log carries it.
    fingerprint: Option<Digest>,
}

impl ApprovedSkill {
    /// Creates the value for a skill that the user, a lock file or a folder has approved. The
    /// caller answers for that decision.
    pub fn new(listed: ListedSkill, grants: Grants, by: ApprovedBy) -> Self {
        let fingerprint = listed.content().map(|content| content.fingerprint());
        Self { listed, grants, by, fingerprint }
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
        self.fingerprint
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
