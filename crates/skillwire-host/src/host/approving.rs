//! The user's decisions about skills, and their consequences.

use std::collections::HashMap;

use skillwire_trust::{
    Action, Answer, AnsweredReview, Approval, ApprovalReview, ApprovedSkill, DecisionChannel,
    DynamicPolicy, Grants, KnownSkill, ListedSkill, LockFile, LockMismatch, LoggedContent,
    Question, Reason, Record, Refusal, Remedy, ReviewOutcome, SkillId, Standing,
};

use super::{Host, unusable, vouching::is_open_to};

/// A recorded decision that can be taken back for as long as nothing else changes the record.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoableDecision {
    before: Record,
    after: Record,
}

/// The user's decision about a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillDecision {
    /// The standing of the skill, as far as its listing tells.
    pub standing: Standing,
    /// The user's last approval of a skill of an older server, whether or not it covers the skill.
    pub approval: Option<Approval>,
}

impl Host {
    /// Returns the standing of a skill with the user.
    pub fn standing(&self, listed: &ListedSkill) -> Result<Standing, Refusal> {
        let record = self.record_as_listed(listed)?;
        let standing = Standing::of(listed, record.as_ref());
        Ok(self.with_declined_form(listed.id(), || listed.content(), standing))
    }

    /// Returns the standing of a skill with the user, as far as its listing tells.
    pub fn standing_of_known(&self, skill: &KnownSkill) -> Result<Standing, Refusal> {
        let record = match entry_of(skill) {
            Some(listed) => self.record_as_listed(listed)?,
            None => self.record(skill.id())?,
        };
        let standing = Standing::of_known(skill, record.as_ref());
        Ok(self.with_declined_form(skill.id(), || skill.content(), standing))
    }

    /// Returns how often an approval of a skill was withdrawn.
    pub fn revocations(&self, skill: &SkillId) -> Result<u64, Refusal> {
        let record = self.inner.records.get(skill).map_err(unusable)?;
        Ok(record.map_or(0, |record| record.revocations))
    }

    /// Returns how the approval of a skill came, if there is one and its record says so.
    pub fn decided_through(&self, skill: &SkillId) -> Option<DecisionChannel> {
        let record = self.record(skill).ok().flatten()?;
        record.approval.filter(|approval| !approval.revoked)?.channel
    }

    /// Begins a review that the user asked for, regardless of the skill's standing.
    pub fn review(&self, listed: &ListedSkill) -> Result<ApprovalReview, Refusal> {
        let review = ApprovalReview::of(listed, &self.standing(listed)?);
        Ok(review.with_signature(self.known_signature(listed)))
    }

    /// Begins a review because a caller wants to load a skill that the user has not approved as it
    /// is, for the reason that [`Self::approved`] gave.
    ///
    /// This asks the user nothing and counts no question: see [`Self::count_question`].
    pub fn review_before_load(
        &self,
        listed: &ListedSkill,
        undecided: Refusal,
    ) -> Result<ApprovalReview, Refusal> {
        let review = ApprovalReview::before_load(listed, &self.standing(listed)?, undecided)?;
        Ok(review.with_signature(self.known_signature(listed)))
    }

    /// Records the user's answer. Returns the approval, or the refusal for the caller that wanted
    /// the skill.
    pub fn record_review(&self, answered: AnsweredReview) -> Result<ApprovedSkill, Refusal> {
        self.record_undoable(answered).0
    }

    /// Records the user's answer as [`Self::record_review`] does, and returns what is needed to take it
    /// back if it changed the record.
    #[tracing::instrument(skip_all, fields(skill = %answered.listed().id()))]
    pub fn record_undoable(
        &self,
        answered: AnsweredReview,
    ) -> (Result<ApprovedSkill, Refusal>, Option<UndoableDecision>) {
        let mut undoable = None;
        let recorded = self.record_answer(answered, &mut undoable);
        (recorded, undoable)
    }

    /// Takes a decision back, unless the record changed since. Returns whether it was taken back.
    #[tracing::instrument(skip_all, fields(skill = %decision.before.id))]
    pub fn undo_review(&self, decision: &UndoableDecision) -> Result<bool, Refusal> {
        let UndoableDecision { before, after } = decision;
        let mut is_unchanged = false;
        let mut change = |record: &mut Record| {
            is_unchanged = record == after;
            if is_unchanged {
                *record = before.clone();
                // An answer to a question from before does not count any more.
                record.revocations = after.revocations.saturating_add(1);
            }
        };
        self.inner.records.update(&before.id, &mut change).map_err(unusable)?;
        if is_unchanged {
            let detail = Some("the decision was taken back in the page");
            self.log_skill(&before.id, None, Action::Revoke, Ok(()), detail);
        }
        Ok(is_unchanged)
    }

