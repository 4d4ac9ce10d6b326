//! The tool `list_skills`.

use std::{collections::BTreeMap, fmt::Write as _};

use skillwire_engine::offer::{Client, Interrupt, ToolReply};
use skillwire_host::context::{model_text::tokens, text::one_line_within};
use skillwire_protocol::RpcError;
use skillwire_search::MAX_QUERY_BYTES;
use skillwire_trust::RegistryItem;

use super::{
    Bridge,
    arguments::ToolArguments,
    client_kind::ClientKind,
    stop::CallError,
    text::count,
    view::{BridgeView, FoundSkills, SkillStatus},
};

/// The most skills that one answer lists.
const MOST_LISTED: usize = 100;

/// The most matches of a search among which each origin gets its share of [`MOST_LISTED`].
const MOST_MATCHES: usize = 2_000;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 200;

impl Bridge {
    pub(crate) async fn list_skills(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let (query, server) = (arguments.optional("query")?, arguments.optional("server")?);
        if arguments.is_true("loaded")? {
            return Ok(self.list_loaded(client));
        }
        self.first_listing().await;
        if let Some(unknown) = server.and_then(|server| self.unknown_origin(server)) {
            return Ok(unknown);
        }
        let kind = ClientKind::of(client.caller().client.as_deref());
        match query {
            None => Ok(self.list(kind, server)),
            Some(query) if query.len() > MAX_QUERY_BYTES => {
                let expected = format!("at most {MAX_QUERY_BYTES} bytes as `query`");
                let actual = format!("{} bytes", query.len());
                Err(arguments.refuse(&expected, &actual).into())
            }
            Some(query) => {
                let bridge = self.clone();
                let query = query.to_owned();
                let server = server.map(str::to_owned);
                let search = move || bridge.search(kind, &query, server.as_deref());
                let found = tokio::task::spawn_blocking(search).await;
                Ok(found.map_err(|_| Interrupt::from(RpcError::internal()))?)
            }
        }
    }

    /// The skills whose texts this conversation has, as far as the bridge can know.
    fn list_loaded(&self, client: &Client) -> ToolReply {
        let loaded = self.windows().of_session(client.session());
        let mut text = format!("{} loaded.\n", count(loaded.len(), "skill"));
        for opened in loaded {
            let bytes = opened.window.skill_file().bytes();
            let size = tokens(&String::from_utf8_lossy(bytes));
            let handle = one_line_within(&opened.handle, MAX_DESCRIPTION);
            let _ = writeln!(text, "- {handle}, about {size} tokens");
        }
        ToolReply::text(text)
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

    fn list(&self, kind: ClientKind, server: Option<&str>) -> ToolReply {
        let view = self.view();
        let found: Vec<_> = view.items_for(kind).filter(|(item, _)| is_of(item, server)).collect();
        let all = found.len();
        answer_with(&view, &shared_out(found), all)
    }

    fn search(&self, kind: ClientKind, query: &str, server: Option<&str>) -> ToolReply {
        let view = self.view();
        let is_visible = |item: &RegistryItem| is_of(item, server) && !view.is_native(item, kind);
        let FoundSkills { best, all } = view.search(self.host(), query, MOST_MATCHES, is_visible);
        answer_with(&view, &shared_out(best), all)
    }
}

type ItemWithStatus<'a> = (&'a RegistryItem, SkillStatus);

/// Takes as many as one answer lists, and the same share of each origin, so that one server with
/// thousands of skills cannot push out the others. The order stays.
fn shared_out(found: Vec<ItemWithStatus<'_>>) -> Vec<ItemWithStatus<'_>> {
    if found.len() <= MOST_LISTED {
        return found;
    }
    let mut by_origin: BTreeMap<&str, usize> = BTreeMap::new();
    for (item, _) in &found {
        *by_origin.entry(item.skill.id().origin.label()).or_default() += 1;
    }
    let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left = MOST_LISTED;
    while left > 0 {
        let before = left;
        for (label, count) in &by_origin {
            let share = shares.entry(label).or_default();
            if left > 0 && *share < *count {
                *share += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let mut taken = Vec::with_capacity(MOST_LISTED);
    for (item, shown) in found {
        if let Some(share) = shares.get_mut(item.skill.id().origin.label())
            && *share > 0
        {
            *share -= 1;
            taken.push((item, shown));
        }
    }
    taken
}

fn answer_with(view: &BridgeView, found: &[ItemWithStatus<'_>], all: usize) -> ToolReply {
    let mut text = format!("{} found.\n", count(all, "skill"));
    for (item, shown) in found {
        let description = item.skill.entry().frontmatter.description();
        let _ = writeln!(
            text,
            "- {}{}: {}",
            one_line_within(&item.handle, MAX_DESCRIPTION),
            shown.suffix(),
            one_line_within(description, MAX_DESCRIPTION)
        );
    }
    if all > found.len() {
        let _ = writeln!(text, "… and {} more; narrow the query.", all - found.len());
    }
    for trouble in view.troubles() {
        let _ = writeln!(text, "{trouble}");
    }
    ToolReply::text(text)
}

fn is_of(item: &RegistryItem, server: Option<&str>) -> bool {
    server.is_none_or(|server| item.skill.id().origin.label() == server)
}
