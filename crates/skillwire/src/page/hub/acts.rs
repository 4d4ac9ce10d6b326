//! What a reader does: decisions, taking one back, and revoking tokens.

use skillwire_core::ContentId;
use skillwire_hub::{Caller, Refusal, Transition, Verdict, VersionRecord, VersionRef};
use skillwire_hub_store::{OfferDecision, StoreError, TransitionNote};
use skillwire_page::{
    Filled, PageProblem,
    model::{ActOutcome, AnswerKind, Decision, PageAct, RecordedDecision},
};

use super::{HubPage, problem, shown::ShownContent};
use crate::page::texts;

/// Why a decision is reopened that its reviewer took back.
const TAKEN_BACK: &str = "taken back by its reviewer";

impl HubPage {
    pub(super) async fn carry_out(&self, caller: &Caller, act: PageAct) -> Filled<ActOutcome> {
        let outcome = match act {
            PageAct::Decide(decision) => self.decide(caller, decision).await,
            PageAct::Undo(recorded) => self.take_back(caller, &recorded).await,
            PageAct::Own(name, about) if name == "revoke-token" => {
                self.revoke_token(caller, &about).await
            }
            _ => Err(PageProblem::NotFound),
        };
        // The reader and every client see what was done.
        self.readers().settle().await;
        outcome
    }

    async fn decide(&self, caller: &Caller, decision: Decision) -> Filled<ActOutcome> {
        // Of two answers at once, the second finds what the first one recorded.
        let _alone = self.0.deciding.lock().await;
        let shown = match self.shown(caller, &decision.key).await {
            Ok(shown) => shown,
            // What an upstream no longer offers is not kept unless it was decided about.
            Err(PageProblem::NotFound) => {
                let text = texts::OFFER_GONE;
                return Ok(ActOutcome::Gone(text.to_owned()));
            }
            Err(problem) => return Err(problem),
        };
        let (verdict, word) = match decision.answer {
            AnswerKind::Approve => (Verdict::Approve, "approved"),
            AnswerKind::Reject => (Verdict::Reject, "rejected"),
            AnswerKind::Always | AnswerKind::Once | AnswerKind::No => {
                return Err(PageProblem::NotFound);
            }
        };
        let seen: ContentId = decision.shown.parse().map_err(|_| PageProblem::NotFound)?;
        let name = shown.name();
        if seen != shown.content() || !shown.is_waiting(self) {
            let state = shown.state(self).word;
            return Ok(ActOutcome::Moved(texts::state_moved(&name, &state)));
        }
        let reason = decision.reason.unwrap_or_default();
        let open = self.open_findings(&shown).await;
        let recorded = match &shown {
            ShownContent::Version(record) => {
                let transition = match verdict {
                    Verdict::Approve => Transition::Approve,
                    Verdict::Reject => Transition::Reject,
                };
                let note =
                    TransitionNote::because(reason).with_seen(Some(seen)).with_open_findings(open);
                let version = version_ref(record);
                self.store().transition(caller, &version, transition, note).await.map(drop)
            }
            ShownContent::Offer(offer) => {
                let decision = OfferDecision::new(verdict, reason)
                    .with_seen(Some(seen))
                    .with_open_findings(open);
                self.store().decide_offer(caller, offer.id, decision).await.map(drop)
            }
        };
        match recorded {
            Ok(()) => {}
            Err(error) => return refusal(error),
        }
        let text = texts::recorded(&name, &shown.edition(), word);
        // Only a rejected version can be opened again; other decisions stand until the next one.
        match (&shown, decision.answer) {
            (ShownContent::Version(_), AnswerKind::Reject) => {
                let (key, answer) = (decision.key, decision.answer);
                let token = token_of(&key);
                Ok(ActOutcome::Decided(text, RecordedDecision { key, name, answer, token }))
            }
            _ => Ok(ActOutcome::Done(text)),
        }
    }

    /// The rules whose findings are open while a decision is taken.
    async fn open_findings(&self, shown: &ShownContent) -> Vec<String> {
        let evidence = self.evidence(shown, None).await;
        let mut rules: Vec<String> =
            evidence.view.findings.into_iter().map(|finding| finding.rule).collect();
        rules.dedup();
        rules.truncate(100);
        rules
    }

    async fn take_back(&self, caller: &Caller, recorded: &RecordedDecision) -> Filled<ActOutcome> {
        let shown = self.shown(caller, &recorded.key).await?;
        let ShownContent::Version(record) = &shown else { return Err(PageProblem::NotFound) };
        let note = TransitionNote::because(TAKEN_BACK).with_seen(Some(record.content));
        let version = version_ref(record);
        match self.store().transition(caller, &version, Transition::Reopen, note).await {
            Ok(_) => {
                let name = &recorded.name;
                Ok(ActOutcome::Done(texts::taken_back(name)))
            }
            Err(error) => refusal(error),
        }
    }

    async fn revoke_token(&self, caller: &Caller, id: &str) -> Filled<ActOutcome> {
        let id = id.parse().map_err(|_| PageProblem::NotFound)?;
        let token = self.store().revoke_token(caller, id).await.map_err(problem)?;
        Ok(ActOutcome::Done(texts::token_revoked(&token.name)))
    }
}

fn version_ref(record: &VersionRecord) -> VersionRef {
    VersionRef::new(record.skill.clone(), record.version.clone())
}

/// A number for a decision within a session; the key says what it is about.
fn token_of(key: &skillwire_page::model::SkillKey) -> u64 {
    let digest = skillwire_core::Digest::of(key.as_str().as_bytes());
    let bytes = digest.as_bytes();
    bytes.iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What a refused decision means for its reviewer.
fn refusal(error: StoreError) -> Filled<ActOutcome> {
    match error.refusal() {
        Some(moved @ (Refusal::ContentMoved { .. } | Refusal::IllegalTransition { .. })) => {
            Ok(ActOutcome::Moved(moved.to_string()))
        }
        Some(refused) if !refused.is_unknown() => Ok(ActOutcome::Refused(refused.to_string())),
        _ => Err(problem(error)),
    }
}
