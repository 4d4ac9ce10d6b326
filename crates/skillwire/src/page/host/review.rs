//! Deciding about a skill, and the other acts of the page.

use futures_util::{StreamExt as _, stream};
use skillwire_core::{Digest, Resources, SKILL_FILE};
use skillwire_page::{
    Filled, PageProblem,
    model::{
        ActOutcome, AnswerKind, Decision, DiffView, PageAct, RecordedDecision, ReviewView, SkillKey,
    },
};
use skillwire_trust::{
    Answer, ApprovalCard, ApprovalReview, CardDigest, DecisionChannel, Grants, KnownSkill,
    ListedSkill, Reason, Record, RecordStore as _, Refusal, ServerLabel, SkillId,
};

use super::{
    HostPage, id_of, key_of, lock, refused, sentence,
    skill::plain_path,
    tables::{FORBID_UNATTENDED, plain},
};
use crate::{page::texts, settings::address};

/// Stands between the two parts that identify what a reader is shown.
const SHOWN_WITH: char = '.';

/// The most bytes that one act reads from a server.
const MAX_READ_BYTES: u64 = 64 << 20;

/// How many files are read at once.
const READS_AT_ONCE: usize = 8;

impl HostPage {
    pub(super) async fn review_view(&self, key: &SkillKey) -> Filled<ReviewView> {
        let listed = self.listed(key)?;
        let review = self.host.review(&listed).map_err(|refusal| refused(&refusal))?;
        let standing = self.host.standing(&listed).map_err(|refusal| refused(&refusal))?;
        let evidence = self.evidence(&listed, &standing).await;
        let diff = self.diff_of(&listed, &standing, &evidence, None);
        // All findings follow, with the new ones marked.
        let diff = diff.map(|diff| DiffView { findings: Vec::new(), ..diff });
        let card = review.card();
        let known = self.known();
        let mut others = known.waiting_skills().map(|(item, _)| item.skill.id());
        // The next one after this, or the first if this is the last.
        let first = known.waiting_skills().map(|(item, _)| item.skill.id()).next();
        let next = match others.find(|id| *id == listed.id()) {
            Some(_) => others.next(),
            None => first,
        };
        let next = next.or(first).filter(|id| *id != listed.id()).map(key_of);
        let can_last = card.content.is_some();
        let answers = if can_last {
            vec![AnswerKind::Always, AnswerKind::Once, AnswerKind::No]
        } else {
            vec![AnswerKind::No]
        };
        let asked = self.settings.records().get(listed.id());
        Ok(ReviewView {
            shown: self.shown(listed.id(), &review),
            answers,
            can_grant: true,
            can_run: can_last && cfg!(feature = "execute"),
            cautions: cautions(card, can_last),
            asked_before: asked.ok().flatten().map_or(0, |record| record.asked.len()),
            next,
            waiting: known.waiting(),
            skill: self.listed_view(&listed, &standing, evidence),
            diff,
        })
    }

    /// Identifies what a reader is shown: the content, and what is recorded about the skill.
    pub(super) fn shown(&self, skill: &SkillId, review: &ApprovalReview) -> String {
        let recorded = self.recorded(skill);
        format!("{}{SHOWN_WITH}{recorded}", review.card().digest())
    }

    /// Identifies what is decided about a skill. A question that a client asked meanwhile is no decision.
    fn recorded(&self, skill: &SkillId) -> Digest {
        let record = self.settings.records().get(skill).ok().flatten();
        let decided = record.map(|record| Record { asked: Vec::new(), ..record });
        // A record without any decision is as none.
        let decided = decided.filter(|record| *record != Record::new(skill.clone()));
        Digest::of(format!("{decided:?}").as_bytes())
    }

    pub(super) async fn carry_out(&self, act: PageAct) -> Filled<ActOutcome> {
        match act {
            PageAct::Decide(decision) => self.decide(decision).await,
            PageAct::Undo(recorded) => self.take_back(&recorded).await,
            PageAct::Read(key, path) => self.read(&key, path.as_deref()).await,
            PageAct::Refresh(key) => {
                let skill = self.find(&key)?;
                Ok(match self.host.refresh(&skill).await {
                    Ok(now) if now.entry() == skill.entry() => {
                        self.look_again().await;
                        ActOutcome::Done(texts::SAME_CONTENT.to_owned())
                    }
                    Ok(_) => {
                        self.look_again().await;
                        ActOutcome::Done(texts::OTHER_CONTENT.to_owned())
                    }
                    Err(refusal) => ActOutcome::Refused(sentence(&refusal)),
                })
            }
            PageAct::Revoke(key) => self.revoke(&key).await,
            PageAct::SetEnabled(key, enabled) => self.set_enabled(&key, enabled).await,
            PageAct::Own(name, about) => self.own_act(&name, &about).await,
        }
    }

