//! `skillwire show`: shows a skill without approving it.

use std::io::{self, Write};

use serde_json::{Value, json};
use skillwire_host::Inspected;
use skillwire_trust::{
    ApprovalReview, DecisionChannel, ListedSkill, SignatureCheck, Standing, requested_tools,
};

use super::Outcome;
use crate::{
    args::ShowArgs,
    exit::Exit,
    output::{FAINT, STRONG},
    prose,
    refusals::argument,
    report,
    session::{self, NamedSkill, card, preview},
};

pub(super) fn run(args: &ShowArgs) -> Outcome {
    let options = session::SessionOptions {
        keeps_entry_text: true,
        ..session::SessionOptions::about(&args.handle, args.origins)
    };
    session::with(args.json, options, async |session| {
        let named = session.find_now(&args.handle).await?;
        if let Some(file) = &args.file {
            let inspected = session.host().inspect(&named.listed, file).await?;
            print_file(&inspected)?;
            return Ok(Exit::Ok);
        }
        let standing = session.host().standing(&named.listed)?;
        let decided = session.host().decided_through(named.listed.id());
        let decided = decided.filter(|_| matches!(standing, Standing::Approved(_)));
        let signature = session.host().known_signature(&named.listed);
        if args.json {
            let NamedSkill { handle, listed } = &named;
            let mut shown = json!({
                "handle": handle,
                "origin": listed.id().origin,
                "state": standing.word(),
                "dialect": listed.id().origin.server().map(|_| listed.dialect()),
                "first_seen": listed.integrity().is_first_seen(),
                "entry": &**listed.entry(),
                "files": files(listed),
                "arguments": listed.arguments(),
                "_meta": listed.meta(),
                "requested_tools": requested_tools(&listed.entry().frontmatter),
                "grants": match &standing {
                    Standing::Approved(grants) => Some(grants),
                    _ => None,
                },
            });
            if let Some(decided) = decided {
                shown["decided"] = json!(decided);
            }
            if signature != SignatureCheck::NotAsked {
                shown["signature"] = json!(signature);
            }
            report::json(&mut io::stdout().lock(), &shown)?;
        } else {
            print(&mut prose::stdout(), &named, &standing, signature, decided)?;
        }
        Ok(Exit::Ok)
    })
}

/// Every file besides `SKILL.md`, with its size where it is known; `null` if the server does not say.
fn files(listed: &ListedSkill) -> Option<Vec<Value>> {
    let files = listed.other_files()?.into_iter();
    Some(files.map(|(path, size)| json!({ "path": path.as_str(), "size": size })).collect())
}

fn print(
    out: &mut impl Write,
    named: &NamedSkill,
    standing: &Standing,
    signature: SignatureCheck,
    decided: Option<DecisionChannel>,
) -> io::Result<()> {
    let NamedSkill { handle, listed } = named;
    let card = ApprovalReview::of(listed, standing).with_signature(signature);
    card::write(out, handle, card.card())?;
    match standing {
        Standing::Approved(grants) => {
            let suffix = decided.map_or("", DecisionChannel::suffix);
            writeln!(out, "{STRONG}approved{suffix}{STRONG:#}: {}", grants.sentence())?;
            card::run_lines(out, grants)?;
        }
        Standing::Changed(diff) => card::changes(out, &listed.id().uri, diff)?,
        other => writeln!(out, "{STRONG}{}{STRONG:#}", other.word())?,
    }
    let handle = argument(handle);
    writeln!(out, "{FAINT}`skillwire show {handle} FILE` shows a file.{FAINT:#}")?;
    out.flush()
}

/// Prints a file; what the user should know about it goes to standard error.
fn print_file(file: &Inspected) -> io::Result<()> {
    preview::notes(&mut prose::stderr(), file)?;
    let mut out = io::stdout().lock();
    out.write_all(preview::text(file).unwrap_or_default().as_bytes())?;
    out.flush()
}
