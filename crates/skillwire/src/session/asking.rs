//! Asks the user at the terminal whether a skill may be loaded.

use std::io::{self, Write as _};

use skillwire_core::SKILL_FILE;
use skillwire_trust::{Answer, ApprovedSkill, DecisionChannel, Grants};

use super::{NamedSkill, Session, card, preview, scanned};
use crate::{
    failure::Failure,
    prose,
    refusals::RefusalText,
    terminal::{self, Choice, ChosenAnswer},
};

impl Session {
    /// Returns the approval of a skill that the user wants to load. A user at a terminal who has
    /// not decided about it is shown the skill and asked.
    pub(crate) async fn approved_or_ask(
        &self,
        named: &NamedSkill,
    ) -> Result<ApprovedSkill, Failure> {
        let host = self.host();
        let listed = &named.listed;
        let undecided = match host.approved_unasked(listed).await {
            Ok(approved) => return Ok(approved),
            Err(refusal) if refusal.reason.is_undecided() && terminal::is_interactive() => refusal,
            // Without a user to ask, the host refuses and logs it.
            Err(_) => return Ok(host.approved_or_ask(listed).await?),
        };
        let review = host.review_before_load(listed, undecided)?;
        let shown = review.asked_before(host.count_question(listed.id())?).show();
        let card = shown.card();
        let can_last = card.content.is_some();
        {
            let mut err = prose::stderr();
            card::write(&mut err, &named.handle, card)?;
            if let Some(changes) = &card.changes {
                card::changes(&mut err, &card.skill.uri, changes)?;
            }
            scanned::write(&mut err, self, &named.handle, card)?;
            if card.asked_before > 0 {
                let times = card.asked_before;
                writeln!(err, "You were asked about this skill {times} times before.")?;
            }
        }
        let question = format!("Load it from {}?", card::origin(&card.skill.origin));
        let choices: &[Choice] = if can_last {
            &[Choice::Once, Choice::Always, Choice::No, Choice::View]
        } else {
            &[Choice::Once, Choice::No, Choice::View]
        };
        let answer = match self.choose(named, &question, choices).await? {
            Some(Choice::Once) => Answer::Once(Grants::load_only()),
            Some(Choice::Always) => Answer::Yes(Grants::load_only()),
            Some(Choice::No) => Answer::No,
            _ => Answer::Unavailable,
        };
        Ok(host.record_review(shown.answer(answer, DecisionChannel::Terminal))?)
    }

    /// Asks about a skill until the user has chosen something else than to view it. `None` if the
    /// user decides nothing.
    pub(crate) async fn choose(
        &self,
        named: &NamedSkill,
        question: &str,
        choices: &[Choice],
    ) -> io::Result<Option<Choice>> {
        loop {
            match terminal::choose(question, choices) {
                Some(ChosenAnswer { choice: Choice::View, rest }) => {
                    let file = if rest.is_empty() { SKILL_FILE } else { &rest };
                    self.view(named, file, terminal::page).await?;
                }
                chosen => return Ok(chosen.map(|chosen| chosen.choice)),
            }
        }
    }

    /// Writes a file of a skill to standard error with `show`. A file that cannot be read is
    /// reported and nothing more: the user may still decide.
    pub(crate) async fn view(
        &self,
        named: &NamedSkill,
        file: &str,
        show: impl FnOnce(&str) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.inspect(named, file).await {
            Ok(inspected) => {
                preview::notes(&mut prose::stderr(), &inspected)?;
                let text = match terminal::width_of_questions() {
                    Some(width) => preview::rendered(&inspected, width),
                    None => preview::text(&inspected),
                };
                text.map_or(Ok(()), |text| show(&text))
            }
            Err(refusal) => writeln!(prose::stderr(), "{}", RefusalText(&refusal)),
        }
    }
}
