//! A request that outlives its call, for answers that take time.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use skillwire_catalog::{Page, Snapshot};
use skillwire_core::{RelPath, ResourceUri, skill_file};
use skillwire_dialects::{
    SkillCard,
    sep_2076::{ArgumentValues, InvalidArguments, check_arguments, fill},
};
use skillwire_protocol::{Era, RpcError};
use skillwire_source::{FileTree, RemoteGenerator, Skill, SkillContent, SkillGenerator};

use super::{
    EngineState,
    budget::{LARGE_ANSWER, NoAnswerMemory, ReservedMemory},
    contents::{ContentError, published, render},
    invalid_cursor, reading, resource_changed,
    result::{ResultStyle, ResultText},
};
use crate::{
    caller::Caller,
    config::Config,
    dialect::{Dialect, DialectPart, LookupNames, NameLookup},
    payload::Payload,
};

/// A request with everything needed to answer it after the call that brought it has returned.
#[derive(Debug, Clone)]
pub(crate) struct OwnedCall {
    pub(crate) state: Arc<EngineState>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) caller: Caller,
    pub(crate) style: ResultStyle,
}

impl OwnedCall {
    /// Returns the configuration of the server.
    pub(crate) fn config(&self) -> &Config {
        &self.state.config
    }

    /// Returns the era of the request.
    pub(crate) fn era(&self) -> Era {
        self.style.era
    }

    /// Tells whether a dialect is enabled for the client.
    pub(crate) fn speaks(&self, dialect: Dialect) -> bool {
        self.state.config.dialects.on(dialect, self.era())
    }

    /// Tells whether a part of a dialect is enabled for the client.
    pub(crate) fn shows(&self, part: DialectPart) -> bool {
        self.state.config.dialects.shows(part, self.era())
    }

    /// Returns the names of all skills, which are computed once for each snapshot.
    pub(crate) async fn names(&self) -> Result<Arc<LookupNames>, RpcError> {
        let key = (self.snapshot.generation(), self.caller.view);
        let snapshot = Arc::clone(&self.snapshot);
        let find = async move {
            let found = tokio::task::spawn_blocking(move || LookupNames::of(&snapshot)).await;
            found.map(Arc::new).map_err(|error| broken(&error))
        };
        self.state.projections.names.get_or_insert_async(&key, find).await
    }

    /// Returns the names without waiting, for callers that cannot await.
    pub(crate) fn names_now(&self) -> Arc<LookupNames> {
        let key = (self.snapshot.generation(), self.caller.view);
        self.state.projections.names.get(&key).unwrap_or_else(|| {
            let names = Arc::new(LookupNames::of(&self.snapshot));
            self.state.projections.names.insert(key, Arc::clone(&names));
            names
        })
    }

    /// Finds the skill with a name, or the reason why there is none.
    pub(crate) async fn named(
        &self,
        name: &str,
    ) -> Result<Result<Arc<Skill>, NameProblem>, RpcError> {
        let names = self.names().await?;
        Ok(match names.find(&self.snapshot, name) {
            NameLookup::Skill(skill) => Ok(Arc::clone(skill)),
            NameLookup::Nothing => Err(NameProblem { candidates: Vec::new() }),
            NameLookup::Ambiguous(skills) => {
                let candidates = skills.iter().map(|skill| skill.uri.to_string()).collect();
                Err(NameProblem { candidates })
            }
        })
    }

    /// Waits for memory for an answer for which so many bytes are in memory at once; a small one needs
    /// none.
    pub(crate) async fn reserve(&self, bytes: u64) -> Result<Option<ReservedMemory>, RpcError> {
        if bytes <= LARGE_ANSWER as u64 {
            return Ok(None);
        }
        Ok(Some(self.state.budget.take(bytes).await?))
    }

    /// Creates the result for a file of a skill, under the URI that the client requested.
    pub(crate) async fn file(
        &self,
        skill: &Arc<Skill>,
        path: &RelPath,
        uri: &str,
    ) -> Result<Option<Payload>, RpcError> {
        let SkillContent::Files(tree) = &skill.content else {
            let Some(bytes) = self.bytes(skill, path).await? else { return Ok(None) };
            return Ok(Some(self.contents_of(skill, path, uri, &bytes)));
        };
        let Some(record) = tree.file(path) else { return Ok(None) };
        let rendered = match self.state.contents.kept(&tree.store, record) {
            Some(kept) => Ok(kept),
            None => self.state.rendered(Arc::clone(&tree.store), record.clone()).await,
        };
        let rendered = self.compared(skill, path, rendered)?;
        self.state.note_read(&self.caller, skill, path);
        let media_type = media_type(skill, path, &[]);
        let about = skill.provenance.as_deref();
        Ok(rendered.map(|rendered| {
            reading::contents_of(&self.style, uri, media_type, about, rendered).counted()
        }))
    }

