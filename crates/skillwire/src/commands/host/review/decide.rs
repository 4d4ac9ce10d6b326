//! Records a decision that the user made on the screen.

use skillwire_terminal::review::{Decision, Message, SkillNumber};
use skillwire_trust::{
    Answer, DecisionChannel, Grants, ListedSkill, Reason, Refusal, requested_tools,
};

use super::{Done, HeldSkill, shown, worded};
use crate::session::Session;

/// Records the decision, if the skill is still what the screen showed.
pub(super) async fn decide(
    session: &Session,
    number: SkillNumber,
    held: HeldSkill,
    decision: Decision,
) -> Vec<Done> {
    match try_to(session, &held, decision).await {
        Ok(Outcome::Recorded(words)) => vec![Done::Tell(Message::Decided(number, words))],
        Ok(Outcome::Moved(now)) => {
            let mut held = held.with_entry(*now);
            let view = shown::skill(session, number, &mut held);
            vec![Done::Held(number, Box::new(held)), Done::Tell(Message::Moved(Box::new(view)))]
        }
        Err(refusal) => vec![Done::Tell(Message::NotDecided(number, worded(&refusal)))],
    }
}

enum Outcome {
    /// The decision counts, in these words.
    Recorded(String),
    /// The server now lists something else, or another decision was made meanwhile.
    Moved(Box<ListedSkill>),
}

async fn try_to(
    session: &Session,
    held: &HeldSkill,
    decision: Decision,
) -> Result<Outcome, Refusal> {
    let host = session.host();
    let (Some(listed), Some(review)) = (&held.listed, &held.review) else {
        return Err(Refusal::new(Reason::NotApproved)
            .about(held.known.id())
            .actual("a skill that was not read yet"));
    };
    let grants = match decision {
        Decision::Always { tools: true } => {
            let tools = requested_tools(&listed.entry().frontmatter).into_iter().collect();
            Grants { tools, ..Grants::load_only() }
        }
        Decision::Always { tools: false } | Decision::Once | Decision::No => Grants::load_only(),
    };
    // The card that the screen showed, with the grants that the question named.
    let was_shown = review.clone().proposing(grants.clone()).show().digest();
    let now = host.refresh(&held.known).await?;
    let review = host.review(&now)?.proposing(grants.clone());
    let Ok(shown) = review.resume(was_shown) else { return Ok(Outcome::Moved(Box::new(now))) };
    let channel = DecisionChannel::Terminal;
    let handle = &held.handle;
    let (answered, words) = match decision {
        Decision::Once => {
            let words = format!("The next load of {handle} is allowed.");
            (shown.answer_for_next_load(grants, channel), words)
        }
        Decision::Always { .. } => {
            let words = format!("Approved {handle}: {}", grants.sentence());
            (shown.answer(Answer::Yes(grants), channel), words)
        }
        Decision::No => {
            let words = format!("Declined {handle}.");
            (shown.answer(Answer::No, channel), words)
        }
    };
    match host.record_review(answered) {
        Ok(_) => Ok(Outcome::Recorded(words)),
        Err(refusal) if refusal.reason == Reason::UserDeclined && decision == Decision::No => {
            Ok(Outcome::Recorded(words))
        }
        Err(refusal) => Err(refusal),
    }
}
