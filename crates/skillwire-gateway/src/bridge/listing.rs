//! The tool `list_skills`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_engine::offer::{Interrupt, ToolReply};
use skillwire_host::context::text::one_line_within;
use skillwire_protocol::RpcError;
use skillwire_search::MAX_QUERY_BYTES;
use skillwire_trust::RegistryItem;

use super::{
    Bridge,
    arguments::ToolArguments,
    stop::CallError,
    text::count,
    view::{BridgeView, FoundSkills, SkillStatus},
};

/// The most skills that one answer lists.
const MOST_LISTED: usize = 100;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 300;

impl Bridge {
    pub(crate) async fn list_skills(
        &self,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let (query, server) = (arguments.optional("query")?, arguments.optional("server")?);
        if let Some(unknown) = server.and_then(|server| self.unknown_origin(server)) {
            return Ok(unknown);
        }
        match query.filter(|query| !query.trim().is_empty()) {
            None => Ok(self.list(server)),
            Some(query) if query.len() > MAX_QUERY_BYTES => {
                let expected = format!("a query of at most {MAX_QUERY_BYTES} bytes");
                let actual = format!("{} bytes", query.len());
                Err(arguments.refuse(&expected, &actual).into())
            }
            Some(query) => {
                let bridge = self.clone();
                let query = query.to_owned();
                let server = server.map(str::to_owned);
                let search = move || bridge.search(&query, server.as_deref());
                let found = tokio::task::spawn_blocking(search).await;
                Ok(found.map_err(|_| Interrupt::from(RpcError::internal()))?)
            }
        }
    }

    /// The answer for an origin that does not exist.
    fn unknown_origin(&self, server: &str) -> Option<ToolReply> {
        let view = self.view();
        let origins = view.origins();
        if origins.contains(&server) {
            return None;
        }
        let there = match origins.as_slice() {
            [] => "there is none yet".to_owned(),
            origins => format!("there are: {}", origins.join(", ")),
        };
        let server = one_line_within(server, 64);
        Some(ToolReply::text(format!("0 skills found.\nNo origin is called {server}; {there}.\n")))
    }

    fn list(&self, server: Option<&str>) -> ToolReply {
        let view = self.view();
        let found: Vec<_> = view.items().filter(|(item, _)| is_of(item, server)).collect();
        self.answer_with(&view, &found, found.len())
    }

    fn search(&self, query: &str, server: Option<&str>) -> ToolReply {
        let view = self.view();
        let is_visible = |item: &RegistryItem| is_of(item, server);
        let FoundSkills { best, all } = view.search(self.host(), query, MOST_LISTED, is_visible);
        self.answer_with(&view, &best, all)
    }

    fn answer_with(
        &self,
        view: &BridgeView,
        found: &[(&RegistryItem, SkillStatus)],
        all: usize,
    ) -> ToolReply {
        let mut text = format!("{} found.\n", count(all, "skill"));
        for (item, shown) in found.iter().take(MOST_LISTED) {
            let description = item.skill.entry().frontmatter.description();
            let _ = writeln!(
                text,
                "- {} ({}): {}",
                one_line_within(&item.handle, MAX_DESCRIPTION),
                shown.words(),
                one_line_within(description, MAX_DESCRIPTION)
            );
        }
        if all > MOST_LISTED {
            let _ = writeln!(text, "… and {} more; narrow the query.", all - MOST_LISTED);
        }
        for trouble in view.troubles() {
            let _ = writeln!(text, "{trouble}");
        }
        // Only approved skills are passed on, so only these can be read as resources.
        let approved =
            found.iter().take(MOST_LISTED).filter(|(_, shown)| *shown == SkillStatus::Approved);
        let links = approved.filter_map(|(item, _)| self.link(item));
        links.fold(ToolReply::text(text), ToolReply::with)
    }

    /// A link to the `SKILL.md` of a skill that is passed on.
    fn link(&self, item: &RegistryItem) -> Option<Value> {
        let uri = self.passed_on_as(item.skill.id())?;
        Some(json!({
            "type": "resource_link",
            "uri": uri,
            "name": item.handle,
            "mimeType": "text/markdown",
        }))
    }
}

fn is_of(item: &RegistryItem, server: Option<&str>) -> bool {
    server.is_none_or(|server| item.skill.id().origin.label() == server)
}
