//! `skillwire search`: shows the skills that match words best.

use std::io::{self, Write as _};

use skillwire_core::visible::{one_line, one_line_within};
use skillwire_search::{SearchIndex, SkillText};
use skillwire_trust::RegistryItem;

use super::{
    Outcome,
    list::{listing, row},
};
use crate::{
    args::SearchArgs,
    exit::Exit,
    output::STRONG,
    prose, report,
    session::{self, report_incomplete},
    terminal,
};

pub(super) fn run(args: &SearchArgs) -> Outcome {
    let options = session::SessionOptions::everywhere(args.origins);
    session::with(args.json, options, async |session| {
        let found = session.discover(None).await?;
        let items = found.registry.items();
        let text_of = |item: &RegistryItem| {
            let headings = session.host().headings(&item.skill).unwrap_or_default();
            let frontmatter = item.skill.entry().frontmatter.fields();
            SkillText::new(item.skill.name().as_str(), &item.handle, frontmatter)
                .with_headings(&headings)
        };
        let index: SearchIndex = items.iter().map(text_of).collect();
        let hits = index.search(&args.query.join(" "), args.limit, |_| true);
        let best = hits.best.iter();
        let rows: Vec<_> = best.map(|place| row(session.host(), &items[*place])).collect();
        if args.json {
            report::json(&mut io::stdout().lock(), &listing(&found, rows))?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for row in &rows {
            let description = match terminal::width() {
                Some(width) => one_line_within(row.description, width.saturating_sub(4)),
                None => one_line(row.description),
            };
            let state = format!("{}{}", row.state, row.suffix());
            writeln!(out, "{STRONG}{}{STRONG:#}  {state}", one_line(row.handle))?;
            writeln!(out, "  {description}")?;
        }
        out.flush()?;
        report_incomplete(&found)?;
        if hits.total > rows.len() {
            let more = hits.total - rows.len();
            writeln!(prose::stderr(), "{more} more match; `--limit N` shows more of them.")?;
        }
        if rows.is_empty() {
            writeln!(prose::stderr(), "No skill matches; `skillwire list` shows all of them.")?;
        }
        Ok(Exit::Ok)
    })
}
