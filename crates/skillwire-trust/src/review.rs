//! One decision of the user about one skill, from the first look to the record.
//!
//! A review goes through four states, and each is a type that only the one before leads to:
//!
//! | state | type |
//! |---|---|
//! | the user needs a look | [`ApprovalReview`] |
//! | the question was shown | [`ShownReview`], with the digest of what was shown |
//! | the user answered | [`AnsweredReview`] |
//! | the answer is recorded | [`ApprovedSkill`], or the [`Refusal`] for the caller that wanted the skill |
//!
//! The question and the answer may be far apart: a client sends the answer with another request,
//! and a page with another connection. Then the caller begins the review again and
//! [resumes](ApprovalReview::resume) it with the digest of what was shown. It does not resume if
//! the skill, or what the user approved before, has changed meanwhile, so that users never approve
//! something they have not seen.

use std::time::SystemTime;

use skillwire_core::Digest;

use crate::{
    approval_card::{ApprovalCard, CardDigest},
    approved::{ApprovedBy, ApprovedSkill},
    decision_channel::DecisionChannel,
    grants::Grants,
    listed::ListedSkill,
    prompt::Answer,
    record::{Approval, NextLoad, Record},
    refusal::{Reason, Refusal},
    signature::{SignatureCheck, Voucher},
    standing::Standing,
};

/// A skill that the user has to review.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalReview {
    listed: ListedSkill,
    card: Box<ApprovalCard>,
    /// The refusal for the caller that wants the skill, while the user has not decided.
    undecided: Refusal,
}

/// A question that was shown to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownReview {
    review: ApprovalReview,
    digest: CardDigest,
}

/// A question that the user answered; the answer is not recorded yet.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredReview {
    listed: ListedSkill,
    answer: Answer,
    channel: DecisionChannel,
    /// The trusted signer that the card named, or that decided.
    voucher: Option<Voucher>,
    /// Whether an answer for one load is for a load that comes later.
    is_for_later: bool,
    undecided: Refusal,
    /// Why the user answered so, in their words.
    reason: Option<String>,
}

impl ApprovalReview {
    /// Begins a review that the user asked for, regardless of the skill's standing.
    pub fn of(listed: &ListedSkill, standing: &Standing) -> Self {
        let undecided = Refusal::new(Reason::NotApproved).about(listed.id());
        Self {
            listed: listed.clone(),
            card: Box::new(ApprovalCard::new(listed, standing)),
            undecided,
        }
    }

    /// Begins a review because a caller wants to load a skill that the user has not approved as it
    /// is; `undecided` says why. A user who declined exactly this content is not asked again.
    pub fn before_load(
        listed: &ListedSkill,
        standing: &Standing,
        undecided: Refusal,
    ) -> Result<Self, Refusal> {
        if *standing == Standing::Declined {
            return Err(Refusal { reason: Reason::UserDeclined, ..undecided });
        }
        Ok(Self { undecided, ..Self::of(listed, standing) })
    }

    /// Returns the card to show to the user.
    pub fn card(&self) -> &ApprovalCard {
        &self.card
    }

    /// Sets how often the user was asked about the skill before.
    #[must_use]
    pub fn asked_before(mut self, times: usize) -> Self {
        self.card.asked_before = times;
        self
    }

    /// Puts on the card what is known about the signature.
    #[must_use]
    pub fn with_signature(mut self, signature: SignatureCheck) -> Self {
        self.card.signature = signature;
        self
    }

    /// Puts on the card what the user would grant besides loading.
    #[must_use]
    pub fn proposing(mut self, grants: Grants) -> Self {
        self.card.proposed = requested(grants, &self.card);
        self
    }

    /// Records that the user was shown the card.
    pub fn show(self) -> ShownReview {
        let digest = self.card.digest();
        ShownReview { review: self, digest }
    }

    /// Continues with a question that was shown earlier; returns the review if the user would now
    /// be shown something else.
    pub fn resume(self, shown: CardDigest) -> Result<ShownReview, Box<Self>> {
        let now = self.show();
        if now.digest == shown { Ok(now) } else { Err(Box::new(now.review)) }
    }
}