    fn record_answer(
        &self,
        answered: AnsweredReview,
        undoable: &mut Option<UndoableDecision>,
    ) -> Result<ApprovedSkill, Refusal> {
        let listed = answered.listed().clone();
        let skill = listed.id();
        if answered.is_yes() && listed.binding().is_none() {
            self.check_dynamic(&listed)?;
        }
        if answered.is_yes() {
            self.check_required_signature(&listed)?;
        }
        let channel = answered.channel();
        let words = match answered.voucher() {
            Some(voucher) if channel == DecisionChannel::Signature => {
                format!("by a signature of {}: {}", voucher.name, voucher.signer)
            }
            Some(voucher) if channel == DecisionChannel::Decision => {
                let end = voucher.until.map_or_else(String::new, |end| {
                    format!(", until {}", humantime::format_rfc3339_seconds(end))
                });
                format!("by a signed decision of {}: {}{end}", voucher.name, voucher.signer)
            }
            Some(voucher) => {
                format!("{}; signed by {}: {}", channel.words(), voucher.name, voucher.signer)
            }
            None => channel.words().to_owned(),
        };
        let words = match answered.reason() {
            Some(reason) => format!("{words}: {reason}"),
            None => words,
        };
        if answered.is_yes()
            && channel == DecisionChannel::Unattended
            && !self.inner.policy.unattended_approvals
        {
            return Err(Refusal::new(Reason::NotApproved)
                .about(skill)
                .expected("an answer of the user at a terminal")
                .actual("an approval without a question, which the user's settings forbid"));
        }
        let signer = answered.voucher().filter(|_| channel.is_signed()).cloned();
        let outcome = answered.outcome(self.inner.clock.now());
        if outcome.is_remembered() {
            let content = listed.content().map(|content| content.fingerprint());
            let mut is_open = true;
            let mut change = |record: &mut Record| {
                // The user may have declined the skill, switched it off or withdrawn the approval
                // since the signature was looked at.
                is_open = signer
                    .as_ref()
                    .is_none_or(|signer| is_open_to(record, channel, signer, content));
                if is_open {
                    let before = record.clone();
                    outcome.record(record);
                    *undoable = Some(UndoableDecision { before, after: record.clone() });
                }
            };
            self.inner.records.update(skill, &mut change).map_err(unusable)?;
            if !is_open {
                let remedy = Remedy::ApproveSkill(skill.clone());
                return Err(Refusal::new(Reason::NotApproved).about(skill).remedy(remedy));
            }
        }
        match outcome {
            ReviewOutcome::Approved(approved, _) => {
                self.log(&approved, Action::Approve, Ok(()), Some(&words));
                Ok(approved)
            }
            ReviewOutcome::ApprovedOnce(approved) => {
                let detail = format!("once, {words}");
                self.log(&approved, Action::Approve, Ok(()), Some(&detail));
                Ok(approved)
            }
            ReviewOutcome::ApprovedNextLoad(approved, _) => {
                let detail = format!("for the next load, {words}");
                self.log(&approved, Action::Approve, Ok(()), Some(&detail));
                Ok(approved)
            }
            ReviewOutcome::Declined(content) | ReviewOutcome::DeclinedForNow(content) => {
                if let (DecisionChannel::Form, Some(content)) = (channel, content) {
                    self.hold_declined_form(skill, content);
                }
                let reason = Reason::UserDeclined;
                let content = listed.content().map(|content| LoggedContent::from(&content));
                self.log_skill(skill, content, Action::Ask, Err(reason), Some(&words));
                Err(Refusal::new(reason).about(skill))
            }
            ReviewOutcome::Undecided(refusal) => Err(refusal),
        }
    }

    /// Records that a program approves a skill as it is listed, with these grants, without asking
    /// the user. The record says so ([`DecisionChannel::Unattended`]).
    ///
    /// Only tools that the skill asks for can be granted to it. An approval of a dynamic skill is
    /// good for one load and is not recorded.
    pub fn approve(&self, listed: &ListedSkill, grants: Grants) -> Result<ApprovedSkill, Refusal> {
        let shown = self.review(listed)?.show();
        self.record_review(shown.answer(Answer::Yes(grants), DecisionChannel::Unattended))
    }

