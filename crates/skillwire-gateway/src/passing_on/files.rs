//! The files of skills that are passed on. The gateway fetches a file when a client reads it.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use skillwire_core::{RelPath, Resources, SkillResource};
use skillwire_source::{
    BoxFuture, ContentOwner, FileStore, FileStoreError, GenerateError, MakeEntry, RemoteChild,
    RemoteFiles, RemoteGenerator, SkillGenerator,
};
use skillwire_trust::{FetchRoute, ListedSkill, Reason, Refusal};
use tokio::task::JoinHandle;

use crate::{
    followed::source::SourceState,
    passing_on::entry::{passed_on_entry, text_of},
};

/// The error for a caller that reads without waiting, although the file has to be fetched.
const NOT_LOCAL: &str = "the file has to be fetched from its server";

/// The refusals that mean that there is no such file, by the server's answer or by its listing.
const NOT_THERE: [Reason; 2] = [Reason::FileMissing, Reason::FileNotListed];

/// The listed files of one skill.
#[derive(Debug)]
pub(crate) struct ServerFiles {
    source: Arc<SourceState>,
    listed: ListedSkill,
}

impl ServerFiles {
    pub(crate) fn new(source: Arc<SourceState>, listed: ListedSkill) -> Self {
        Self { source, listed }
    }
}

/// The entry's record of one of the skill's files.
pub(crate) fn resource<'a>(listed: &'a ListedSkill, path: &RelPath) -> Option<&'a SkillResource> {
    let Resources::Listed(files) = &listed.entry().resources else { return None };
    let uri = listed.id().uri.root().child(path);
    files.iter().find(|file| file.uri == uri)
}

impl FileStore for ServerFiles {
    fn read(&self, _path: &RelPath, _size: u64) -> Result<Bytes, FileStoreError> {
        Err(FileStoreError::failed(NOT_LOCAL))
    }

    fn is_withdrawn(&self) -> bool {
        !self.source.rules.admission.still_admits(&self.listed)
    }

    fn remote(&self) -> Option<&dyn RemoteFiles> {
        Some(self)
    }
}

impl MakeEntry for ServerFiles {
    fn make(&self) -> Option<String> {
        let SourceState { rules, shared, .. } = &*self.source;
        let notes = rules.notes_of(&self.listed);
        passed_on_entry(&text_of(&self.listed), &rules.uris, &shared.gateway, &notes).ok()
    }
}

impl RemoteFiles for ServerFiles {
    fn fetch(&self, path: &RelPath, _size: u64) -> BoxFuture<Result<Bytes, FileStoreError>> {
        let Some(file) = resource(&self.listed, path).cloned() else {
            return Box::pin(async { Err(FileStoreError::Changed) });
        };
        let (source, listed) = (Arc::clone(&self.source), self.listed.clone());
        let request = self.source.shared.runtime.spawn(async move {
            let shared = &source.shared;
            let read = shared.asked(shared.relay.read(&listed, &file)).await;
            match read {
                Ok(_) if !source.rules.admission.still_admits(&listed) => {
                    Err(FileStoreError::Changed)
                }
                Ok(verified) => Ok(verified.bytes().clone()),
                Err(refusal) if is_about_content(&refusal) => {
                    tracing::info!("{refusal}");
                    shared.look_again(&listed, &refusal);
                    Err(FileStoreError::Changed)
                }
                Err(refusal) => Err(FileStoreError::failed(refusal)),
            }
        });
        Box::pin(async move {
            AbortOnDrop(request).await.unwrap_or_else(|error| Err(FileStoreError::failed(error)))
        })
    }

    fn owner(&self) -> ContentOwner {
        self.source.shared.owner
    }
}

/// The files of one skill whose server lists no digests.
#[derive(Debug)]
pub(crate) struct ServerGenerator {
    source: Arc<SourceState>,
    listed: ListedSkill,
}

impl ServerGenerator {
    pub(crate) fn new(source: Arc<SourceState>, listed: ListedSkill) -> Self {
        Self { source, listed }
    }