impl ShownReview {
    /// Returns the card that the user was shown.
    pub fn card(&self) -> &ApprovalCard {
        &self.review.card
    }

    /// Returns the digest of what the user was shown.
    pub fn digest(&self) -> CardDigest {
        self.digest
    }

    /// Takes the answer and how it came. Granted tools are limited to those that the skill asks
    /// for.
    pub fn answer(self, answer: Answer, channel: DecisionChannel) -> AnsweredReview {
        let ApprovalReview { listed, card, undecided } = self.review;
        let answer = match answer {
            Answer::Yes(grants) => Answer::Yes(requested(grants, &card)),
            Answer::Once(grants) => Answer::Once(requested(grants, &card)),
            other => other,
        };
        let voucher = card.signature.vouchers().first().cloned();
        let is_for_later = false;
        let reason = None;
        AnsweredReview { listed, answer, channel, voucher, is_for_later, undecided, reason }
    }

    /// Takes the answer that the next load is allowed, whenever that is, and none after it.
    pub fn answer_for_next_load(self, grants: Grants, channel: DecisionChannel) -> AnsweredReview {
        AnsweredReview { is_for_later: true, ..self.answer(Answer::Once(grants), channel) }
    }

    /// Takes the word of a trusted signer instead of an answer of the user: the skill may be loaded,
    /// and gets nothing else.
    pub fn decided_by(self, voucher: Voucher, channel: DecisionChannel) -> AnsweredReview {
        let answered = self.answer(Answer::Yes(Grants::load_only()), channel);
        AnsweredReview { voucher: Some(voucher), ..answered }
    }
}

/// Limits granted tools to those that the skill asks for.
fn requested(grants: Grants, card: &ApprovalCard) -> Grants {
    let mut tools = grants.tools;
    tools.retain(|tool| card.requested_tools.contains(tool));
    Grants { tools, ..grants }
}

/// The consequence of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ReviewOutcome {
    /// The skill is approved as it is listed, until it changes.
    Approved(ApprovedSkill, Box<Approval>),
    /// The approval is good for one load and is not recorded: the user wants it so, or the skill
    /// has no digests that an approval could be bound to.
    ApprovedOnce(ApprovedSkill),
    /// The next load is approved, and none after it.
    ApprovedNextLoad(ApprovedSkill, Box<NextLoad>),
    /// The user declined this content.
    Declined(Option<Digest>),
    /// A form was declined. That holds until the process ends and is not recorded: many clients
    /// decline forms by themselves, or with a single stray key.
    DeclinedForNow(Option<Digest>),
    /// The user did not decide.
    Undecided(Refusal),
}

impl AnsweredReview {
    /// Returns the skill.
    pub fn listed(&self) -> &ListedSkill {
        &self.listed
    }

    /// Returns how the answer came.
    pub fn channel(&self) -> DecisionChannel {
        self.channel
    }

    /// Returns the trusted signer that vouches for the content, if one does.
    pub fn voucher(&self) -> Option<&Voucher> {
        self.voucher.as_ref()
    }

