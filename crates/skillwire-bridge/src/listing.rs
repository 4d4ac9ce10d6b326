//! `list_skills`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_host::{context::text::one_line_within, refusal::Refusal, registry::Item};
use skillwire_server::offer::ToolReply;

use crate::{arguments::Arguments, bridge::Bridge, text::count, view::Shown};

/// The most skills of one answer.
const MOST_LISTED: usize = 100;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 300;

impl Bridge {
    pub(crate) fn list_skills(&self, arguments: &Arguments<'_>) -> Result<ToolReply, Refusal> {
        let (query, server) = (arguments.optional("query")?, arguments.optional("server")?);
        let view = self.view();
        let of_server = |(item, _): &(&Item, Shown)| {
            server.is_none_or(|server| item.listed.id().origin.label() == server)
        };
        let found: Vec<_> = match query.filter(|query| !query.trim().is_empty()) {
            Some(query) => view.search(query).into_iter().filter(of_server).collect(),
            None => view.items().filter(of_server).collect(),
        };
        let mut text = format!("{} found.\n", count(found.len(), "skill"));
        for (item, shown) in found.iter().take(MOST_LISTED) {
            let description = item.listed.entry().frontmatter.description();
            let _ = writeln!(
                text,
                "- {} ({}): {}",
                one_line_within(&item.handle, MAX_DESCRIPTION),
                shown.words(),
                one_line_within(description, MAX_DESCRIPTION)
            );
        }
        if found.len() > MOST_LISTED {
            let _ = writeln!(text, "… and {} more; narrow the query.", found.len() - MOST_LISTED);
        }
        for trouble in view.troubles() {
            let _ = writeln!(text, "{trouble}");
        }
        // Only what is approved can be read as a resource.
        let approved =
            found.iter().take(MOST_LISTED).filter(|(_, shown)| *shown == Shown::Approved);
        let links = approved.filter_map(|(item, _)| self.link(item));
        Ok(links.fold(ToolReply::text(text), ToolReply::with))
    }

    /// A link to the `SKILL.md` of a skill that is passed on.
    fn link(&self, item: &Item) -> Option<Value> {
        let uri = self.passed_on_as(item.listed.id())?;
        Some(json!({
            "type": "resource_link",
            "uri": uri,
            "name": item.handle,
            "mimeType": "text/markdown",
        }))
    }
}
