//! `skillwire show`: shows a skill without approving it.

use std::io::{self, Write};

use serde_json::json;
use skillwire_core::{Digest, media_type};
use skillwire_host::{
    Inspected,
    context::{flags::flags, text},
};
use skillwire_trust::{ApprovalCard, Standing, requested_tools};

use super::Outcome;
use crate::{
    args::ShowArgs,
    exit::Exit,
    output::{FAINT, STRONG, WARNING},
    refusals::argument,
    report,
    session::{self, NamedSkill, card},
};

pub(super) fn run(args: &ShowArgs) -> Outcome {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        let named = session.find_now(&args.handle).await?;
        if let Some(file) = &args.file {
            let inspected = session.host().inspect(&named.listed, file).await?;
            print_file(&inspected)?;
            return Ok(Exit::Ok);
        }
        let standing = session.host().standing(&named.listed)?;
        if args.json {
            let NamedSkill { handle, listed } = &named;
            let shown = json!({
                "handle": handle,
                "origin": listed.id().origin,
                "state": standing.word(),
                "dialect": listed.id().origin.server().map(|_| listed.dialect()),
                "first_seen": listed.integrity().is_first_seen(),
                "entry": &**listed.entry(),
                "requested_tools": requested_tools(&listed.entry().frontmatter),
                "grants": match &standing {
                    Standing::Approved(grants) => Some(grants),
                    _ => None,
                },
            });
            report::json(&mut io::stdout().lock(), &shown)?;
        } else {
            print(&mut anstream::stdout().lock(), &named, &standing)?;
        }
        Ok(Exit::Ok)
    })
}

fn print(out: &mut impl Write, named: &NamedSkill, standing: &Standing) -> io::Result<()> {
    let NamedSkill { handle, listed } = named;
    card::write(out, handle, &ApprovalCard::new(listed, standing))?;
    match standing {
        Standing::Approved(grants) => {
            writeln!(out, "{STRONG}approved{STRONG:#}: {}", card::granted(grants))?;
        }
        Standing::Changed(diff) => card::changes(out, &listed.id().uri, diff)?,
        other => writeln!(out, "{STRONG}{}{STRONG:#}", other.word())?,
    }
    let handle = argument(handle);
    writeln!(out, "{FAINT}`skillwire show {handle} FILE` shows a file.{FAINT:#}")?;
    out.flush()
}

/// Prints a file with characters that would act on the terminal shown as escapes; warnings go to
/// standard error.
fn print_file(file: &Inspected) -> io::Result<()> {
    let mut err = anstream::stderr().lock();
    let digest = Digest::of(&file.bytes);
    if file.verified {
        writeln!(
            err,
            "{FAINT}{} matches what {} lists ({digest}); that is no reason to trust it.{FAINT:#}",
            file.uri,
            card::origin(&file.skill.origin)
        )?;
    } else {
        writeln!(err, "{WARNING}warning{WARNING:#}: Nothing says what {} should be.", file.uri)?;
    }
    let Ok(text) = std::str::from_utf8(&file.bytes) else {
        let kind = media_type::of(&file.uri.name(), &file.bytes);
        writeln!(
            err,
            "It is not text ({} bytes, {kind}); `skillwire export` copies it.",
            file.bytes.len()
        )?;
        return Ok(());
    };
    let flags = flags(text.as_bytes());
    if !flags.is_empty() {
        writeln!(err, "{WARNING}warning{WARNING:#}: It holds {flags}, shown as escapes.")?;
    }
    let mut out = io::stdout().lock();
    out.write_all(text::lines(text).as_bytes())?;
    if !text.ends_with('\n') {
        writeln!(out)?;
    }
    out.flush()
}
