//! The tool `find_skills`: skills of a server, found by words.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Map, Value, json};
use skillwire_catalog::{
    catalog::{Catalog, ViewId},
    snapshot::Snapshot,
};
use skillwire_protocol::error::RpcError;
use skillwire_server::{
    caller::Caller,
    offer::{Interrupt, Invocation, Items, Offer, ToolReply},
};
use skillwire_source::skill::Skill;

use crate::{
    search::{self, Index},
    text::count,
};

/// The tool's name.
const NAME: &str = "find_skills";

/// The most skills of one answer.
const MOST_FOUND: usize = 20;

/// The most bytes of a query.
const MAX_QUERY: usize = 1_024;

/// Offers to find skills of a catalogue.
pub struct FindTool {
    catalog: Arc<Catalog>,
    tools: Arc<Items>,
    kept: Arc<Mutex<HashMap<ViewId, Arc<Searched>>>>,
}

/// The skills that a view listed at one moment, with an index of them.
struct Searched {
    generation: u64,
    skills: Vec<Arc<Skill>>,
    index: Index,
}

impl FindTool {
    /// Offers to find the skills of this catalogue.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, tools: Items::of([describe()]), kept: Arc::default() }
    }
}

fn describe() -> Value {
    json!({
        "name": NAME,
        "title": "Find skills",
        "description": "Finds skills of this server by words in their names, descriptions and tags, \
            best first. Returns links to their SKILL.md.",
        "inputSchema": {
            "type": "object",
            "properties": { "query": { "type": "string", "description": "Words to look for." } },
            "required": ["query"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

impl Offer for FindTool {
    fn tools(&self, _: &Caller) -> Arc<Items> {
        Arc::clone(&self.tools)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let (catalog, kept) = (Arc::clone(&self.catalog), Arc::clone(&self.kept));
        async move {
            let query = query_of(&invocation.arguments)?;
            let view = invocation.client.caller().view;
            // The first search after a change indexes everything, which takes a while.
            let found = tokio::task::spawn_blocking(move || {
                let snapshot = catalog.now(view)?;
                Some(answer(&searched(&kept, view, &snapshot), &query))
            });
            let reply = found.await.ok().flatten();
            Ok(reply.ok_or_else(RpcError::internal)?)
        }
        .boxed()
    }
}

fn query_of(arguments: &Map<String, Value>) -> Result<String, RpcError> {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.filter(|query| query.len() <= MAX_QUERY && arguments.len() == 1);
    query.map(str::to_owned).ok_or_else(|| {
        let text = format!("`arguments` must be a `query` of at most {MAX_QUERY} bytes.");
        RpcError::invalid_params(text)
    })
}

/// The index of a snapshot, made when somebody first asks for it.
///
/// Whoever asks meanwhile waits for it: making it twice would take longer.
fn searched(
    kept: &Mutex<HashMap<ViewId, Arc<Searched>>>,
    view: ViewId,
    snapshot: &Snapshot,
) -> Arc<Searched> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let generation = snapshot.generation();
    if let Some(fresh) = kept.get(&view).filter(|kept| kept.generation == generation) {
        return Arc::clone(fresh);
    }
    let skills: Vec<_> = snapshot.listed().cloned().collect();
    let index = Index::of_texts(skills.iter().map(|skill| text_of(skill)));
    let made = Arc::new(Searched { generation, skills, index });
    kept.insert(view, Arc::clone(&made));
    made
}

fn text_of(skill: &Skill) -> String {
    let entry: Value = serde_json::from_str(&skill.entry).unwrap_or_default();
    let frontmatter = entry["frontmatter"].as_object().cloned().unwrap_or_default();
    search::text(skill.name(), &skill.path(), &frontmatter)
}

fn answer(searched: &Searched, query: &str) -> ToolReply {
    let places = searched.index.find(query);
    let mut text = format!("{} found.", count(places.len(), "skill"));
    if places.len() > MOST_FOUND {
        text = format!("{text} These are the {MOST_FOUND} that fit best.");
    }
    let found = places.iter().take(MOST_FOUND).filter_map(|place| searched.skills.get(*place));
    found.fold(ToolReply::text(text), |reply, skill| {
        reply.with(json!({
            "type": "resource_link",
            "uri": skill.uri,
            "name": skill.name(),
            "description": skill.description(),
            "mimeType": "text/markdown",
        }))
    })
}
