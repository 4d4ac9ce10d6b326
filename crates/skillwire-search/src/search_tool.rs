//! The tool `search_skills`, which finds skills of a server by words.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Map, Value, json};
use skillwire_catalog::{Catalog, Snapshot, ViewId};
use skillwire_core::{Digest, RelPath, skill_file};
use skillwire_engine::{
    Caller,
    offer::{Interrupt, Invocation, Items, Offer, ToolReply},
    tools::{BadArgument, ListedSkills, ToolArguments},
};
use skillwire_protocol::RpcError;
use skillwire_source::{FileRecord, FileStore, Skill, SkillContent};
use tokio::sync::Mutex;

use crate::{MAX_QUERY_BYTES, SearchIndex, SkillText};

/// The tool's name.
const NAME: &str = "search_skills";

/// The most skills that one answer lists.
const MOST_FOUND: usize = 20;

/// Indexing so many skills takes longer than a user notices.
const LARGE_CATALOGUE: usize = 20_000;

/// Offers the tool `search_skills`, which searches the skills of a catalogue.
///
/// The first search after a start must not wait until every `SKILL.md` of a large catalogue was
/// read. It is answered from an index without headings, which are read in the background then.
#[derive(Clone)]
pub struct SearchTool {
    catalog: Arc<Catalog>,
    tools: Arc<Items>,
    state: Arc<Mutex<SearchState>>,
}

/// Indexes and headings that earlier searches made, for later ones to reuse.
#[derive(Default)]
struct SearchState {
    indexes: HashMap<ViewId, Arc<IndexedView>>,
    /// The views whose headings are being read.
    completing: HashSet<ViewId>,
    /// The headings of `SKILL.md` files that were read, by the digest of the file.
    headings: HashMap<Digest, Box<str>>,
}

/// The skills that a view listed at one moment, with an index of them.
struct IndexedView {
    /// The number of the snapshot. The snapshot itself would keep the skills of all views.
    generation: u64,
    skills: Vec<Arc<Skill>>,
    index: SearchIndex,
    /// Whether the index has the headings of every file that can be read.
    complete: bool,
}

impl SearchTool {
    /// Makes a tool that searches this catalogue.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, tools: Items::of([describe()]), state: Arc::default() }
    }

    /// Builds the index of a large catalogue, so that the first search need not; blocks meanwhile.
    ///
    /// A search builds the index of a small one itself in a moment, and a server that is never
    /// asked does without the memory for it.
    pub fn prepare(&self) {
        let snapshot = self.catalog.now(ViewId::EVERYTHING);
        if snapshot.is_some_and(|snapshot| snapshot.listed_count() >= LARGE_CATALOGUE) {
            self.state.blocking_lock().index(ViewId::EVERYTHING, &self.catalog);
        }
    }

    /// Reads the headings that the index of a view lacks, and builds the index again with them;
    /// blocks meanwhile.
    fn complete(&self, view: ViewId) {
        let Some(snapshot) = self.catalog.now(view) else {
            self.state.blocking_lock().completing.remove(&view);
            return;
        };
        let skills: Vec<_> = snapshot.listed().cloned().collect();
        // The lock is not held while files are read, so searches go on.
        let known = |digest: &Digest| self.state.blocking_lock().headings.contains_key(digest);
        let files = skills.iter().filter_map(|skill| own_file(skill));
        let missing = files.filter(|file| !known(&file.record.digest));
        let read: Vec<_> =
            missing.filter_map(|file| Some((file.record.digest, file.headings()?))).collect();
        let headings = {
            let mut state = self.state.blocking_lock();
            state.forget_unused(&self.catalog);
            state.headings.extend(read);
            state.headings.clone()
        };
        let index = skills.iter().map(|skill| text_of(skill, &headings)).collect();
        let generation = snapshot.generation();
        let indexed = IndexedView { generation, skills, index, complete: true };
        let mut state = self.state.blocking_lock();
        state.completing.remove(&view);
        state.indexes.insert(view, Arc::new(indexed));
    }
}

fn describe() -> Value {
    let title = "Search skills";
    json!({
        "name": NAME,
        "title": title,
        "description": "Finds skills of this server by words, best first.",
        "inputSchema": {
            "type": "object",
            "properties": { "query": { "type": "string", "description": "Words to look for." } },
            "required": ["query"],
            "additionalProperties": false,
        },
        "annotations": { "title": title, "readOnlyHint": true, "openWorldHint": false },
    })
}

