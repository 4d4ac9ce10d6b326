//! The tool `find_skills`, which finds skills of a server by words.

use std::{collections::HashMap, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skillwire_catalog::{Catalog, ViewId};
use skillwire_core::{Digest, RelPath, skill_file};
use skillwire_engine::{
    Caller,
    offer::{Interrupt, Invocation, Items, Offer, ToolReply},
};
use skillwire_protocol::RpcError;
use skillwire_source::{FileRecord, FileStore, Skill, SkillContent};
use tokio::sync::Mutex;

use crate::{MAX_QUERY_BYTES, SearchIndex, SkillText};

/// The tool's name.
const NAME: &str = "find_skills";

/// The most skills that one answer lists.
const MOST_FOUND: usize = 20;

/// Offers the tool `find_skills`, which searches the skills of a catalogue.
pub struct FindTool {
    catalog: Arc<Catalog>,
    tools: Arc<Items>,
    state: Arc<Mutex<FindState>>,
}

/// Indexes and headings that earlier searches made, for later ones to reuse.
#[derive(Default)]
struct FindState {
    indexes: HashMap<ViewId, Arc<IndexedView>>,
    /// The headings of `SKILL.md` files that were read, by the digest of the file.
    headings: HashMap<Digest, Box<str>>,
}

/// The skills that a view listed at one moment, with an index of them.
struct IndexedView {
    generation: u64,
    skills: Vec<Arc<Skill>>,
    index: SearchIndex,
}

impl FindTool {
    /// Makes a tool that searches this catalogue.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, tools: Items::of([describe()]), state: Arc::default() }
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
        let catalog = Arc::clone(&self.catalog);
        let state = Arc::clone(&self.state);
        async move {
            let query = query_of(&invocation.arguments)?;
            let view = invocation.client.caller().view;
            // The first search after a change builds the index, which takes a while. Other calls
            // wait for this lock meanwhile, so that the index is not built twice at a time. They
            // wait in a future: inside `spawn_blocking`, each would hold a thread of the pool.
            let mut state = state.lock_owned().await;
            let found = tokio::task::spawn_blocking(move || {
                let indexed = state.index(view, &catalog);
                drop(state);
                indexed.map(|indexed| answer(&indexed, &query))
            });
            Ok(found.await.ok().flatten().ok_or_else(RpcError::internal)?)
        }
        .boxed()
    }
}

fn query_of(arguments: &Map<String, Value>) -> Result<String, RpcError> {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.filter(|query| query.len() <= MAX_QUERY_BYTES && arguments.len() == 1);
    query.map(str::to_owned).ok_or_else(|| {
        let text = format!("`arguments` must be a `query` of at most {MAX_QUERY_BYTES} bytes.");
        RpcError::invalid_params(text)
    })
}

impl FindState {
    /// Returns the index of the skills that a view shows now, and builds it if the view changed
    /// since the last search. Returns none if there is no such view.
    fn index(&mut self, view: ViewId, catalog: &Catalog) -> Option<Arc<IndexedView>> {
        let snapshot = catalog.now(view)?;
        let generation = snapshot.generation();
        if let Some(known) = self.indexes.get(&view).filter(|it| it.generation == generation) {
            return Some(Arc::clone(known));
        }
        let all_skills = catalog.now(ViewId::EVERYTHING)?.listed().count();
        if self.headings.len() > 2 * all_skills {
            // At least half of the headings are of files that no skill has any more.
            self.headings.clear();
        }
        let skills: Vec<_> = snapshot.listed().cloned().collect();
        let index = skills.iter().map(|skill| self.text_of(skill)).collect();
        let indexed = Arc::new(IndexedView { generation, skills, index });
        self.indexes.insert(view, Arc::clone(&indexed));
        Some(indexed)
    }

    fn text_of(&mut self, skill: &Skill) -> SkillText {
        #[derive(Default, Deserialize)]
        struct Entry {
            frontmatter: Map<String, Value>,
        }
        let entry: Entry = serde_json::from_str(&skill.entry).unwrap_or_default();
        let text = SkillText::new(skill.name(), &skill.path(), &entry.frontmatter);
        let Some(file) = own_file(skill) else { return text };
        let digest = file.record.digest;
        if !self.headings.contains_key(&digest)
            && let Some(read) = file.headings()
        {
            self.headings.insert(digest, read);
        }
        match self.headings.get(&digest) {
            Some(headings) => text.with_headings(headings),
            None => text,
        }
    }
}

/// The `SKILL.md` of a skill that is in a folder of this machine, or in memory.
struct OwnFile<'a> {
    record: &'a FileRecord,
    store: &'a dyn FileStore,
}

/// Returns the `SKILL.md` of a skill; none if it would have to be fetched or generated, which costs
/// too much for an index.
fn own_file(skill: &Skill) -> Option<OwnFile<'_>> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let record = tree.file(&RelPath::skill_file())?;
    tree.store.remote().is_none().then_some(OwnFile { record, store: &*tree.store })
}

impl OwnFile<'_> {
    /// Reads the headings; none if the file no longer has the digest that was published.
    fn headings(&self) -> Option<Box<str>> {
        let FileRecord { path, digest, size, .. } = self.record;
        let bytes = self.store.read(path, *size).ok();
        let published = bytes.filter(|bytes| Digest::of(bytes) == *digest);
        published.map(|bytes| skill_file::headings(&bytes).into())
    }
}

fn answer(indexed: &IndexedView, query: &str) -> ToolReply {
    let hits = indexed.index.search(query, MOST_FOUND, |_| true);
    let mut text = match hits.total {
        1 => "1 skill found.".to_owned(),
        total => format!("{total} skills found."),
    };
    if hits.total > MOST_FOUND {
        text = format!("{text} These are the {MOST_FOUND} that fit best.");
    }
    let best = hits.best.iter().filter_map(|position| indexed.skills.get(*position));
    best.fold(ToolReply::text(text), |reply, skill| {
        reply.with(json!({
            "type": "resource_link",
            "uri": skill.uri,
            "name": skill.name(),
            "description": skill.description(),
            "mimeType": "text/markdown",
        }))
    })
}
