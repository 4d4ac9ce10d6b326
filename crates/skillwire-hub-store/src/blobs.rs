//! Files by the hash of their bytes, in a folder or an object store.
//!
//! A blob is hashed on its way in and on its way out. Its name is its digest, so writing one twice is
//! harmless and needs no condition that an object store would have to keep under races.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{
    ClientOptions, ObjectStore, ObjectStoreExt as _, RetryConfig, aws::AmazonS3Builder,
    local::LocalFileSystem, path::Path as Key,
};
use skillwire_core::Digest;

use crate::{
    blob_cache::BlobCache,
    error::StoreError,
    options::{BlobLocation, S3Location},
};

/// Larger blobs are hashed on a thread of their own, so that they hold up no other request.
const HASHED_IN_PLACE: u64 = 256 << 10;

/// How many blobs are written or deleted at the same time.
const PARALLEL: usize = 8;

/// Files by the hash of their bytes.
#[derive(Clone)]
pub(crate) struct BlobStore {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// The folder, if the blobs are in one: plain reads are four times as fast as those of the library.
    folder: Option<PathBuf>,
    /// Blobs that were read, if they are not in a folder anyway.
    cache: Option<BlobCache>,
}

impl BlobStore {
    pub(crate) fn open(location: &BlobLocation, timeout: Duration) -> Result<Self, StoreError> {
        match location {
            BlobLocation::Folder(folder) => {
                std::fs::create_dir_all(folder)
                    .map_err(|source| StoreError::File { path: folder.clone(), source })?;
                let folder = std::path::absolute(folder)
                    .map_err(|source| StoreError::File { path: folder.clone(), source })?;
                // Without `fsync` an acknowledged publication could be lost with the power.
                let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
                Ok(Self {
                    store: Arc::new(store),
                    prefix: String::new(),
                    folder: Some(folder),
                    cache: None,
                })
            }
            BlobLocation::S3(location) => {
                let store = open_s3(location, timeout)?;
                Ok(Self { store, prefix: location.prefix.clone(), folder: None, cache: None })
            }
        }
    }

    /// Keeps blobs that are read in a cache, unless they are in a folder anyway.
    #[must_use]
    pub(crate) fn with_cache(mut self, cache: Option<BlobCache>) -> Self {
        self.cache = cache.filter(|_| self.folder.is_none());
        self
    }

    fn key(&self, digest: &Digest) -> Key {
        let hex = digest.hex();
        let name = format!("sha256/{}/{}", &hex[..2], &hex[2..]);
        if self.prefix.is_empty() {
            Key::from(name)
        } else {
            Key::from(format!("{}/{name}", self.prefix))
        }
    }

    /// Writes blobs. One that is there with the right bytes stays; one that was changed is replaced.
    pub(crate) async fn put_all(
        &self,
        blobs: impl IntoIterator<Item = (Digest, Bytes)>,
    ) -> Result<(), StoreError> {
        stream::iter(blobs)
            .map(|(digest, bytes)| self.put(digest, bytes))
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await
    }

    async fn put(&self, digest: Digest, bytes: Bytes) -> Result<(), StoreError> {
        debug_assert_eq!(Digest::of(&bytes), digest, "blobs are named by their bytes");
        match self.get(&digest, bytes.len() as u64).await {
            Ok(_) => return Ok(()),
            Err(StoreError::BlobMissing { .. }) => {}
            Err(StoreError::BlobDamaged { .. }) => {
                tracing::warn!(%digest, "a blob had other bytes and is written again");
            }
            Err(error) => return Err(error),
        }
        self.store.put(&self.key(&digest), bytes.into()).await?;
        Ok(())
    }

    /// Reads a blob, from the cache if it is there, and compares its bytes with its name.
    pub(crate) async fn get_cached(&self, digest: &Digest, size: u64) -> Result<Bytes, StoreError> {
        let Some(cache) = self.cache.clone() else {
            return self.get(digest, size).await;
        };
        let (found, wanted) = (cache.clone(), *digest);
        if let Some(bytes) = blocking(move || found.get(&wanted)).await? {
            return Ok(bytes);
        }
        let bytes = self.get(digest, size).await?;
        let kept = bytes.clone();
        blocking(move || cache.keep(&wanted, &kept)).await?;
        Ok(bytes)
    }

    /// Deletes blobs from the cache.
    pub(crate) async fn forget_cached(&self, digests: Vec<Digest>) -> Result<(), StoreError> {
        match self.cache.clone() {
            Some(cache) => blocking(move || cache.forget(&digests)).await,
            None => Ok(()),
        }
    }