    /// Adds why the user answered so, in their words.
    #[must_use]
    pub fn because(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    /// Returns why the user answered so, in their words.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Tells whether the user agreed.
    pub fn is_yes(&self) -> bool {
        matches!(self.answer, Answer::Yes(_) | Answer::Once(_))
    }

    /// Returns the consequence of the answer, given at this time.
    pub fn outcome(self, at: SystemTime) -> ReviewOutcome {
        let Self { listed, answer, channel, voucher, is_for_later, undecided, reason: _ } = self;
        let content = listed.content();
        match answer {
            Answer::Yes(grants) => match (content, listed.binding()) {
                (Some(content), Some(binding)) => {
                    let approval = Approval {
                        content,
                        grants: grants.clone(),
                        at,
                        channel: Some(channel),
                        revoked: false,
                        binding,
                        voucher,
                    };
                    let by =
                        if channel.is_signed() { ApprovedBy::Signer } else { ApprovedBy::User };
                    let approved = ApprovedSkill::new(listed, grants, by);
                    ReviewOutcome::Approved(approved, Box::new(approval))
                }
                _ => ReviewOutcome::ApprovedOnce(ApprovedSkill::new(
                    listed,
                    grants,
                    ApprovedBy::Once,
                )),
            },
            Answer::Once(grants) => {
                let next = content.filter(|_| is_for_later).map(|content| NextLoad {
                    content: content.fingerprint(),
                    grants: grants.clone(),
                    at,
                });
                let approved = ApprovedSkill::new(listed, grants, ApprovedBy::Once);
                match next {
                    Some(next) => ReviewOutcome::ApprovedNextLoad(approved, Box::new(next)),
                    None => ReviewOutcome::ApprovedOnce(approved),
                }
            }
            Answer::No => {
                let declined = content.map(|content| content.fingerprint());
                match channel {
                    DecisionChannel::Form => ReviewOutcome::DeclinedForNow(declined),
                    DecisionChannel::Terminal
                    | DecisionChannel::Page
                    | DecisionChannel::Unattended
                    | DecisionChannel::Signature
                    | DecisionChannel::Decision => ReviewOutcome::Declined(declined),
                }
            }
            Answer::Unavailable => ReviewOutcome::Undecided(undecided),
        }
    }
}

impl ReviewOutcome {
    /// Tells whether the outcome changes the record.
    pub fn is_remembered(&self) -> bool {
        matches!(self, Self::Approved(..) | Self::ApprovedNextLoad(..) | Self::Declined(_))
    }

