//! `skillwire show`: shows a skill without approving it.

use std::io::{self, Write};

use serde_json::{Value, json};
use skillwire_core::visible::one_line;
use skillwire_host::Inspected;
use skillwire_trust::{
    ApprovalReview, DecisionChannel, DecisionCheck, ListedSkill, SignatureCheck, Standing,
    requested_tools,
};

use super::Outcome;
use crate::{
    args::ShowArgs,
    exit::Exit,
    output::{FAINT, STRONG, WARNING},
    prose,
    refusals::argument,
    report,
    session::{self, NamedSkill, card, preview},
    terminal,
};

pub(super) fn run(args: &ShowArgs) -> Outcome {
    let options = session::SessionOptions {
        keeps_entry_text: true,
        ..session::SessionOptions::about(&args.handle, args.origins)
    };
    session::with(args.json, options, async |session| {
        let named = session.find_now(&args.handle).await?;
        if let Some(file) = &args.file {
            let inspected = session.inspect(&named, file).await?;
            print_file(&inspected, args.raw)?;
            return Ok(Exit::Ok);
        }
        let standing = session.host().standing(&named.listed)?;
        let decided = session.host().decided_through(named.listed.id());
        let decided = decided.filter(|_| matches!(standing, Standing::Approved(_)));
        let signature = session.host().known_signature(&named.listed);
        let decision = session.host().known_decision(&named.listed);
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
            if decision != DecisionCheck::NotAsked {
                shown["decision"] = json!(decision);
            }
            report::json(&mut io::stdout().lock(), &shown)?;
        } else {
            let mut out = prose::stdout();
            print(&mut out, &named, &standing, signature, decided)?;
            print_decision(&mut out, &decision)?;
            print_hint(&mut out, &named)?;
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
        other => {
            let handle = argument(handle);
            let next = match other {
                Standing::Disabled => {
                    format!("models are not shown it. `skillwire enable {handle}` switches it on.")
                }
                Standing::Declined => {
                    format!("it is not loaded. `skillwire approve {handle}` asks you again.")
                }
                _ => {
                    format!("you have not decided about it. `skillwire approve {handle}` asks you.")
                }
            };
            writeln!(out, "{STRONG}{}{STRONG:#}: {next}", other.word())?;
        }
    }
    Ok(())
}

/// Prints what the skill's server decided about it, and where it says that the skill comes from. Only
/// what a trusted key signed is shown as more than a claim.
fn print_decision(out: &mut impl Write, decision: &DecisionCheck) -> io::Result<()> {
    match decision {
        DecisionCheck::NotAsked => Ok(()),
        DecisionCheck::None => writeln!(out, "Its server carries no signed decision about it."),
        DecisionCheck::Refused(problem) => writeln!(
            out,
            "{WARNING}Its server's decision does not count{WARNING:#}: the decision {}.",
            one_line(problem)
        ),
        DecisionCheck::Decided(decision) => {
            let time = humantime::format_rfc3339_seconds;
            let end = decision
                .voucher
                .until
                .map_or_else(String::new, |end| format!(", until {}", time(end)));
            writeln!(
                out,
                "{STRONG}Decided{STRONG:#} by {}: {} (at {}{end})",
                one_line(&decision.voucher.signer),
                one_line(&decision.policy),
                time(decision.decided_at),
            )?;
            decision.provenance.iter().try_for_each(|(word, value)| {
                writeln!(out, "  {FAINT}{}:{FAINT:#} {}", one_line(word), one_line(value))
            })
        }
    }
}

fn print_hint(out: &mut impl Write, named: &NamedSkill) -> io::Result<()> {
    let handle = argument(&named.handle);
    writeln!(out, "{FAINT}`skillwire show {handle} FILE` shows a file.{FAINT:#}")?;
    out.flush()
}

/// Prints a file; what the user should know about it goes to standard error. On a terminal, Markdown is
/// rendered; a pipe gets it as it is written.
fn print_file(file: &Inspected, raw: bool) -> io::Result<()> {
    preview::notes(&mut prose::stderr(), file)?;
    let mut out = anstream::stdout().lock();
    let text = match terminal::width().filter(|_| !raw) {
        Some(width) => preview::rendered(file, width),
        None => preview::text(file),
    };
    out.write_all(text.unwrap_or_default().as_bytes())?;
    out.flush()
}
