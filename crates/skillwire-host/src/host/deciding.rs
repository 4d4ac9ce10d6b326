//! Signed decisions that a server carries, by keys that the user trusts instead of a question.

use skillwire_trust::{
    ApprovedSkill, DecisionChannel, DecisionCheck, EntrySource, Integrity, ListedSkill, Origin,
    Record, Refusal, ServerLabel,
};

use super::Host;

impl Host {
    /// Returns what is known about the signed decision of a skill, from the entry that its server
    /// sent. This fetches nothing.
    ///
    /// Nothing else that a server says about where a skill comes from is believed.
    pub fn known_decision(&self, listed: &ListedSkill) -> DecisionCheck {
        let skill = listed.id();
        let keys = self.inner.decisions.as_ref();
        let Some(keys) = keys.filter(|keys| keys.has_key_for(&skill.origin)) else {
            return DecisionCheck::NotAsked;
        };
        let Some(carried) = listed.meta().and_then(|meta| meta.get(keys.member()).cloned()) else {
            return DecisionCheck::None;
        };
        let digests = listed.content().filter(|_| listed.integrity() == Integrity::Manifest);
        let Some(content) = digests else {
            let problem = "is for nothing: the skill's files have no digests to compare";
            return DecisionCheck::Refused(problem.into());
        };
        match keys.verify(skill, &content, &carried, self.inner.clock.now()) {
            Ok(decision) => DecisionCheck::Decided(Box::new(decision)),
            Err(problem) => DecisionCheck::Refused(problem.into()),
        }
    }

    /// Tells whether the user trusts a key for decisions about skills of this server.
    pub(super) fn takes_decisions_of(&self, label: &ServerLabel) -> bool {
        let keys = self.inner.decisions.as_ref();
        keys.is_some_and(|keys| keys.has_key_for(&Origin::Server(label.clone())))
    }

    /// Approves loading of exactly this content because of a decision of its server that a trusted
    /// key signed. `None` if the user has to decide.
    pub(super) fn approved_by_decision(
        &self,
        listed: &ListedSkill,
    ) -> Result<Option<ApprovedSkill>, Refusal> {
        match self.known_decision(listed).decided() {
            Some(decision) => {
                self.approved_by_voucher(listed, &decision.voucher, DecisionChannel::Decision)
            }
            None => Ok(None),
        }
    }

    /// Returns a skill that a lock file does not list, if the lock file trusts the key that decided
    /// about exactly this content.
    pub(super) fn approved_by_locked_key(&self, listed: &ListedSkill) -> Option<ApprovedSkill> {
        let known = self.known_decision(listed);
        let decision = known.decided().filter(|_| !self.may_be_nested(listed))?;
        ApprovedSkill::by_locked_key(listed, decision)
    }

    /// Tells whether an approval by a decision still counts: its key is trusted, and it has not ended.
    pub(super) fn decision_still_holds(&self, record: &Record) -> bool {
        let voucher = record.approval.as_ref().and_then(|approval| approval.voucher.as_ref());
        let (Some(voucher), Some(keys)) = (voucher, self.inner.decisions.as_ref()) else {
            return false;
        };
        voucher.holds(self.inner.clock.now()) && keys.trusts(&record.id.origin, voucher)
    }

    /// Returns the record of a skill, without an approval by a decision that its server took back.
    pub(super) fn record_as_listed(&self, listed: &ListedSkill) -> Result<Option<Record>, Refusal> {
        let record = self.record(listed.id())?;
        Ok(record.map(|record| {
            let lost = self.is_lost_decision(&record, listed);
            if lost { Record { approval: None, ..record } } else { record }
        }))
    }

    /// Tells whether a record approves content by a decision that the skill's server does not carry
    /// any more. A server takes a decision back by leaving it out. An entry from before, which is used
    /// while the server is away, says nothing about that.
    pub(super) fn is_lost_decision(&self, record: &Record, listed: &ListedSkill) -> bool {
        let Some(approval) = &record.approval else { return false };
        approval.channel == Some(DecisionChannel::Decision)
            && listed.source() != EntrySource::Remembered
            && listed.is_covered_by(approval)
            && self.known_decision(listed).decided().is_none()
    }
}