    /// Writes the outcome into the record of the skill.
    pub fn record(&self, record: &mut Record) {
        match self {
            Self::Approved(_, approval) => {
                record.approval = Some((**approval).clone());
                record.declined = None;
                record.disabled = false;
                record.next_load = None;
                record.asked.clear();
            }
            Self::ApprovedNextLoad(_, next) => {
                record.next_load = Some((**next).clone());
                record.declined = None;
                record.disabled = false;
            }
            Self::Declined(content) => {
                record.declined = *content;
                record.next_load = None;
            }
            Self::ApprovedOnce(_) | Self::DeclinedForNow(_) | Self::Undecided(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillwire_core::received::{self, EntryLimits};

    use super::*;
    use crate::{listed::EntrySource, origin::SkillId, run_grants::RunGrants, testing::id};

    fn skill() -> SkillId {
        id("acme", "skill://acme/refunds/SKILL.md")
    }

    /// The skill as its server lists it with a `SKILL.md` of these bytes.
    fn listed(text: &str) -> ListedSkill {
        let uri = &skill().uri;
        let fields = json!({
            "name": "refunds", "description": "Does it.", "allowed-tools": "Read Write",
        });
        let file = json!({"uri": uri, "digest": Digest::of(text.as_bytes()), "size": text.len()});
        let entry = json!({"uri": uri, "frontmatter": fields, "resources": [file]});
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        ListedSkill::new(skill().origin, entry.into(), EntrySource::Named)
    }

    fn undecided() -> Refusal {
        Refusal::new(Reason::NotApproved).about(skill())
    }

    /// Returns the record after an answer.
    fn remembered(record: Option<Record>, outcome: &ReviewOutcome) -> Record {
        let mut record = record.unwrap_or_else(|| Record::new(skill()));
        outcome.record(&mut record);
        record
    }

    fn answered(text: &str, answer: Answer) -> ReviewOutcome {
        let review = ApprovalReview::of(&listed(text), &Standing::New);
        let answered = review.show().answer(answer, DecisionChannel::Terminal);
        answered.outcome(SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn review_resumes_only_while_the_same_would_be_shown() {
        let review = |text: &str, record: Option<&Record>| {
            let listed = listed(text);
            ApprovalReview::of(&listed, &Standing::of(&listed, record))
        };
        let shown = review("one", None).show().digest();
        assert_eq!(shown.to_string().parse(), Ok(shown), "a digest can be sent and read");
        let resumed = review("one", None).asked_before(3).resume(shown);
        assert_eq!(resumed.map(|resumed| resumed.digest()), Ok(shown));
        let other = review("two", None);
        assert_eq!(other.clone().resume(shown), Err(Box::new(other)), "other content is shown");

        // The previously approved content is part of what is shown.
        let changed = |before: &str| {
            let record = remembered(None, &answered(before, Answer::Yes(Grants::load_only())));
            review("two", Some(&record))
        };
        assert_ne!(changed("one").card().changes, None);
        assert!(changed("zero").resume(changed("one").show().digest()).is_err());
        assert!(changed("one").resume(changed("one").show().digest()).is_ok());
    }

    #[test]
    fn only_tools_that_the_skill_asks_for_are_granted() {
        let tools = ["Read", "Bash"].map(str::to_owned).into();
        let answer = Answer::Yes(Grants { tools, execute: true, ..Grants::load_only() });
        let ReviewOutcome::Approved(approved, approval) = answered("one", answer) else {
            panic!("the user agreed");
        };
        let tools = ["Read".to_owned()].into();
        let granted = Grants { tools, execute: true, ..Grants::load_only() };
        assert_eq!((approved.grants(), &approval.grants), (&granted, &granted));
    }

    #[test]
    fn an_answer_to_a_card_does_not_count_for_a_card_with_wider_grants() {
        let run = |hosts: &[&str]| {
            let grants = RunGrants {
                network: hosts.iter().map(|host| host.parse().unwrap()).collect(),
                ..RunGrants::default()
            };
            let review = ApprovalReview::of(&listed("one"), &Standing::New);
            review.proposing(Grants::load_only().with_scripts(grants))
        };
        let narrow = run(&["a.example.com:443"]);
        assert_eq!(narrow.card().proposed.run.lines()[0], "network: a.example.com:443");
        let shown = narrow.clone().show().digest();
        assert!(narrow.resume(shown).is_ok());
        assert!(run(&["a.example.com:443", "b.example.com:443"]).resume(shown).is_err());
        assert!(ApprovalReview::of(&listed("one"), &Standing::New).resume(shown).is_err());
    }

    #[test]
    fn user_who_declined_this_content_is_asked_about_another_one_only() {
        let record = remembered(None, &answered("one", Answer::No));
        let review = |text: &str| {
            let listed = listed(text);
            let standing = Standing::of(&listed, Some(&record));
            ApprovalReview::before_load(&listed, &standing, undecided())
        };
        assert_eq!(review("one").map_err(|refusal| refusal.reason), Err(Reason::UserDeclined));
        assert!(review("two").is_ok());
        // The user may review the skill again on their own initiative.
        let listed = listed("one");
        let review = ApprovalReview::of(&listed, &Standing::of(&listed, Some(&record)));
        let outcome =
            review.show().answer(Answer::Yes(Grants::load_only()), DecisionChannel::Terminal);
        let record = remembered(Some(record), &outcome.outcome(SystemTime::UNIX_EPOCH));
        assert_eq!(Standing::of(&listed, Some(&record)).word(), "approved");
    }

    #[test]
    fn declining_a_form_is_not_recorded_and_a_no_at_a_terminal_is_cl_01() {
        let outcome = |channel| {
            let review = ApprovalReview::of(&listed("one"), &Standing::New);
            review.show().answer(Answer::No, channel).outcome(SystemTime::UNIX_EPOCH)
        };
        let in_form = outcome(DecisionChannel::Form);
        assert!(!in_form.is_remembered());
        assert_eq!(remembered(None, &in_form), Record::new(skill()));
        let at_terminal = outcome(DecisionChannel::Terminal);
        assert!(at_terminal.is_remembered());
        assert_ne!(remembered(None, &at_terminal).declined, None);
    }

    #[test]
    fn question_without_an_answer_leaves_everything_as_it_was() {
        let listed = listed("one");
        let review = ApprovalReview::before_load(&listed, &Standing::New, undecided()).unwrap();
        let answered = review.show().answer(Answer::Unavailable, DecisionChannel::Terminal);
        let outcome = answered.outcome(SystemTime::UNIX_EPOCH);
        assert!(!outcome.is_remembered());
        assert_eq!(outcome, ReviewOutcome::Undecided(undecided()));
        assert_eq!(remembered(None, &outcome), Record::new(skill()));
    }

    #[test]
    fn approval_for_one_load_leaves_no_record_fu_05() {
        let outcome = answered("one", Answer::Once(Grants::load_only()));
        let ReviewOutcome::ApprovedOnce(approved) = &outcome else { panic!("{outcome:?}") };
        assert_eq!(approved.by(), ApprovedBy::Once);
        assert!(!outcome.is_remembered());
        assert_eq!(remembered(None, &outcome), Record::new(skill()));
    }

    #[test]
    fn approval_of_the_next_load_is_good_for_that_content_and_one_load() {
        let shown = ApprovalReview::of(&listed("one"), &Standing::New).show();
        let once = shown.answer_for_next_load(Grants::load_only(), DecisionChannel::Terminal);
        let outcome = once.outcome(SystemTime::UNIX_EPOCH);
        assert!(outcome.is_remembered());
        let mut record = remembered(None, &outcome);
        assert_eq!(
            Standing::of(&listed("one"), Some(&record)),
            Standing::New,
            "it is not approved"
        );
        assert_eq!(ApprovedSkill::by_record(&listed("one"), Some(&record)), None);
        assert_eq!(ApprovedSkill::by_next_load(&listed("two"), &mut record), None);
        let disabled = &mut Record { disabled: true, ..record.clone() };
        assert_eq!(ApprovedSkill::by_next_load(&listed("one"), disabled), None);
        let declined = &mut remembered(Some(record.clone()), &answered("one", Answer::No));
        assert_eq!(ApprovedSkill::by_next_load(&listed("one"), declined), None);
        let approved = ApprovedSkill::by_next_load(&listed("one"), &mut record).unwrap();
        assert_eq!(approved.by(), ApprovedBy::Once);
        assert_eq!(ApprovedSkill::by_next_load(&listed("one"), &mut record), None);
    }

    #[test]
    fn content_without_digests_is_approved_once_and_not_remembered() {
        let entry = json!({
            "uri": skill().uri,
            "frontmatter": {"name": "refunds", "description": "Does it."},
            "resources": "dynamic",
        });
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        let listed = ListedSkill::new(skill().origin, entry.into(), EntrySource::Named);
        let review = ApprovalReview::of(&listed, &Standing::New);
        assert_eq!(review.card().content, None);
        let outcome =
            review.show().answer(Answer::Yes(Grants::load_only()), DecisionChannel::Terminal);
        let outcome = outcome.outcome(SystemTime::UNIX_EPOCH);
        let ReviewOutcome::ApprovedOnce(approved) = &outcome else { panic!("{outcome:?}") };
        assert_eq!(approved.by(), ApprovedBy::Once);
        assert!(!outcome.is_remembered());
    }

    #[test]
    fn a_card_without_rules_about_signers_keeps_its_digest_and_with_them_has_another() {
        let listed = listed("one");
        let review = ApprovalReview::of(&listed, &Standing::New);
        let plain = review.card().digest();
        let signed = |check| review.clone().with_signature(check).card().digest();
        assert_eq!(signed(SignatureCheck::NotAsked), plain);
        let voucher = |signer: &str| {
            let trusted = Digest::of(b"key");
            Voucher { name: "acme".into(), signer: signer.into(), trusted, until: None }
        };
        let one = signed(SignatureCheck::Vouched(vec![voucher("one")]));
        let two = signed(SignatureCheck::Vouched(vec![voucher("two")]));
        let none = signed(SignatureCheck::Unsigned);
        assert!(plain != one && one != two && none != one && none != plain);
    }

    #[test]
    fn a_signer_approves_loading_alone_and_is_recorded() {
        let listed = listed("one");
        let shown = ApprovalReview::of(&listed, &Standing::New).show();
        let trusted = Digest::of(b"key");
        let voucher = Voucher { name: "acme".into(), signer: "key 1".into(), trusted, until: None };
        let outcome = shown
            .decided_by(voucher.clone(), DecisionChannel::Signature)
            .outcome(SystemTime::UNIX_EPOCH);
        let ReviewOutcome::Approved(approved, approval) = outcome else { panic!("{outcome:?}") };
        assert_eq!((approved.by(), approved.grants()), (ApprovedBy::Signer, &Grants::load_only()));
        assert_eq!(approval.channel, Some(DecisionChannel::Signature));
        assert_eq!(approval.voucher, Some(voucher));
    }
}