    /// Deletes every blob from the cache.
    pub(crate) async fn forget_all_cached(&self) -> Result<(), StoreError> {
        match self.cache.clone() {
            Some(cache) => blocking(move || cache.forget_all()).await,
            None => Ok(()),
        }
    }

    /// Reads a blob and compares its bytes with its name.
    pub(crate) async fn get(&self, digest: &Digest, size: u64) -> Result<Bytes, StoreError> {
        let wanted = *digest;
        if let Some(folder) = &self.folder {
            let path = folder.join(self.key(digest).as_ref());
            return blocking(move || compare(&wanted, size, read_file(&path, size)?)).await?;
        }
        let bytes = self.get_object(digest, size).await?;
        if size < HASHED_IN_PLACE {
            compare(digest, size, bytes)
        } else {
            blocking(move || compare(&wanted, size, bytes)).await?
        }
    }

    /// Reads a blob of a folder if the kernel has it in memory; the bytes are not compared with its name.
    #[cfg(target_os = "linux")]
    pub(crate) fn read_now(&self, digest: &Digest, size: u64) -> Option<Bytes> {
        use rustix::{
            fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
            io::{ReadWriteFlags, preadv2},
        };
        let path = self.folder.as_ref()?.join(self.key(digest).as_ref());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
        // One byte more than announced is enough to see that there is more.
        let mut bytes = vec![0; usize::try_from(size).ok()? + 1];
        let buffer = &mut [std::io::IoSliceMut::new(&mut bytes)];
        let read = preadv2(&file, buffer, 0, ReadWriteFlags::NOWAIT).ok()?;
        bytes.truncate(read);
        (read as u64 == size).then(|| bytes.into())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read_now(&self, _: &Digest, _: u64) -> Option<Bytes> {
        None
    }

    /// Reads an object, but never more than its size should be.
    async fn get_object(&self, digest: &Digest, size: u64) -> Result<Option<Bytes>, StoreError> {
        let found = match self.store.get(&self.key(digest)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if found.meta.size == size {
            Ok(Some(found.bytes().await?))
        } else {
            Err(StoreError::BlobDamaged { digest: *digest, actual: None })
        }
    }

    /// Deletes blobs; those that are not there are deleted already.
    pub(crate) async fn delete_all(&self, blobs: &[Digest]) -> Result<(), StoreError> {
        self.forget_cached(blobs.to_vec()).await?;
        let keys: Vec<_> = blobs.iter().map(|digest| self.key(digest)).collect();
        stream::iter(keys)
            .map(|key| {
                let store = Arc::clone(&self.store);
                async move {
                    match store.delete(&key).await {
                        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                        Err(error) => Err(StoreError::from(error)),
                    }
                }
            })
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await
    }
}

fn open_s3(location: &S3Location, timeout: Duration) -> Result<Arc<dyn ObjectStore>, StoreError> {
    // The client takes the process's provider; a program that chose one before keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig { max_retries: 2, retry_timeout: timeout, ..RetryConfig::default() };
    let client = ClientOptions::new().with_timeout(timeout).with_connect_timeout(timeout);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&location.bucket)
        .with_region(&location.region)
        .with_client_options(client)
        .with_retry(retry);
    if let Some(endpoint) = &location.endpoint {
        builder = builder
            .with_endpoint(endpoint)
            .with_allow_http(endpoint.starts_with("http://"))
            .with_virtual_hosted_style_request(false);
    }
    if let (Some(access), Some(secret)) = (&location.access_key, &location.secret_key) {
        builder = builder.with_access_key_id(access).with_secret_access_key(secret);
    }
    Ok(Arc::new(builder.build()?))
}

/// Runs work that blocks or takes long on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Unavailable { part: "blob store", source: error.into() })
}

/// Compares bytes that were found with what their name says.
fn compare(digest: &Digest, size: u64, bytes: Option<Bytes>) -> Result<Bytes, StoreError> {
    let Some(bytes) = bytes else {
        return Err(StoreError::BlobMissing { digest: *digest });
    };
    if bytes.len() as u64 != size {
        return Err(StoreError::BlobDamaged { digest: *digest, actual: None });
    }
    let actual = Digest::of(&bytes);
    if actual != *digest {
        return Err(StoreError::BlobDamaged { digest: *digest, actual: Some(actual) });
    }
    Ok(bytes)
}

/// Reads a file, but never more than one byte beyond its size. Blocks.
fn read_file(path: &Path, size: u64) -> Result<Option<Bytes>, StoreError> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(unreadable(source)),
    };
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(64 << 20));
    file.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(Bytes::from(bytes)))
}

fn unreadable(source: std::io::Error) -> StoreError {
    StoreError::Unavailable { part: "blob store", source: source.into() }
}
