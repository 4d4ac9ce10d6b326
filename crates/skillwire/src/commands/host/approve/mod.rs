//! `skillwire approve`: shows skills to the user and records the approvals.

mod batch;
pub(super) mod comparison;
mod grants;
mod selection;

use std::io::{self, Write as _};

use serde_json::{Value, json};
use skillwire_core::SKILL_FILE;
use skillwire_trust::{
    Answer, ApprovalCard, ApprovedSkill, DecisionChannel, Grants, HandlePattern, ListedSkill,
    Reason, Refusal,
};

use super::Outcome;
use crate::{
    args::ApproveArgs,
    exit::Exit,
    failure::Failure,
    prose, report,
    session::{self, NamedSkill, Session, card, scanned},
    terminal::{self, Choice},
};

pub(super) fn run(args: &ApproveArgs) -> Outcome {
    match args.handles.as_slice() {
        [handle] if HandlePattern::parse(handle).is_none() => one(args, handle),
        _ => batch::run(args),
    }
}

fn one(args: &ApproveArgs, handle: &str) -> Outcome {
    let options = session::SessionOptions::about(handle, args.origins);
    session::with(args.json, options, async |session| {
        let named = session.find_now(handle).await?;
        let grants = grants::of(args, &named)?;
        let listed = &named.listed;
        session.host().read_signature(listed).await;
        let review = session.host().review(listed)?.proposing(grants.clone());
        if !args.json {
            show(session, &named, review.card()).await?;
        }
        let shown = review.show();
        let asks = !args.yes && !args.json && terminal::is_interactive();
        if !asks && !args.yes && !args.json {
            session.view(&named, SKILL_FILE, terminal::print).await?;
        }
        let chosen = if args.yes {
            Some(Choice::Yes)
        } else if asks {
            ask(session, &named, &grants).await?
        } else {
            return Err(undecided(listed).actual("no terminal to ask on").into());
        };
        let channel =
            if args.yes { DecisionChannel::Unattended } else { DecisionChannel::Terminal };
        let answer = match chosen {
            Some(Choice::Yes) => Answer::Yes(grants),
            Some(Choice::No) => Answer::No,
            _ => return Err(undecided(listed).actual("no answer").into()),
        };
        let approved = session.host().record_review(shown.answer(answer, channel))?;
        if args.json {
            let approved = as_json(&named, &approved, channel);
            report::json(&mut io::stdout().lock(), &approved)?;
        } else {
            let granted = approved.grants().sentence();
            let seen = if listed.integrity().is_first_seen() { " (first-seen)" } else { "" };
            let suffix = channel.suffix();
            let mut out = prose::stdout();
            writeln!(out, "Approved {}{seen}{suffix}: {granted}", named.handle)?;
            card::run_lines(&mut out, approved.grants())?;
        }
        Ok(Exit::Ok)
    })
}

/// An approval for programs.
fn as_json(named: &NamedSkill, approved: &ApprovedSkill, channel: DecisionChannel) -> Value {
    let listed = &named.listed;
    json!({
        "handle": named.handle,
        "origin": listed.id().origin,
        "uri": listed.id().uri,
        "content": approved.content().map(|content| content.fingerprint()),
        "grants": approved.grants(),
        "first_seen": listed.integrity().is_first_seen(),
        "decided": channel,
    })
}

/// The refusal while the user has not decided. It names no way around the question: what reads it
/// may be a model with a shell.
fn undecided(listed: &ListedSkill) -> Refusal {
    Refusal::new(Reason::NotApproved)
        .about(listed.id())
        .hint("Run this command in a terminal, look at the skill, and decide there.")
}

async fn ask(session: &Session, named: &NamedSkill, grants: &Grants) -> io::Result<Option<Choice>> {
    writeln!(prose::stderr(), "If you approve, then until it changes {}", grants.sentence())?;
    let origin = card::origin(&named.listed.id().origin);
    let question = format!("Approve this content from {origin}?");
    session.choose(named, &question, &[Choice::Yes, Choice::No, Choice::View]).await
}

/// Shows the skill, or how it differs from what was approved before.
async fn show(session: &Session, named: &NamedSkill, shown: &ApprovalCard) -> Result<(), Failure> {
    let NamedSkill { handle, listed } = named;
    let uri = &shown.skill.uri;
    card::write(&mut prose::stderr(), handle, shown)?;
    if let Some(changes) = &shown.changes {
        card::changes(&mut prose::stderr(), uri, changes)?;
        for (before, after) in &changes.changed {
            let host = session.host();
            let compared =
                host.compare_versions(listed, before, after, comparison::MAX_BYTES).await;
            let path = card::path(uri, after);
            comparison::write(&mut anstream::stderr().lock(), &path, &compared)?;
        }
    }
    scanned::write(&mut prose::stderr(), session, handle, shown)?;
    Ok(())
}