    /// Records a decision, unless the skill is not what the user was shown.
    async fn decide(&self, decision: Decision) -> Filled<ActOutcome> {
        let Ok(skill) = self.find(&decision.key) else {
            let text = texts::NO_LONGER_LISTED.to_owned();
            return Ok(ActOutcome::Gone(text));
        };
        let (card, recorded) =
            decision.shown.split_once(SHOWN_WITH).ok_or(PageProblem::NotFound)?;
        let shown: CardDigest = card.parse().map_err(|_| PageProblem::NotFound)?;
        let name = skill.name().to_string();
        let now = match self.as_it_is_now(&skill, decision.answer).await {
            Ok(now) => now,
            Err(refusal) => return Ok(ActOutcome::Refused(sentence(&refusal))),
        };
        let review = self.host.review(&now).map_err(|refusal| refused(&refusal))?;
        // Of two answers at once, the second finds what the first one recorded.
        let _alone = self.deciding.lock().await;
        if review.card().digest() == shown && self.recorded(skill.id()).to_string() != recorded {
            self.look_at_records().await;
            let text = texts::decided_meanwhile(&name);
            return Ok(ActOutcome::Moved(text));
        }
        let Ok(review) = review.resume(shown) else {
            self.look_again().await;
            let text = texts::changed_meanwhile(&name);
            return Ok(ActOutcome::Moved(text));
        };
        let grants = Grants {
            tools: decision.tools.into_iter().collect(),
            execute: decision.run,
            ..Grants::load_only()
        };
        let answered = match decision.answer {
            AnswerKind::Always => review.answer(Answer::Yes(grants), DecisionChannel::Page),
            AnswerKind::Once => review.answer_for_next_load(grants, DecisionChannel::Page),
            AnswerKind::No => review.answer(Answer::No, DecisionChannel::Page),
            AnswerKind::Approve | AnswerKind::Reject => return Err(PageProblem::NotFound),
        };
        let answered = answered.because(decision.reason);
        let (recorded, undoable) = self.host.record_undoable(answered);
        let text = match recorded {
            Ok(approved) => match decision.answer {
                AnswerKind::Once => texts::allowed_once(&name),
                _ => texts::approved(&name, &approved.grants().sentence()),
            },
            Err(refusal) if refusal.reason == Reason::UserDeclined => texts::declined(&name),
            Err(refusal) => return Ok(ActOutcome::Refused(sentence(&refusal))),
        };
        self.look_at_records().await;
        let Some(undoable) = undoable else { return Ok(ActOutcome::Done(text)) };
        let token = self.keep_undo(undoable);
        let recorded = RecordedDecision { key: decision.key, name, answer: decision.answer, token };
        Ok(ActOutcome::Decided(text, recorded))
    }