impl Offer for SearchTool {
    fn tools(&self, _: &Caller) -> Arc<Items> {
        Arc::clone(&self.tools)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let tool = self.clone();
        async move {
            let query = match query_of(&invocation.arguments) {
                Ok(query) => query,
                Err(error) => return Ok(ToolReply::error(error.to_string())),
            };
            let view = invocation.client.caller().view;
            // The first search after a change builds the index, which takes a while. Other calls
            // wait for this lock meanwhile, so that the index is not built twice at a time. They
            // wait in a future: inside `spawn_blocking`, each would hold a thread of the pool.
            let mut state = Arc::clone(&tool.state).lock_owned().await;
            let catalog = Arc::clone(&tool.catalog);
            let found = tokio::task::spawn_blocking(move || {
                let (snapshot, indexed) = state.index(view, &catalog)?;
                let completes = !indexed.complete && state.completing.insert(view);
                drop(state);
                let reply = answer(&snapshot, &indexed, &query);
                if completes {
                    // The answer does not wait for this.
                    tokio::task::spawn_blocking(move || tool.complete(view));
                }
                Some(reply)
            });
            Ok(found.await.ok().flatten().ok_or_else(RpcError::internal)?)
        }
        .boxed()
    }
}

fn query_of(arguments: &Map<String, Value>) -> Result<String, BadArgument> {
    let arguments = ToolArguments::new(NAME, arguments);
    arguments.only(&["query"])?;
    let query = arguments.required("query")?;
    if query.len() > MAX_QUERY_BYTES {
        return Err(arguments.bad(format!("`query` has more than {MAX_QUERY_BYTES} bytes")));
    }
    Ok(query.to_owned())
}

impl SearchState {
    /// Returns what a view shows now, and the index of it; it is built from what is known if the
    /// view changed since the last search. Returns none if there is no such view.
    fn index(
        &mut self,
        view: ViewId,
        catalog: &Catalog,
    ) -> Option<(Arc<Snapshot>, Arc<IndexedView>)> {
        let snapshot = catalog.now(view)?;
        let generation = snapshot.generation();
        let known = self.indexes.get(&view).filter(|it| it.generation == generation);
        if let Some(known) = known {
            return Some((snapshot, Arc::clone(known)));
        }
        let skills: Vec<_> = snapshot.listed().cloned().collect();
        let complete = self.read_few(&skills);
        let index = skills.iter().map(|skill| text_of(skill, &self.headings)).collect();
        let indexed = Arc::new(IndexedView { generation, skills, index, complete });
        // Each holds the skills that it lists, which views that no caller has any more need not.
        self.indexes.retain(|view, _| catalog.has_view(*view));
        self.indexes.insert(view, Arc::clone(&indexed));
        Some((snapshot, indexed))
    }

    /// Reads the headings that are not known yet, if these are few enough for a search to wait.
    /// Tells whether all are known then.
    fn read_few(&mut self, skills: &[Arc<Skill>]) -> bool {
        /// Reading so many small files takes about 10 ms.
        const FEW: usize = 500;
        let is_unknown = |file: &OwnFile<'_>| !self.headings.contains_key(&file.record.digest);
        let files = skills.iter().filter_map(|skill| own_file(skill));
        let unknown: Vec<_> = files.filter(is_unknown).take(FEW + 1).collect();
        if unknown.len() > FEW {
            return false;
        }
        let read = unknown.iter().filter_map(|file| Some((file.record.digest, file.headings()?)));
        let read: Vec<_> = read.collect();
        self.headings.extend(read);
        true
    }

    /// Drops all headings if at least half of them are of files that no skill has any more.
    fn forget_unused(&mut self, catalog: &Catalog) {
        let all = catalog.now(ViewId::EVERYTHING).map_or(0, |snapshot| snapshot.listed_count());
        if self.headings.len() > 2 * all {
            self.headings.clear();
        }
    }
}

fn text_of(skill: &Skill, headings: &HashMap<Digest, Box<str>>) -> SkillText {
    let text = SkillText::new(skill.name(), &skill.path(), &skill.frontmatter());
    match own_file(skill).and_then(|file| headings.get(&file.record.digest)) {
        Some(headings) => text.with_headings(headings),
        None => text,
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

/// Lists what was found as text: many clients show a model nothing else.
fn answer(snapshot: &Snapshot, indexed: &IndexedView, query: &str) -> ToolReply {
    let hits = indexed.index.search(query, MOST_FOUND, |_| true);
    let mut text = match hits.total {
        0 => "No skill was found. Try other words, or `list_skills`.\n".to_owned(),
        1 => "1 skill found. `load_skill` loads it by its path:\n".to_owned(),
        total => format!("{total} skills found. `load_skill` loads one by its path:\n"),
    };
    let mut found = ListedSkills::new(snapshot);
    for skill in hits.best.iter().filter_map(|position| indexed.skills.get(*position)) {
        found.push(skill);
    }
    text.push_str(&found.into_lines());
    if hits.total > MOST_FOUND {
        text.push_str("These fit best; more words find fewer.\n");
    }
    ToolReply::text(text)
}