    /// Returns the approval of a skill, without asking the user.
    pub fn approved(&self, listed: &ListedSkill) -> Result<ApprovedSkill, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(listed.id());
        let record = self.record_as_listed(listed)?;
        if record.as_ref().is_some_and(|record| record.disabled) {
            return Err(refuse(Reason::Disabled).remedy(Remedy::EnableSkill(listed.id().clone())));
        }
        self.check_required_signature(listed)?;
        if let (Some(lock), Some(_)) = (&self.inner.lock, listed.id().origin.server()) {
            return self.locked(lock, listed);
        }
        if listed.integrity().is_dynamic() {
            self.check_dynamic(listed)?;
            let actual = "a skill without digests, asked each time";
            return Err(refuse(Reason::NotApproved).actual(actual));
        }
        if let Some(approved) = ApprovedSkill::by_record(listed, record.as_ref()) {
            return Ok(approved);
        }
        match Standing::of(listed, record.as_ref()) {
            Standing::Changed(diff) => Err(refuse(Reason::Changed)
                .expected("the content that was approved")
                .actual(format!(
                    "{} added, {} removed, {} changed, {} fields of the frontmatter",
                    diff.added.len(),
                    diff.removed.len(),
                    diff.changed.len(),
                    diff.frontmatter.len()
                ))
                .remedy(Remedy::ApproveSkill(listed.id().clone()))),
            Standing::New | Standing::Declined | Standing::Approved(_) | Standing::Disabled => {
                Err(refuse(Reason::NotApproved).remedy(Remedy::ApproveSkill(listed.id().clone())))
            }
        }
    }

    /// Takes the approval of the next load, if there is one of the skill as it is listed. Reading and
    /// taking are one step, so that two loads at the same time do not both get it.
    pub(super) fn take_next_load(
        &self,
        listed: &ListedSkill,
    ) -> Result<Option<ApprovedSkill>, Refusal> {
        let record = self.inner.records.get(listed.id()).map_err(unusable)?;
        let is_open = record.is_some_and(|record| record.next_load.is_some());
        if !is_open || self.inner.lock.is_some() {
            return Ok(None);
        }
        let mut taken = None;
        let mut take = |record: &mut Record| taken = ApprovedSkill::by_next_load(listed, record);
        self.inner.records.update(listed.id(), &mut take).map_err(unusable)?;
        Ok(taken)
    }

    /// Returns the approval of a skill, asking the user if there is none.
    ///
    /// The host limits how often it asks about the same skill, or about skills of the same server.
    #[tracing::instrument(skip_all, fields(skill = %listed.id()))]
    pub async fn approved_or_ask(&self, listed: &ListedSkill) -> Result<ApprovedSkill, Refusal> {
        let approved = self.approved_or_asked(listed).await;
        if let Err(refusal) = &approved {
            let content = listed.content().map(|content| LoggedContent::from(&content));
            self.log_skill(listed.id(), content, Action::Load, Err(refusal.reason), None);
        }
        approved
    }

    async fn approved_or_asked(&self, listed: &ListedSkill) -> Result<ApprovedSkill, Refusal> {
        let undecided = match self.approved_unasked(listed).await {
            Ok(approved) => return Ok(approved),
            Err(refusal) if refusal.reason.is_undecided() => refusal,
            Err(refusal) => return Err(refusal),
        };
        let review = self.review_before_load(listed, undecided)?;
        let before = self.count_question(listed.id())?;
        let shown = review.asked_before(before).show();
        let answer = self.ask(&Question::Approve(Box::new(shown.card().clone()))).await;
        self.record_review(shown.answer(answer, self.inner.prompter.channel()))
    }

    /// Returns the standing of each of many skills, reading the records once.
    pub fn standings(&self, skills: &[&KnownSkill]) -> Vec<Standing> {
        self.decisions(skills).into_iter().map(|decision| decision.standing).collect()
    }

    /// Returns the user's decision about each of many skills, reading the records once.
    pub fn decisions(&self, skills: &[&KnownSkill]) -> Vec<SkillDecision> {
        let (records, _) = self.inner.records.all();
        let records: Vec<Record> =
            records.into_iter().map(|record| self.without_former_signer(record)).collect();
        let records: HashMap<&SkillId, &Record> =
            records.iter().map(|record| (&record.id, record)).collect();
        let of = |skill: &&KnownSkill| {
            let record = records.get(skill.id()).copied();
            let lost = |record: &Record| {
                entry_of(skill).is_some_and(|listed| self.is_lost_decision(record, listed))
            };
            let record = record.filter(|record| !lost(record));
            let of_older_server = record.filter(|_| skill.offer().is_some());
            let standing = Standing::of_known(skill, record);
            SkillDecision {
                standing: self.with_declined_form(skill.id(), || skill.content(), standing),
                approval: of_older_server.and_then(|record| record.approval.clone()),
            }
        };
        skills.iter().map(of).collect()
    }

    /// Tells whether a skill of an older server may be passed on as it is known now, because the
    /// user approved it (`approval`) or the lock file allows it.
    ///
    /// The listing may only mention the skill. Then whatever is read of it still has to be compared
    /// with the approval.
    pub fn may_pass_on(&self, listed: &ListedSkill, approval: Option<&Approval>) -> bool {
        match &self.inner.lock {
            Some(lock) => self.locked(lock, listed).is_ok(),
            None => approval.is_some_and(|approval| listed.may_be_covered_by(approval)),
        }
    }

    /// Tells whether a skill that was passed on may still be, by the records as they are now.
    pub fn may_still_pass_on(&self, listed: &ListedSkill) -> bool {
        if listed.offer().is_none() {
            return self.approved(listed).is_ok();
        }
        let Ok(record) = self.inner.records.get(listed.id()) else { return false };
        let approval = record.as_ref().filter(|record| !record.disabled);
        self.may_pass_on(listed, approval.and_then(|record| record.approval.as_ref()))
    }

    /// Tells whether a skill with this standing may be loaded without asking the user.
    pub fn is_approved(&self, skill: &KnownSkill, standing: &Standing) -> bool {
        let of_server = skill.id().origin.server().is_some();
        match &self.inner.lock {
            _ if *standing == Standing::Disabled => false,
            Some(lock) if of_server => {
                entry_of(skill).is_some_and(|listed| self.locked(lock, listed).is_ok())
            }
            _ => matches!(standing, Standing::Approved(_)) && !skill.integrity().is_dynamic(),
        }
    }

    /// Withdraws an approval with all its grants; returns whether there was one.
    #[tracing::instrument(skip_all, fields(%skill))]
    pub fn revoke(&self, skill: &SkillId) -> Result<bool, Refusal> {
        let mut existed = false;
        let mut change = |record: &mut Record| {
            let next_load = record.next_load.take();
            existed = record.approval.take().is_some() || next_load.is_some();
            record.revocations = record.revocations.saturating_add(1);
        };
        self.inner.records.update(skill, &mut change).map_err(unusable)?;
        self.log_skill(skill, None, Action::Revoke, Ok(()), None);
        Ok(existed)
    }

    /// Switches a skill on or off; a skill that is off is neither shown to a model nor loaded.
    #[tracing::instrument(skip_all, fields(%skill, enabled))]
    pub fn set_enabled(&self, skill: &SkillId, enabled: bool) -> Result<(), Refusal> {
        let mut change = |record: &mut Record| record.disabled = !enabled;
        self.inner.records.update(skill, &mut change).map_err(unusable)?;
        let action = if enabled { Action::Enable } else { Action::Disable };
        self.log_skill(skill, None, action, Ok(()), None);
        Ok(())
    }

    /// Checks a skill of a server against the lock file: its content, or the keys that it trusts for
    /// decisions about skills that it does not list.
    fn locked(&self, lock: &LockFile, listed: &ListedSkill) -> Result<ApprovedSkill, Refusal> {
        let mismatch = match ApprovedSkill::by_lock(listed, lock) {
            Ok(approved) => return Ok(approved),
            Err(mismatch) => mismatch,
        };
        if mismatch == LockMismatch::NotLocked
            && let Some(approved) = self.approved_by_locked_key(listed)
        {
            return Ok(approved);
        }
        Err(Refusal::new(Reason::NotLocked)
            .about(listed.id())
            .remedy(Remedy::UpdateLock)
            .expected("content that the lock file lists")
            .actual(mismatch))
    }

    pub(super) fn check_dynamic(&self, listed: &ListedSkill) -> Result<(), Refusal> {
        match self.inner.policy.dynamic {
            DynamicPolicy::Ask => Ok(()),
            DynamicPolicy::Decline => Err(Refusal::new(Reason::DynamicDeclined)
                .about(listed.id())
                .expected("a manifest with digests")
                .actual("`\"dynamic\"`")
                .remedy(Remedy::AllowDynamic)),
        }
    }
}

/// Returns the entry of a skill, or the first one of a listing that contradicts itself.
fn entry_of(skill: &KnownSkill) -> Option<&ListedSkill> {
    match skill {
        KnownSkill::Listed(listed) => Some(listed),
        KnownSkill::Contradicted(skill) => entry_of(skill.first()),
        KnownSkill::Unread(_) => None,
    }
}