    /// Asks the server of a skill for its entry before the user approves it. A user may decline a skill
    /// while its server is away.
    async fn as_it_is_now(
        &self,
        skill: &KnownSkill,
        answer: AnswerKind,
    ) -> Result<ListedSkill, Refusal> {
        match self.host.refresh(skill).await {
            Ok(now) => Ok(now),
            Err(refusal) if answer == AnswerKind::No && refusal.reason.is_server_away() => {
                skill.certain().cloned()
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn take_back(&self, recorded: &RecordedDecision) -> Filled<ActOutcome> {
        let undoable = lock(&self.undo).remove(&recorded.token);
        let Some(undoable) = undoable else {
            let text = texts::no_longer_undone(&recorded.name);
            return Ok(ActOutcome::Refused(text));
        };
        let undone = self.host.undo_review(&undoable).map_err(|refusal| refused(&refusal))?;
        self.look_at_records().await;
        let name = &recorded.name;
        Ok(if undone {
            ActOutcome::Done(texts::taken_back(name))
        } else {
            ActOutcome::Refused(texts::not_taken_back(name))
        })
    }

    /// Reads files of a skill because the user asked for them: one, or all that were not read.
    async fn read(&self, key: &SkillKey, path: Option<&str>) -> Filled<ActOutcome> {
        let skill = self.find(key)?;
        let listed = match skill.certain() {
            Ok(listed) => listed.clone(),
            // An older server's skill becomes known by reading its `SKILL.md`.
            Err(_) => match self.host.refresh(&skill).await {
                Ok(listed) => listed,
                Err(refusal) => return Ok(ActOutcome::Refused(sentence(&refusal))),
            },
        };
        let wanted: Vec<String> = match (path, &listed.entry().resources) {
            (Some(path), _) => vec![path.to_owned()],
            (None, Resources::Dynamic) => vec![SKILL_FILE.to_owned()],
            (None, Resources::Listed(files)) => {
                let unread = files.iter().filter(|file| self.bytes_of(&listed, file).is_none());
                let mut room = MAX_READ_BYTES;
                let fits = |file: &&skillwire_core::SkillResource| {
                    let left = room.checked_sub(file.size);
                    room = left.unwrap_or(room);
                    left.is_some()
                };
                unread.filter(fits).map(|file| plain_path(&listed, file)).collect()
            }
        };
        let host = &self.host;
        let held = &listed;
        let reads = stream::iter(wanted)
            .map(|path| async move { (host.inspect(held, &path).await, path) })
            .buffer_unordered(READS_AT_ONCE);
        let outcomes: Vec<_> = reads.collect().await;
        let mut failed = None;
        for (outcome, path) in outcomes {
            match outcome {
                Ok(read) if !read.verified => {
                    self.keep_inspected(listed.id(), read.uri, read.bytes);
                }
                Ok(_) => {}
                Err(refusal) => failed = Some(format!("`{path}`: {}", sentence(&refusal))),
            }
        }
        self.look_again().await;
        Ok(match failed {
            None => ActOutcome::Done(String::new()),
            Some(problem) => ActOutcome::Refused(problem),
        })
    }

    async fn revoke(&self, key: &SkillKey) -> Filled<ActOutcome> {
        let id = id_of(key).ok_or(PageProblem::NotFound)?;
        let existed = self.host.revoke(&id).map_err(|refusal| refused(&refusal))?;
        self.look_at_records().await;
        Ok(ActOutcome::Done(texts::revoked(&id, existed)))
    }

    async fn set_enabled(&self, key: &SkillKey, enabled: bool) -> Filled<ActOutcome> {
        let id = id_of(key).ok_or(PageProblem::NotFound)?;
        self.host.set_enabled(&id, enabled).map_err(|refusal| refused(&refusal))?;
        self.look_at_records().await;
        Ok(ActOutcome::Done(texts::switched(&id, enabled)))
    }

    /// The acts of tables and notices.
    async fn own_act(&self, name: &str, about: &str) -> Filled<ActOutcome> {
        let key = SkillKey::new(about);
        match name {
            "revoke" => self.revoke(&key).await,
            "enable" => self.set_enabled(&key, true).await,
            FORBID_UNATTENDED => Ok(match self.settings.forbid_unattended_approvals() {
                Ok(()) => ActOutcome::Done(texts::UNATTENDED_FORBIDDEN.to_owned()),
                Err(failure) => ActOutcome::Refused(plain(&failure)),
            }),
            "list" => {
                let label = ServerLabel::parse(about).map_err(|_| PageProblem::NotFound)?;
                let config = self.configured.servers.get(&label).ok_or(PageProblem::NotFound)?;
                // Its token or login may be there by now.
                match address(&label, config) {
                    Ok(address) => self.host.add_server(label.clone(), address),
                    Err(refusal) => return Ok(ActOutcome::Refused(sentence(&refusal))),
                }
                self.list(&label).await;
                self.asked_again.send_replace(());
                Ok(ActOutcome::Done(texts::asked(&label)))
            }
            _ => Err(PageProblem::NotFound),
        }
    }
}

/// What the user should know before deciding, as on the card at a terminal.
fn cautions(card: &ApprovalCard, can_last: bool) -> Vec<String> {
    let mut cautions = Vec::new();
    if !can_last {
        cautions.push(texts::NO_DIGESTS_CAUTION.to_owned());
    }
    if card.integrity.is_first_seen() {
        cautions.push(texts::FIRST_SEEN_CAUTION.to_owned());
    }
    if !card.arguments.is_empty() {
        cautions.push(texts::ARGUMENTS_CAUTION.to_owned());
    }
    if card.changes.as_ref().is_some_and(skillwire_core::ContentDiff::is_empty) {
        cautions.push(texts::LISTED_BETWEEN.to_owned());
    }
    cautions
}
