//! The files of skills that are passed on: asked for when a client reads them, and not before.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use skillwire_core::{RelPath, Resources, SkillResource};
use skillwire_source::{
    BoxFuture, ContentOwner, FileStore, FileStoreError, GenerateError, RemoteChild, RemoteFiles,
    RemoteGenerator, SkillGenerator,
};
use skillwire_trust::{ListedSkill, Reason, Refusal};
use tokio::task::JoinHandle;

use crate::followed::shared::Shared;

/// What a reader is told who did not ask as one asks somebody else.
const ASK: &str = "the file has to be asked for";

/// Why a server has no such file: it says so, or never listed it where its dialect lists files.
const NOT_THERE: [Reason; 2] = [Reason::FileMissing, Reason::FileNotListed];

/// The listed files of one skill.
#[derive(Debug)]
pub(crate) struct ServerFiles {
    shared: Arc<Shared>,
    listed: ListedSkill,
}

impl ServerFiles {
    pub(crate) fn new(shared: Arc<Shared>, listed: ListedSkill) -> Self {
        Self { shared, listed }
    }
}

/// What an entry lists about one of the skill's files.
pub(crate) fn resource<'a>(listed: &'a ListedSkill, path: &RelPath) -> Option<&'a SkillResource> {
    let Resources::Listed(files) = &listed.entry().resources else { return None };
    let uri = listed.id().uri.root().child(path);
    files.iter().find(|file| file.uri == uri)
}

impl FileStore for ServerFiles {
    fn read(&self, _path: &RelPath, _size: u64) -> Result<Bytes, FileStoreError> {
        Err(FileStoreError::Failed(ASK.to_owned()))
    }

    fn remote(&self) -> Option<&dyn RemoteFiles> {
        Some(self)
    }
}

impl RemoteFiles for ServerFiles {
    fn fetch(&self, path: &RelPath, _size: u64) -> BoxFuture<Result<Bytes, FileStoreError>> {
        let Some(file) = resource(&self.listed, path).cloned() else {
            return Box::pin(async { Err(FileStoreError::Changed) });
        };
        let (shared, listed) = (Arc::clone(&self.shared), self.listed.clone());
        let asked = self.shared.runtime.spawn(async move {
            let read = {
                // The semaphore is never closed, so there is always a turn.
                let _turn = shared.turns.acquire().await;
                shared.relay.read(&listed, &file).await
            };
            match read {
                Ok(verified) => Ok(verified.bytes().clone()),
                Err(refusal) if is_about_content(&refusal) => {
                    tracing::info!("{refusal}");
                    shared.look_again(&listed, &refusal);
                    Err(FileStoreError::Changed)
                }
                Err(refusal) => Err(FileStoreError::Failed(refusal.to_string())),
            }
        });
        let broken = |error: &dyn std::fmt::Display| Err(FileStoreError::Failed(error.to_string()));
        Box::pin(async move { Asked(asked).await.unwrap_or_else(|error| broken(&error)) })
    }

    fn owner(&self) -> ContentOwner {
        self.shared.owner
    }
}

/// The files of one skill whose server lists no digests.
#[derive(Debug)]
pub(crate) struct ServerGenerator {
    shared: Arc<Shared>,
    listed: ListedSkill,
}

impl ServerGenerator {
    pub(crate) fn new(shared: Arc<Shared>, listed: ListedSkill) -> Self {
        Self { shared, listed }
    }
}

impl SkillGenerator for ServerGenerator {
    fn read(&self, _path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        Err(GenerateError(ASK.to_owned()))
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        Err(GenerateError(ASK.to_owned()))
    }

    fn remote(&self) -> Option<&dyn RemoteGenerator> {
        Some(self)
    }
}

impl RemoteGenerator for ServerGenerator {
    fn fetch(&self, path: &RelPath) -> BoxFuture<Result<Option<Bytes>, GenerateError>> {
        if !self.shared.admission.admits_file(&self.listed, path) {
            return Box::pin(async { Ok(None) });
        }
        let (shared, listed) = (Arc::clone(&self.shared), self.listed.clone());
        let uri = listed.id().uri.root().child(path);
        let asked = self.shared.runtime.spawn(async move {
            let _turn = shared.turns.acquire().await;
            match shared.relay.read_dynamic(&listed, &uri).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(refusal) if NOT_THERE.contains(&refusal.reason) => Ok(None),
                Err(refusal) => Err(GenerateError(refusal.to_string())),
            }
        });
        let broken = |error: &dyn std::fmt::Display| Err(GenerateError(error.to_string()));
        Box::pin(async move { Asked(asked).await.unwrap_or_else(|error| broken(&error)) })
    }

    /// There is no manifest, so that only the server can say what is there, if it does.
    fn children(
        &self,
        directory: &str,
    ) -> BoxFuture<Result<Option<Vec<RemoteChild>>, GenerateError>> {
        let (shared, listed) = (Arc::clone(&self.shared), self.listed.clone());
        let root = listed.id().uri.root();
        let uri = match RelPath::parse(directory) {
            Ok(path) => root.child(&path),
            Err(_) => root.clone(),
        };
        let asked = self.shared.runtime.spawn(async move {
            let children = {
                let _turn = shared.turns.acquire().await;
                shared.relay.children(&uri).await
            };
            let children = children.map_err(|refusal| GenerateError(refusal.to_string()))?;
            let told = children.map(|children| {
                let children = children.into_iter().filter_map(|child| {
                    let path = listed.id().uri.below(&child.uri)?;
                    let admitted = shared.admission.admits_file(&listed, &path);
                    admitted.then_some(RemoteChild { path, is_directory: child.is_directory })
                });
                children.collect()
            });
            Ok(told)
        });
        let broken = |error: &dyn std::fmt::Display| Err(GenerateError(error.to_string()));
        Box::pin(async move { Asked(asked).await.unwrap_or_else(|error| broken(&error)) })
    }
}

/// Tells whether the entry is to be asked for anew.
pub(crate) fn is_about_content(refusal: &Refusal) -> bool {
    let changed = [Reason::Changed, Reason::SkillUnstable, Reason::SkillNotFound];
    refusal.reason.is_about_content() || changed.contains(&refusal.reason)
}

/// A request to a server, which ends when nobody waits for it any more.
struct Asked<T>(JoinHandle<T>);

impl<T> Future for Asked<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
