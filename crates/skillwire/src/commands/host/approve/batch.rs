//! `skillwire approve` for several skills: one summary, one answer, one record for each skill.

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_core::visible::one_line;
use skillwire_trust::{Answer, ApprovalCard, DecisionChannel, Grants, Origin, ShownReview};

use super::{Outcome, as_json, grants, selection::Selection, show};
use crate::{
    args::ApproveArgs,
    exit::Exit,
    failure::Failure,
    output::{FAINT, STRONG, WARNING, counted},
    prose,
    refusals::{self, RefusalText, argument},
    remedies, report,
    session::{self, NamedSkill, Session, SessionOptions, card, scanned},
    terminal::{self, Choice, ChosenAnswer},
};

/// The most skills of one summary that have a line of their own.
const MOST_LINES: usize = 200;

/// A skill of the batch, and the question about it.
struct Shown {
    named: NamedSkill,
    grants: Grants,
    review: ShownReview,
}

pub(super) fn run(args: &ApproveArgs) -> Outcome {
    let folders = |handle: &String| SessionOptions::about(handle, args.origins).folders;
    let options = SessionOptions {
        folders: args.handles.iter().find_map(folders),
        ..SessionOptions::default()
    };
    session::with(args.json, options, async |session| {
        let Selection { skills, settled, mut refused } = Selection::find(session, args).await?;
        let mut batch = Vec::new();
        for named in skills {
            let grants = grants::of(args, &named)?;
            session.host().read_signature(&named.listed).await;
            match session.host().review(&named.listed) {
                Ok(review) => {
                    let review = review.proposing(grants.clone()).show();
                    batch.push(Shown { named, grants, review });
                }
                Err(refusal) => refused.push(refusal),
            }
        }
        if !args.json {
            summary(session, &batch, &settled)?;
        }
        let channel = if batch.is_empty() || args.yes {
            DecisionChannel::Unattended
        } else {
            confirm(session, &batch, args).await?;
            DecisionChannel::Terminal
        };
        let mut approved = Vec::new();
        for Shown { named, grants, review } in batch {
            let answered = review.answer(Answer::Yes(grants), channel);
            match session.host().record_review(answered) {
                Ok(skill) => approved.push((named, skill)),
                Err(refusal) => refused.push(refusal),
            }
        }
        let exit = refused.first().map_or(Exit::Ok, |first| refusals::exit(first.class()));
        if args.json {
            let approved = approved.iter().map(|(named, skill)| as_json(named, skill, channel));
            let settled =
                settled.iter().map(|(handle, state)| json!({"handle": handle, "state": state}));
            let all = json!({
                "approved": approved.collect::<Vec<_>>(),
                "settled": settled.collect::<Vec<_>>(),
                "refused": refused.iter().map(remedies::worded).collect::<Vec<_>>(),
            });
            report::json(&mut io::stdout().lock(), &all)?;
            return Ok(exit);
        }
        for refusal in &refused {
            writeln!(prose::stderr(), "{}", RefusalText(refusal))?;
        }
        if !approved.is_empty() {
            let many = counted(approved.len(), "skill");
            writeln!(prose::stdout(), "Approved {many}{}.", channel.suffix())?;
        }
        Ok(exit)
    })
}

/// Writes one line for each skill, and what else the user should know before they agree to all.
fn summary(session: &Session, batch: &[Shown], settled: &[(String, &str)]) -> io::Result<()> {
    let mut err = prose::stderr();
    if batch.is_empty() {
        writeln!(err, "Nothing waits for a decision.")?;
    }
    let widest = batch.iter().map(|shown| one_line(&shown.named.handle).chars().count()).max();
    let widest = widest.unwrap_or(0);
    let mut before = None;
    for Shown { named, review, .. } in batch.iter().take(MOST_LINES) {
        let card = review.card();
        let origin = &card.skill.origin;
        if before != Some(origin) {
            writeln!(err, "{FAINT}from {}{FAINT:#}", card::origin(origin))?;
            before = Some(origin);
        }
        let handle = one_line(&named.handle);
        writeln!(err, "  {STRONG}{handle:widest$}{STRONG:#}  {}", facts(card))?;
        for line in scanned::look(session, card).findings() {
            writeln!(err, "    {WARNING}{}{WARNING:#}", one_line(line))?;
        }
    }
    if batch.len() > MOST_LINES {
        writeln!(err, "{FAINT}and {} more{FAINT:#}", batch.len() - MOST_LINES)?;
    }
    for state in ["approved", "declined", "disabled"] {
        let of_state: Vec<_> = settled.iter().filter(|(_, other)| *other == state).collect();
        match of_state.as_slice() {
            [] => {}
            [(handle, _)] => {
                writeln!(err, "{FAINT}{} is {state} and stays so.{FAINT:#}", one_line(handle))?;
            }
            many => writeln!(err, "{FAINT}{} are {state} and stay so.{FAINT:#}", many.len())?,
        }
    }
    Ok(())
}

