//! `skillwire approve`: what the user allows, after seeing it.

mod comparison;

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_host::{
    grants::{Grants, requested_tools},
    refusal::{Reason, Refusal},
    standing::Standing,
};

use self::comparison::Comparison;
use super::Outcome;
use crate::{
    args::ApproveArgs,
    exit::Exit,
    failure::Failure,
    report,
    session::{self, Named, Session},
    skill, terminal,
};

pub(super) fn run(args: &ApproveArgs) -> Outcome {
    let options = session::Options::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        let named = session.find_now(&args.handle).await?;
        let grants = grants(args, &named)?;
        if !args.json {
            show(session, &named).await?;
        }
        let listed = &named.listed;
        if !args.yes {
            if args.json || !terminal::somebody() {
                return Err(Refusal::new(Reason::NotApproved)
                    .skill(listed.id())
                    .actual("nobody to ask")
                    .hint("`--yes` approves it without asking.")
                    .into());
            }
            let question = format!(
                "Approve this content of {}: {}",
                skill::origin(&listed.id().origin),
                skill::granted(&grants)
            );
            if !terminal::agrees(&question) {
                return Err(session.host().decline(listed)?.into());
            }
        }
        let approved = session.host().approve(listed, grants)?;
        if args.json {
            let approved = json!({
                "handle": named.handle,
                "origin": listed.id().origin,
                "uri": listed.id().uri,
                "content": approved.content().map(|content| content.fingerprint()),
                "grants": approved.grants(),
            });
            report::json(&mut io::stdout().lock(), &approved)?;
        } else {
            let granted = skill::granted(approved.grants());
            writeln!(anstream::stdout(), "Approved {}: {granted}", named.handle)?;
        }
        Ok(Exit::Ok)
    })
}

/// What is granted besides loading: only what the skill asks for, each thing by the user's word.
fn grants(args: &ApproveArgs, named: &Named) -> Result<Grants, Failure> {
    let requested = requested_tools(&named.listed.entry().frontmatter);
    if let Some(other) = args.tool.iter().find(|tool| !requested.contains(tool)) {
        return Err(Failure::usage(format!(
            "The skill does not ask for the tool `{}`.",
            other.escape_debug()
        ))
        .hint("`skillwire show` shows what it asks for, word for word."));
    }
    let tools = if args.tools { requested } else { args.tool.clone() };
    Ok(Grants { tools: tools.into_iter().collect(), execute: args.exec })
}

/// Shows the skill, or how it differs from what was approved before.
async fn show(session: &Session, named: &Named) -> Result<(), Failure> {
    let Named { handle, listed } = named;
    let standing = session.host().standing(listed)?;
    let id = listed.id();
    skill::card(&mut anstream::stderr().lock(), handle, &id.origin, listed.entry())?;
    if let Standing::Changed(diff) = standing {
        skill::changes(&mut anstream::stderr().lock(), &id.uri, &diff)?;
        let cache = session.settings().cache()?;
        for (before, after) in &diff.changed {
            let comparison = Comparison::of(session.host(), &cache, listed, before, after).await;
            comparison.print(&mut anstream::stderr().lock(), &skill::path(&id.uri, after))?;
        }
    }
    Ok(())
}
