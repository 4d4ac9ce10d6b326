//! The tool `find_skills`: skills of a server, found by words.

use std::{collections::HashMap, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Map, Value, json};
use skillwire_catalog::catalog::{Catalog, ViewId};
use skillwire_core::{digest::Digest, path::RelPath, skill_file};
use skillwire_protocol::error::RpcError;
use skillwire_server::{
    caller::Caller,
    offer::{Interrupt, Invocation, Items, Offer, ToolReply},
};
use skillwire_source::{
    skill::{Content, FileRecord, Skill},
    store::Store,
};
use tokio::sync::Mutex;

use crate::{
    search::{Index, MAX_QUERY, SearchError, Searched},
    text::count,
};

/// The tool's name.
const NAME: &str = "find_skills";

/// The most skills of one answer.
const MOST_FOUND: usize = 20;

/// Offers to find skills of a catalogue.
pub struct FindTool {
    catalog: Arc<Catalog>,
    tools: Arc<Items>,
    kept: Arc<Mutex<Kept>>,
}

/// What was worked out for searches before.
#[derive(Default)]
struct Kept {
    indexed: HashMap<ViewId, Arc<Indexed>>,
    /// The headings of texts that were read, by the digest of the text.
    headings: HashMap<Digest, Box<str>>,
}

/// The skills that a view listed at one moment, with an index of them.
struct Indexed {
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
        "description": "Finds skills of this server by words in their names, tags, descriptions and \
            headings, best first. Returns links to their SKILL.md.",
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
            // The first search after a change indexes everything, which takes a while. Who waits for
            // it holds no thread.
            let mut kept = kept.lock_owned().await;
            let found = tokio::task::spawn_blocking(move || {
                let all = indexed(&mut kept, view, &catalog);
                drop(kept);
                let all = all.transpose().ok_or_else(RpcError::internal)?;
                let found = all.and_then(|all| answer(&all, &query));
                found.map_err(|error| {
                    tracing::error!("{error}");
                    RpcError::internal()
                })
            });
            Ok(found.await.map_err(|_| RpcError::internal()).flatten()?)
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

/// The index of what a view shows now, made when somebody first asks for it.
///
/// Whoever asks meanwhile waits for it: making it twice would take longer.
fn indexed(
    Kept { indexed, headings }: &mut Kept,
    view: ViewId,
    catalog: &Catalog,
) -> Result<Option<Arc<Indexed>>, SearchError> {
    let (Some(snapshot), Some(everything)) = (catalog.now(view), catalog.now(ViewId::EVERYTHING))
    else {
        return Ok(None);
    };
    let generation = snapshot.generation();
    if let Some(fresh) = indexed.get(&view).filter(|kept| kept.generation == generation) {
        return Ok(Some(Arc::clone(fresh)));
    }
    let skills: Vec<_> = snapshot.listed().cloned().collect();
    if headings.len() > 2 * everything.listed().count() {
        // Most are of texts that are gone.
        headings.clear();
    }
    let index = Index::new(skills.iter().map(|skill| searched(skill, headings)))?;
    let made = Arc::new(Indexed { generation, skills, index });
    indexed.insert(view, Arc::clone(&made));
    Ok(Some(made))
}

fn searched(skill: &Skill, headings: &mut HashMap<Digest, Box<str>>) -> Searched {
    let entry: Value = serde_json::from_str(&skill.entry).unwrap_or_default();
    let frontmatter = entry["frontmatter"].as_object().cloned().unwrap_or_default();
    let searched = Searched::new(skill.name(), &skill.path(), &frontmatter);
    let Some(file) = own_file(skill) else { return searched };
    let digest = file.record.digest;
    if !headings.contains_key(&digest)
        && let Some(read) = file.headings()
    {
        headings.insert(digest, read);
    }
    match headings.get(&digest) {
        Some(headings) => searched.with_headings(headings),
        None => searched,
    }
}

/// The `SKILL.md` of a skill that is in a folder of this machine, or in memory.
struct OwnFile<'a> {
    record: &'a FileRecord,
    store: &'a dyn Store,
}

/// Nothing is fetched to be indexed, and what is generated is not made for it either.
fn own_file(skill: &Skill) -> Option<OwnFile<'_>> {
    let Content::Files(tree) = &skill.content else { return None };
    let record = tree.file(&RelPath::skill_file())?;
    tree.store.remote().is_none().then_some(OwnFile { record, store: &*tree.store })
}

impl OwnFile<'_> {
    /// Its headings; none if it is not what was published, which whoever reads it notices too.
    fn headings(&self) -> Option<Box<str>> {
        let FileRecord { path, digest, size, .. } = self.record;
        let bytes = self.store.read(path, *size).ok();
        let published = bytes.filter(|bytes| Digest::of(bytes) == *digest);
        published.map(|bytes| skill_file::headings(&bytes).into())
    }
}

fn answer(indexed: &Indexed, query: &str) -> Result<ToolReply, SearchError> {
    let found = indexed.index.find(query, MOST_FOUND, |_| true)?;
    let mut text = format!("{} found.", count(found.all, "skill"));
    if found.all > MOST_FOUND {
        text = format!("{text} These are the {MOST_FOUND} that fit best.");
    }
    let best = found.best.iter().filter_map(|place| indexed.skills.get(*place));
    Ok(best.fold(ToolReply::text(text), |reply, skill| {
        reply.with(json!({
            "type": "resource_link",
            "uri": skill.uri,
            "name": skill.name(),
            "description": skill.description(),
            "mimeType": "text/markdown",
        }))
    }))
}
