//! `skillwire approve`: shows a skill to the user and records the approval.

mod comparison;

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_core::SKILL_FILE;
use skillwire_trust::{
    Answer, ApprovalCard, DecisionChannel, Grants, InputPath, ListedSkill, Reason, Refusal,
    RunGrants, requested_tools,
};

use super::Outcome;
use crate::{
    args::{ApproveArgs, GrantArgs},
    exit::Exit,
    failure::Failure,
    prose, report,
    session::{self, NamedSkill, Session, card, scanned},
    terminal::{self, Choice},
};

pub(super) fn run(args: &ApproveArgs) -> Outcome {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        let named = session.find_now(&args.handle).await?;
        let grants = grants(args, &named)?;
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
            let approved = json!({
                "handle": named.handle,
                "origin": listed.id().origin,
                "uri": listed.id().uri,
                "content": approved.content().map(|content| content.fingerprint()),
                "grants": approved.grants(),
                "first_seen": listed.integrity().is_first_seen(),
                "decided": channel,
            });
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

/// The grants besides loading: only what the skill asks for and the user named.
fn grants(args: &ApproveArgs, named: &NamedSkill) -> Result<Grants, Failure> {
    let requested = requested_tools(&named.listed.entry().frontmatter);
    if let Some(other) = args.tool.iter().find(|tool| !requested.contains(tool)) {
        return Err(Failure::usage(format!(
            "The skill does not ask for the tool `{}`.",
            other.escape_debug()
        ))
        .hint("`skillwire show` shows what it asks for, word for word."));
    }
    let tools = if args.tools { requested } else { args.tool.clone() };
    Ok(Grants {
        tools: tools.into_iter().collect(),
        execute: args.exec,
        run: run_grants(&args.run)?,
        remote_execute: args.remote_exec,
    })
}

fn run_grants(args: &GrantArgs) -> Result<RunGrants, Failure> {
    let mut grants = RunGrants::default();
    grants.network.extend(args.network.iter().cloned());
    grants.env.extend(args.env.iter().cloned());
    for path in &args.input {
        // Links are resolved now: what they point to later was not granted.
        let resolved = path.canonicalize().map_err(|error| {
            Failure::usage(format!("`{}` cannot be granted.", path.display()))
                .because(error)
                .hint("Name a file or folder that exists.")
        })?;
        let text = resolved.to_str().unwrap_or_default();
        grants.inputs.insert(InputPath::parse(text).map_err(|error| {
            Failure::usage(format!("`{}` cannot be granted.", path.display())).because(error)
        })?);
    }
    grants.memory = args.memory;
    grants.time = args.time;
    Ok(grants)
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
    scanned::write(&mut prose::stderr(), session, named)?;
    Ok(())
}
