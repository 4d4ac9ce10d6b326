//! The lists of tools, prompts and resources of one server.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, value::RawValue};
use skillwire_client::{Client, ClientError, Limits};
use skillwire_engine::offer::{Item, Items};
use skillwire_protocol::{NextPage, Pager, method};
use tokio::time::{Duration, Instant};

use super::{
    limits::OfferLimits,
    name_prefix::NamePrefix,
    resource_uris::{ResourceUris, is_passable},
};
use skillwire_protocol::json_text::{ObjectText, compact, object, string};

/// The longest name of a tool or prompt, in bytes.
const MAX_NAME: usize = 256;

/// How long reading one list may take.
const LISTING: Duration = Duration::from_secs(20);

/// A list that a server has.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListKind {
    /// The capability that declares it.
    capability: &'static str,
    /// The member that holds its items.
    member: &'static str,
    method: &'static str,
    /// The member of an item that tells it from others.
    key: &'static str,
    /// Whether each item has an `inputSchema`.
    has_schema: bool,
}

pub(super) const TOOLS: ListKind = ListKind {
    capability: "tools",
    member: "tools",
    method: method::TOOLS_LIST,
    key: "name",
    has_schema: true,
};
pub(super) const PROMPTS: ListKind = ListKind {
    capability: "prompts",
    member: "prompts",
    method: method::PROMPTS_LIST,
    key: "name",
    has_schema: false,
};
pub(super) const RESOURCES: ListKind = ListKind {
    capability: "resources",
    member: "resources",
    method: method::RESOURCES_LIST,
    key: "uri",
    has_schema: false,
};
pub(super) const TEMPLATES: ListKind = ListKind {
    capability: "resources",
    member: "resourceTemplates",
    method: method::RESOURCES_TEMPLATES_LIST,
    key: "uriTemplate",
    has_schema: false,
};

/// The items of a list by the server's own names or URIs, each as JSON text.
pub(super) type OwnItems = BTreeMap<String, Box<str>>;

/// Reads a list from a server, within limits. One that the server did not declare is empty.
pub(super) async fn read(
    client: &Client,
    kind: ListKind,
    limits: &OfferLimits,
) -> Result<OwnItems, ClientError> {
    let mut items = OwnItems::new();
    if !client.server().capabilities.contains_key(kind.capability) {
        return Ok(items);
    }
    let until = Instant::now() + LISTING;
    let mut bytes = 0;
    let mut pager = Pager::new(limits.pages());
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let of_page = Limits::default().with_bytes(limits.page_bytes).with_timeout(left);
        let params: Map<_, _> = pager.params();
        let answer = client.request(kind.method, params, of_page).await?;
        let page: BTreeMap<String, &RawValue> = answer.read()?;
        let listed: Vec<&RawValue> = match page.get(kind.member) {
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or_default(),
            None => Vec::new(),
        };
        let next = page.get("nextCursor").and_then(|raw| serde_json::from_str(raw.get()).ok());
        for raw in &listed {
            bytes += raw.get().len();
            if bytes > limits.list_bytes || items.len() >= limits.items {
                tracing::warn!("a list of {} is longer than what is passed on.", kind.member);
                return Ok(items);
            }
            // Of two items with one name, the first counts.
            if let Some((name, text)) = own_item(raw, kind) {
                items.entry(name).or_insert(text);
            }
        }
        match pager.received(listed.len(), next) {
            NextPage::Ask => {}
            NextPage::End => return Ok(items),
            NextPage::Stop(why) => {
                tracing::warn!("A list of {} is not read to its end: {why}.", kind.member);
                return Ok(items);
            }
        }
    }
}

/// Reads the name of an item; one that cannot be passed on is left out.
fn own_item(raw: &RawValue, kind: ListKind) -> Option<(String, Box<str>)> {
    let members = object(raw.get())?.0;
    let member = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, raw)| raw);
    let name: String = serde_json::from_str(member(kind.key)?.get()).ok()?;
    let usable = if kind.key == "name" {
        !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control)
    } else {
        is_passable(&name)
    };
    let whole = !kind.has_schema || member("inputSchema")?.get().starts_with('{');
    (usable && whole).then(|| (name, raw.get().into()))
}

/// The items that are passed on.
#[derive(Debug, Default)]
pub(super) struct PassedOnItems {
    /// The items as clients see them.
    pub(super) items: Arc<Items>,
    /// The server's own names by those that clients see.
    pub(super) own: BTreeMap<String, String>,
}

impl PassedOnItems {
    /// Passes on the items that are admitted, each as it was written except for its name.
    pub(super) fn new(all: &OwnItems, prefix: &NamePrefix, admits: impl Fn(&str) -> bool) -> Self {
        let mut own = BTreeMap::new();
        let admitted = all.iter().filter(|(name, _)| admits(name));
        let items: Items = admitted
            .filter_map(|(name, text)| {
                let passed_on = prefix.passed_on(name);
                let mut renamed = ObjectText::new();
                for (member, raw) in object(text)?.0 {
                    let value = if member == "name" { string(&passed_on) } else { compact(raw) };
                    renamed.member(&member, &value);
                }
                own.insert(passed_on.clone(), name.clone());
                Some(Item::verbatim(passed_on, renamed.finish()))
            })
            .collect();
        Self { items: Arc::new(items), own }
    }
}

/// Passes on resources or templates that are admitted, each as it was written except for its URI.
pub(super) fn resource_items(
    all: &OwnItems,
    kind: ListKind,
    uris: &ResourceUris,
    admits: impl Fn(&str) -> bool,
) -> Arc<Items> {
    let admitted = all.iter().filter(|(own, _)| admits(own));
    let items = admitted.filter_map(|(own, text)| {
        let passed_on = uris.passed_on(own);
        let mut renamed = ObjectText::new();
        for (member, raw) in object(text)?.0 {
            let value = if member == kind.key { string(&passed_on) } else { compact(raw) };
            renamed.member(&member, &value);
        }
        Some(Item::verbatim(passed_on, renamed.finish()))
    });
    Arc::new(items.collect())
}
