//! `skillwire search`: shows the skills that match words best.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
};

use skillwire_core::visible::{one_line, one_line_within};
use skillwire_host::Discovered;
use skillwire_search::{SearchHits, SearchIndex, SkillText};
use skillwire_trust::{RegistryItem, SkillId};

use super::{
    Outcome,
    list::{listing, row},
};
use crate::{
    args::SearchArgs,
    exit::Exit,
    output::STRONG,
    prose, report,
    session::{self, Session, report_incomplete},
    terminal,
};

pub(super) fn run(args: &SearchArgs) -> Outcome {
    let options = session::SessionOptions::everywhere(args.origins).waiting(args.wait);
    session::with(args.json, options, async |session| {
        if args.json {
            let found = session.discover(None).await?;
            let hits = search(session, &found, args);
            let items = found.registry.items();
            let best = hits.best.iter();
            let rows = best.map(|place| row(session.host(), &items[*place])).collect();
            report::json(&mut io::stdout().lock(), &listing(&found, rows))?;
            return Ok(Exit::Ok);
        }
        let mut printed = BTreeSet::new();
        let mut printing = Ok(());
        // The user sees what other servers have while a slow one is waited for.
        let part = |found: &Discovered| {
            if printing.is_ok() {
                printing = print(session, found, args, &mut printed).map(drop);
            }
        };
        let found = session.discover_in_parts(part).await;
        printing?;
        let hits = print(session, &found, args, &mut printed)?;
        report_incomplete(&found)?;
        if hits.total > printed.len() {
            let more = hits.total - printed.len();
            let items = found.registry.items();
            let mut best = hits.best.iter().map(|place| items[*place].skill.id());
            // Rows that were printed while a server was waited for stay, and count.
            let better = if best.all(|id| printed.contains(id)) {
                ""
            } else {
                "; some fit better than these, but their servers answered later"
            };
            writeln!(prose::stderr(), "{more} more match{better}. `--limit N` shows more.")?;
        }
        if printed.is_empty() {
            writeln!(prose::stderr(), "No skill matches; `skillwire list` shows all of them.")?;
        }
        Ok(Exit::Ok)
    })
}

fn search(session: &Session, found: &Discovered, args: &SearchArgs) -> SearchHits {
    let text_of = |item: &RegistryItem| {
        let headings = session.host().headings(&item.skill).unwrap_or_default();
        let frontmatter = item.skill.entry().frontmatter.fields();
        SkillText::new(item.skill.name().as_str(), &item.handle, frontmatter)
            .with_headings(&headings)
    };
    let index: SearchIndex = found.registry.items().iter().map(text_of).collect();
    index.search(&args.query.join(" "), args.limit, |_| true)
}

/// Prints the best matches that were not printed before, as long as there are no more rows than the
/// user asked for.
fn print(
    session: &Session,
    found: &Discovered,
    args: &SearchArgs,
    printed: &mut BTreeSet<SkillId>,
) -> io::Result<SearchHits> {
    let hits = search(session, found, args);
    let items = found.registry.items();
    let mut out = prose::stdout();
    let best = hits.best.iter().map(|place| &items[*place]);
    let new: Vec<_> = best.filter(|item| !printed.contains(item.skill.id())).collect();
    for item in new.into_iter().take(args.limit - printed.len()) {
        printed.insert(item.skill.id().clone());
        let row = row(session.host(), item);
        let description = match terminal::width() {
            Some(width) => one_line_within(row.description, width.saturating_sub(4)),
            None => one_line(row.description),
        };
        let state = format!("{}{}", row.state, row.suffix());
        writeln!(out, "{STRONG}{}{STRONG:#}  {state}", one_line(row.handle))?;
        writeln!(out, "  {description}")?;
    }
    out.flush()?;
    Ok(hits)
}