    /// Reads a file of the skill, or the `SKILL.md` that its server writes for some values.
    fn read_now(
        &self,
        path: &RelPath,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<Result<Option<Bytes>, GenerateError>> {
        if !self.source.rules.admission.admits_file(&self.listed, path) {
            return Box::pin(async { Ok(None) });
        }
        let (source, listed) = (Arc::clone(&self.source), self.listed.clone());
        let uri = listed.id().uri.root().child(path);
        let request = self.source.shared.runtime.spawn(async move {
            let (shared, relay) = (&source.shared, &source.shared.relay);
            let read = async {
                let approved_only = source.rules.admission.holds_to_approval();
                if !arguments.is_empty() {
                    relay.read_with(&listed, &arguments, approved_only).await
                } else if approved_only {
                    relay.read_approved(&listed, &uri).await
                } else {
                    relay.read_dynamic(&listed, &uri).await
                }
            };
            match Box::pin(shared.asked(read)).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(refusal) if NOT_THERE.contains(&refusal.reason) => Ok(None),
                Err(refusal) => {
                    if is_about_content(&refusal) {
                        shared.look_again(&listed, &refusal);
                    }
                    Err(GenerateError::new(refusal))
                }
            }
        });
        Box::pin(async move {
            AbortOnDrop(request).await.unwrap_or_else(|error| Err(GenerateError::new(error)))
        })
    }
}

impl SkillGenerator for ServerGenerator {
    fn read(&self, _path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        Err(GenerateError::new(NOT_LOCAL))
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        Err(GenerateError::new(NOT_LOCAL))
    }

    fn remote(&self) -> Option<&dyn RemoteGenerator> {
        Some(self)
    }
}

impl RemoteGenerator for ServerGenerator {
    fn fetch(&self, path: &RelPath) -> BoxFuture<Result<Option<Bytes>, GenerateError>> {
        self.read_now(path, BTreeMap::new())
    }

    fn fetch_with(
        &self,
        arguments: &BTreeMap<String, String>,
    ) -> Option<BoxFuture<Result<Option<Bytes>, GenerateError>>> {
        let writes = matches!(self.listed.offer()?.route, FetchRoute::SkillsGet { .. });
        writes.then(|| self.read_now(&RelPath::skill_file(), arguments.clone()))
    }

    /// Asks the server for the files of a directory: without a manifest, only the server knows
    /// them, and some servers do not list them.
    fn children(
        &self,
        directory: &str,
    ) -> BoxFuture<Result<Option<Vec<RemoteChild>>, GenerateError>> {
        let (source, listed) = (Arc::clone(&self.source), self.listed.clone());
        let root = listed.id().uri.root();
        let uri = match RelPath::parse(directory) {
            Ok(path) => root.child(&path),
            Err(_) => root.clone(),
        };
        let request = self.source.shared.runtime.spawn(async move {
            let shared = &source.shared;
            let children = shared.asked(shared.relay.children(&listed, &uri)).await;
            let children = children.map_err(GenerateError::new)?;
            let listed_children = children.map(|children| {
                let children = children.into_iter().filter_map(|child| {
                    let path = listed.id().uri.below(&child.uri)?;
                    let admitted = source.rules.admission.admits_file(&listed, &path);
                    admitted.then_some(RemoteChild { path, is_directory: child.is_directory })
                });
                children.collect()
            });
            Ok(listed_children)
        });
        Box::pin(async move {
            AbortOnDrop(request).await.unwrap_or_else(|error| Err(GenerateError::new(error)))
        })
    }
}

/// Tells whether a refusal means that the entry is outdated.
pub(crate) fn is_about_content(refusal: &Refusal) -> bool {
    let changed = [Reason::Changed, Reason::SkillUnstable, Reason::SkillNotFound];
    refusal.reason.is_about_content() || changed.contains(&refusal.reason)
}

/// A request to a server that runs in a task of its own. Dropping this aborts the task, so that a
/// client that cancels its request does not leave the gateway fetching.
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
