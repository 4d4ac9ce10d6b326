//! `list_skills`.

use std::fmt::Write as _;

use serde_json::Value;
use skillwire_host::{context::text::one_line_within, refusal::Refusal};
use skillwire_server::offer::ToolReply;

use crate::{arguments::Arguments, bridge::Bridge, text::count};

/// The most skills of one answer.
const MOST_LISTED: usize = 100;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 300;

impl Bridge {
    pub(crate) fn list_skills(&self, arguments: &Arguments<'_>) -> Result<ToolReply, Refusal> {
        let (query, server) = (arguments.optional("query")?, arguments.optional("server")?);
        let view = self.view();
        let fits = |text: &str| {
            let text = text.to_lowercase();
            query.is_none_or(|query| {
                query.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
            })
        };
        let found: Vec<_> = view
            .items()
            .filter(|(item, _)| {
                server.is_none_or(|server| item.listed.id().origin.label() == server)
                    && (fits(&item.handle) || fits(item.listed.entry().frontmatter.description()))
            })
            .collect();
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
        let links: Vec<Value> = Vec::new();
        Ok(links.into_iter().fold(ToolReply::text(text), ToolReply::with))
    }
}