    /// Reads the bytes of a file of a skill, and checks them if a digest was published.
    pub(crate) async fn bytes(
        &self,
        skill: &Arc<Skill>,
        path: &RelPath,
    ) -> Result<Option<Bytes>, RpcError> {
        let bytes = match &skill.content {
            SkillContent::Generated(generator) => self.generated(generator, path).await,
            SkillContent::Files(tree) => self.stored(skill, tree, path).await,
        }?;
        if bytes.is_some() {
            self.state.note_read(&self.caller, skill, path);
        }
        Ok(bytes)
    }

    async fn generated(
        &self,
        generator: &Arc<dyn SkillGenerator>,
        path: &RelPath,
    ) -> Result<Option<Bytes>, RpcError> {
        if let Some(fetch) = generator.remote().map(|remote| remote.fetch(path)) {
            return fetch.await.map_err(|error| reading::failed(&error));
        }
        let path = path.clone();
        let (generator, permits) = (Arc::clone(generator), &self.state.permits);
        reading::run(permits, generator, move |generator| generator.read(&path)).await
    }

    async fn stored(
        &self,
        skill: &Arc<Skill>,
        tree: &FileTree,
        path: &RelPath,
    ) -> Result<Option<Bytes>, RpcError> {
        let Some(record) = tree.file(path).cloned() else { return Ok(None) };
        let store = Arc::clone(&tree.store);
        let fetched = store.remote().map(|remote| remote.fetch(&record.path, record.size));
        if let Some(fetch) = fetched {
            return self.compared(skill, path, published(fetch.await, &record));
        }
        let read = move || published(store.read(&record.path, record.size), &record);
        let read = self.state.permits.read(read).await.map_err(|error| broken(&error))?;
        self.compared(skill, path, read)
    }

    /// Returns the bytes if they match the published digest, else the error for the client.
    fn compared(
        &self,
        skill: &Skill,
        path: &RelPath,
        read: Result<Bytes, ContentError>,
    ) -> Result<Option<Bytes>, RpcError> {
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ContentError::NoAnswerMemory) => Err(NoAnswerMemory.into()),
            Err(ContentError::Changed) => {
                let uri = skill.uri.root().child(path);
                tracing::info!(%uri, "a file is not what was published");
                self.state.catalog.stale_reporter(skill).report();
                Err(resource_changed(self.era(), uri.as_str()))
            }
            Err(ContentError::Failed(reason)) => {
                tracing::error!(uri = %skill.uri.root().child(path), reason, "a file could not be read");
                Err(RpcError::internal())
            }
        }
    }

    /// Reads the instructions of a skill: its `SKILL.md` without frontmatter.
    pub(crate) async fn instructions(&self, skill: &Arc<Skill>) -> Result<String, RpcError> {
        let bytes = self.bytes(skill, &RelPath::skill_file()).await?;
        body(&bytes.ok_or_else(RpcError::internal)?)
    }

    /// Returns the `SKILL.md` of a skill for values of the arguments that its card declares. The server
    /// that has the skill may write it for them; else the values are filled in here.
    pub(crate) async fn skill_file_for(
        &self,
        skill: &Arc<Skill>,
        card: &SkillCard,
        values: &ArgumentValues,
    ) -> Result<String, RpcError> {
        let invalid = |error: InvalidArguments| RpcError::invalid_params(error.to_string());
        let (declared, path) = (card.arguments(), RelPath::skill_file());
        check_arguments(&declared, values).map_err(invalid)?;
        let remote = match &skill.content {
            SkillContent::Generated(generator) => generator.remote(),
            SkillContent::Files(_) => None,
        };
        if let Some(fetch) = remote.and_then(|remote| remote.fetch_with(values)) {
            let bytes = fetch.await.map_err(|error| reading::failed(&error))?;
            let bytes = bytes.ok_or_else(RpcError::internal)?;
            self.state.note_read(&self.caller, skill, &path);
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        let bytes = self.bytes(skill, &path).await?.ok_or_else(RpcError::internal)?;
        let text = String::from_utf8_lossy(&bytes);
        if declared.is_empty() {
            return Ok(text.into_owned());
        }
        // A value must not become a part of the frontmatter.
        let body = skill_file::read(text.as_bytes()).map_or(&*text, |(_, body)| body);
        let frontmatter = text.strip_suffix(body).unwrap_or_default();
        let body = fill(body, &declared, values).map_err(invalid)?;
        Ok(format!("{frontmatter}{body}"))
    }

    /// Lists the paths of all files of a skill in order, as far as they are known.
    pub(crate) async fn paths(&self, skill: &Skill) -> Result<Vec<RelPath>, RpcError> {
        let known = self.known_paths(skill, MAX_REMOTE_DIRECTORIES).await?;
        Ok(known.unwrap_or_else(|| vec![RelPath::skill_file()]))
    }

    /// Lists the paths of all files of a skill in order; `None` if another server generates them and
    /// does not list them. That server is asked for so many directories at most.
    pub(crate) async fn known_paths(
        &self,
        skill: &Skill,
        most_directories: usize,
    ) -> Result<Option<Vec<RelPath>>, RpcError> {
        match &skill.content {
            SkillContent::Files(tree) => {
                Ok(Some(tree.files.iter().map(|file| file.path.clone()).collect()))
            }
            SkillContent::Generated(generator) => {
                if let Some(remote) = generator.remote() {
                    return remote_paths(remote, most_directories).await;
                }
                let (generator, permits) = (Arc::clone(generator), &self.state.permits);
                let mut paths = reading::run(permits, generator, |it| it.paths()).await?;
                paths.sort_unstable();
                Ok(Some(paths))
            }
        }
    }

    /// Creates the result for one file, under the URI that the client requested.
    pub(crate) fn contents(&self, uri: &str, media_type: &str, bytes: &[u8]) -> Payload {
        reading::contents(&self.style, uri, media_type, render(bytes))
    }

    /// Creates the result for one file of a skill, under the URI that the client requested.
    pub(crate) fn contents_of(
        &self,
        skill: &Skill,
        path: &RelPath,
        uri: &str,
        bytes: &[u8],
    ) -> Payload {
        let (about, media_type) = (skill.provenance.as_deref(), media_type(skill, path, bytes));
        reading::contents_of(&self.style, uri, media_type, about, render(bytes))
    }

    /// Returns the key that a request continues from.
    pub(crate) fn after(
        &self,
        walk: (&str, &str),
        cursor: Option<&str>,
    ) -> Result<Option<String>, RpcError> {
        let Some(cursor) = cursor else { return Ok(None) };
        let scope = [walk.0, &self.caller.name, walk.1];
        self.state.seal.open(&scope, cursor).map(Some).map_err(|_| invalid_cursor())
    }

    /// Begins a result with a page and the cursor of the next one.
    pub(crate) fn begin_page(
        &self,
        walk: (&str, &str),
        member: &str,
        page: &Page<'_>,
    ) -> ResultText {
        let mut result = self.style.begin();
        result.page(member, page);
        if let Some(next) = &page.next {
            let scope = [walk.0, &self.caller.name, walk.1];
            result.string("nextCursor", &self.state.seal.seal(&scope, next));
        }
        result
    }
}