/// What a user should know about one of many skills: what it is, what changed, what it asks for.
fn facts(card: &ApprovalCard) -> String {
    let mut facts = vec![card::size(&card.entry)];
    match &card.changes {
        None => facts.insert(0, "new".to_owned()),
        Some(changes) => {
            facts.insert(0, format!("{WARNING}changed{WARNING:#}"));
            facts.push(card::change_counts(changes));
        }
    }
    if !card.requested_tools.is_empty() {
        let tools: Vec<_> = card.requested_tools.iter().map(|tool| one_line(tool)).collect();
        let given = if card.proposed.tools.is_empty() { "asks for" } else { "gets" };
        facts.push(format!("{WARNING}{given} {}{WARNING:#}", tools.join(", ")));
    }
    if card.proposed.execute {
        facts.push(format!("{WARNING}code may run{WARNING:#}"));
    }
    if card.integrity.is_first_seen() {
        facts.push(format!("{WARNING}first-seen{WARNING:#}"));
    }
    facts.join(", ")
}

/// Asks about all of them at once. Anything but a yes approves nothing and declines nothing.
async fn confirm(session: &Session, batch: &[Shown], args: &ApproveArgs) -> Result<(), Failure> {
    let undecided = |actual: &str| {
        Failure::new(Exit::Approval, format!("Nothing was approved: {actual}."))
            .hint("Run this command in a terminal, look at the skills, and decide there.")
    };
    if args.json || !terminal::is_interactive() {
        return Err(undecided("there is no terminal to ask on"));
    }
    let origins: std::collections::BTreeSet<&Origin> =
        batch.iter().map(|shown| &shown.named.listed.id().origin).collect();
    let from = match Vec::from_iter(origins).as_slice() {
        [origin] => card::origin(origin),
        many => format!("{} servers", many.len()),
    };
    writeln!(
        prose::stderr(),
        "If you approve, these skills load without asking as they are now. What a server changes or adds \
         later asks again. `v HANDLE` shows one of them."
    )?;
    let question = format!("Approve {} from {from}?", counted(batch.len(), "skill"));
    loop {
        match terminal::choose(&question, &[Choice::Yes, Choice::No, Choice::View]) {
            Some(ChosenAnswer { choice: Choice::Yes, .. }) => return Ok(()),
            Some(ChosenAnswer { choice: Choice::View, rest }) => {
                view(session, batch, &rest).await?;
            }
            Some(_) => return Err(Failure::new(Exit::Approval, "Nothing was approved.").hint(
                "The skills wait as before; `skillwire approve HANDLE` decides about a single one.",
            )),
            None => return Err(undecided("there was no answer")),
        }
    }
}

/// Shows one skill of the batch, or one of its files, before the user decides.
async fn view(session: &Session, batch: &[Shown], typed: &str) -> Result<(), Failure> {
    let (handle, file) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let fits = |shown: &&Shown| {
        let name = shown.named.listed.entry().frontmatter.name();
        shown.named.handle == handle || name.as_str() == handle
    };
    let Some(shown) = batch.iter().find(fits) else {
        let first = batch.first().map_or("team:deploy", |shown| &shown.named.handle);
        let typed = argument(first);
        writeln!(prose::stderr(), "Type `v` and one of the handles above, such as `v {typed}`.")?;
        return Ok(());
    };
    if file.is_empty() {
        show(session, &shown.named, shown.review.card()).await?;
    }
    let file = if file.is_empty() { skillwire_core::SKILL_FILE } else { file.trim() };
    Ok(session.view(&shown.named, file, terminal::page).await?)
}
