//! Asks the user, through their client, whether a skill may be loaded.

use serde_json::Value;
use skillwire_engine::offer::{Client, Elicited};
use skillwire_trust::{
    Answer, ApprovedSkill, DecisionChannel, Grants, KnownSkill, Reason, Refusal,
};

use super::{Bridge, approval_form::AGREE, stop::CallError};

/// The key of the question in a request that carries its answer.
const KEY: &str = "approve";

impl Bridge {
    /// Returns the approval that a skill has, or asks the user for one.
    ///
    /// With clients of the modern era this runs twice: once until the question is shown, which
    /// interrupts the call, and again when the client repeats the call with the answer. The second
    /// run makes the same form, unless the skill has changed in between. An answer counts only for
    /// the form it was given to, so the user is then asked about the new content.
    pub(crate) async fn approved_or_ask(
        &self,
        client: &Client,
        skill: &KnownSkill,
    ) -> Result<ApprovedSkill, CallError> {
        // No listing of an older server says whether a file changed, so its `SKILL.md` is read first.
        if skill.offer().is_none() {
            let listed = skill.certain()?;
            self.host().read_signature(listed).await;
            match self.host().approved(listed) {
                Ok(approved) => return Ok(approved),
                // The server may have another content by now, which is signed.
                Err(refusal) if refusal.reason == Reason::SignatureRequired => {}
                Err(refusal) if refusal.reason.is_undecided() => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        // The view may be out of date. The server is asked for the entry before the call is refused,
        // and before the user is shown content that the server may no longer have.
        let now = match self.entry_now(skill).await {
            Ok(now) => now,
            // What the user approved may be used while its server is away.
            Err(refusal) if refusal.reason.is_server_away() => {
                self.note_trouble(skill.id(), &refusal);
                let cached = self.host().cached_approval(skill.id()).ok_or(refusal)?;
                return Ok(self.host().approved(&cached)?);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let undecided = match approved_or_undecided(self.host().approved_unasked(&now).await)? {
            Ok(approved) => return Ok(approved),
            Err(undecided) => undecided,
        };
        if !self.options().asks_user || !client.can_ask() {
            return Err(undecided.into());
        }
        let review = self.host().review_before_load(&now, undecided)?;
        let form = self.approval_form(&now, review.card()).await;
        // A client can send an accepted answer again. It must not undo a revocation.
        let form = form.on_occasion(self.host().revocations(now.id())?.to_string());
        if !client.has_answer(KEY, &form) {
            self.host().count_form(now.id())?;
        }
        let answer = match client.ask(KEY, &form).await? {
            Elicited::Accepted(content) if content.get(AGREE) == Some(&Value::Bool(true)) => {
                Answer::Yes(Grants::load_only())
            }
            // Several clients preselect No, and one key sends the form. That is no decision, so the
            // next load asks again.
            Elicited::Accepted(_) => Answer::Unavailable,
            Elicited::Declined => Answer::No,
            Elicited::Dismissed | Elicited::Unavailable => {
                self.host().uncount_form(now.id());
                Answer::Unavailable
            }
        };
        let is_decided = answer != Answer::Unavailable;
        let answered = review.show().answer(answer, DecisionChannel::Form);
        let recorded = self.host().record_review(answered);
        if is_decided {
            self.look_again();
        }
        Ok(recorded?)
    }
}

/// Tells apart a refusal that the user's decision can change from any other.
fn approved_or_undecided(
    approved: Result<ApprovedSkill, Refusal>,
) -> Result<Result<ApprovedSkill, Refusal>, Refusal> {
    match approved {
        Err(refusal) if !refusal.reason.is_undecided() => Err(refusal),
        approved_or_undecided => Ok(approved_or_undecided),
    }
}
