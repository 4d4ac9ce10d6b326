//! The files of a version, read from the hub's store when a client asks for them.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use skillwire_core::{Digest, RelPath};
use skillwire_hub::VersionFile;
use skillwire_hub_store::{HubStore, StoreError};
use skillwire_source::{BoxFuture, ContentOwner, FileStore, FileStoreError, RemoteFiles};

/// The owner of all bytes of hubs in this process. One hub has one store, in which a digest names the same
/// bytes for every namespace, so answers to one may be cached for another.
static OWNER: LazyLock<ContentOwner> = LazyLock::new(ContentOwner::unique);

/// Reads the files of one version.
#[derive(Clone)]
pub(crate) struct VersionFiles {
    store: HubStore,
    files: Arc<[(RelPath, Digest)]>,
}

impl VersionFiles {
    pub(crate) fn new(store: HubStore, files: &[VersionFile]) -> Self {
        let files = files.iter().map(|file| (file.path.clone(), file.digest)).collect();
        Self { store, files }
    }
}

impl std::fmt::Debug for VersionFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VersionFiles").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

impl FileStore for VersionFiles {
    fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
        // Callers of a store with remote access use that instead.
        Err(FileStoreError::failed("the bytes are in the store of the hub"))
    }

    fn remote(&self) -> Option<&dyn RemoteFiles> {
        Some(self)
    }
}

impl RemoteFiles for VersionFiles {
    fn fetch(&self, path: &RelPath, size: u64) -> BoxFuture<Result<Bytes, FileStoreError>> {
        let found = self.files.iter().find(|(known, _)| known == path).map(|(_, digest)| *digest);
        let store = self.store.clone();
        Box::pin(async move {
            let digest = found.ok_or(FileStoreError::Changed)?;
            store.read_blob(&digest, size).await.map_err(|error| match error {
                // The store has written it to its audit log.
                StoreError::BlobDamaged { .. } => {
                    tracing::error!(%digest, "a stored file was changed and is not served");
                    FileStoreError::Changed
                }
                other => FileStoreError::failed(other),
            })
        })
    }

    fn owner(&self) -> ContentOwner {
        *OWNER
    }
}