/// The most files and directories that are taken from a remote generator.
const MAX_REMOTE_PATHS: usize = 512;

/// The most directories that a remote generator is asked for.
const MAX_REMOTE_DIRECTORIES: usize = 512;

/// Lists the files of a remote skill, as far as its server lists them; `None` if it lists none.
async fn remote_paths(
    remote: &dyn RemoteGenerator,
    most_directories: usize,
) -> Result<Option<Vec<RelPath>>, RpcError> {
    let mut paths = vec![RelPath::skill_file()];
    let (mut open, mut seen, mut asked) = (vec![String::new()], 0, 0);
    while let Some(directory) = open.pop().filter(|_| asked < most_directories) {
        asked += 1;
        let told = remote.children(&directory).await.map_err(|error| reading::failed(&error))?;
        let Some(children) = told.or((asked > 1).then(Vec::new)) else { return Ok(None) };
        for child in children {
            seen += 1;
            if seen > MAX_REMOTE_PATHS {
                break;
            }
            if child.is_directory {
                open.push(child.path.to_string());
            } else {
                paths.push(child.path);
            }
        }
    }
    paths.sort_unstable();
    paths.dedup();
    Ok(Some(paths))
}

/// Returns the instructions in a `SKILL.md`.
pub(crate) fn body(skill_file: &[u8]) -> Result<String, RpcError> {
    let (_, body) = skill_file::read(skill_file).ok_or_else(RpcError::internal)?;
    Ok(body.trim_start_matches(['\r', '\n']).to_owned())
}

/// The error for a name that does not identify one skill.
#[derive(Debug)]
pub(crate) struct NameProblem {
    /// The skills that share the name.
    pub(crate) candidates: Vec<String>,
}

/// Creates the error details for a request by name.
pub(crate) fn about_name(name: &str, candidates: Vec<String>) -> serde_json::Value {
    let mut data = serde_json::json!({ "name": skillwire_protocol::truncated(name) });
    if !candidates.is_empty() {
        data["candidates"] = candidates.into();
    }
    data
}

/// Returns the media type of a file of a skill.
pub(crate) fn media_type(skill: &Skill, path: &RelPath, bytes: &[u8]) -> &'static str {
    if *path == RelPath::skill_file() {
        return "text/markdown";
    }
    match &skill.content {
        SkillContent::Files(tree) => tree.file(path).map(|file| file.media_type),
        SkillContent::Generated(_) => None,
    }
    .unwrap_or_else(|| skillwire_core::media_type::of(path.file_name(), bytes))
}

/// Returns the canonical URI of a file of a skill.
pub(crate) fn uri_of(skill: &Skill, path: &RelPath) -> ResourceUri {
    skill.uri.root().child(path)
}

/// Serialises one item of a page.
pub(crate) fn item(value: &impl serde::Serialize) -> Cow<'static, str> {
    // Items are structs and JSON values, which can always be serialised.
    Cow::Owned(serde_json::to_string(value).unwrap_or_default())
}

fn broken(error: &tokio::task::JoinError) -> RpcError {
    tracing::error!(%error, "work for an answer broke");
    RpcError::internal()
}
