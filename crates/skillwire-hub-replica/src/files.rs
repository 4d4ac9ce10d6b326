//! The files of a version or of approved content, read from the hub's store when a client asks for them.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use skillwire_core::{ContentId, Digest, RelPath};
use skillwire_hub::VersionRef;
use skillwire_hub_store::{HubStore, OfferRecord, ServedVersion, StoreError};
use skillwire_source::{BoxFuture, ContentOwner, FileStore, FileStoreError, RemoteFiles};

/// The owner of all bytes of hubs in this process. One hub has one store, in which a digest names the same
/// bytes for every namespace, so answers to one may be cached for another.
static OWNER: LazyLock<ContentOwner> = LazyLock::new(ContentOwner::unique);

/// Reads the files of one version, or of content of an upstream.
#[derive(Clone)]
pub(crate) struct StoredFiles {
    store: HubStore,
    /// What the audit log calls it.
    name: Box<str>,
    content: ContentId,
    files: Arc<[(RelPath, Digest)]>,
}

impl StoredFiles {
    pub(crate) fn new(store: HubStore, served: &ServedVersion) -> Self {
        let version = VersionRef::new(served.id.clone(), served.version.clone());
        let files = served.files.iter().map(|file| (file.path.clone(), file.digest)).collect();
        Self { store, name: version.to_string().into(), content: served.content, files }
    }

    pub(crate) fn of_offer(store: HubStore, offer: &OfferRecord) -> Self {
        let files = offer.files.iter().map(|file| (file.path.clone(), file.digest)).collect();
        Self { store, name: offer.skill.to_string().into(), content: offer.content, files }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn content(&self) -> ContentId {
        self.content
    }

    fn digest(&self, path: &RelPath) -> Option<Digest> {
        self.files.iter().find(|(known, _)| known == path).map(|(_, digest)| *digest)
    }
}

impl std::fmt::Debug for StoredFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredFiles").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

impl FileStore for StoredFiles {
    fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
        // Callers of a store with remote access use that instead.
        Err(FileStoreError::failed("the bytes are in the store of the hub"))
    }

    fn read_cached(&self, path: &RelPath, size: u64) -> Option<Result<Bytes, FileStoreError>> {
        // The engine compares the bytes with their digest. If they differ it reads them again by
        // `fetch`, which reports the damage.
        self.store.read_blob_now(&self.digest(path)?, size).map(Ok)
    }

    fn remote(&self) -> Option<&dyn RemoteFiles> {
        Some(self)
    }
}

impl RemoteFiles for StoredFiles {
    fn fetch(&self, path: &RelPath, size: u64) -> BoxFuture<Result<Bytes, FileStoreError>> {
        let found = self.digest(path);
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
