//! Reads the files of a published skill when a client asks for them.

use std::{
    any::Any,
    collections::BTreeMap,
    error::Error,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use skillwire_core::RelPath;

/// Reads files of one skill again, after its digests were published.
///
/// A store returns the bytes that are there now. They may differ from those that were scanned: the
/// caller compares them with the published digest and sends them only if the two agree.
pub trait FileStore: Any + Send + Sync + std::fmt::Debug {
    /// Reads a file that had `size` bytes when it was scanned.
    ///
    /// If the file is larger now, the store need not read all of it.
    fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, FileStoreError>;

    /// The directory that holds the files, if they are in one.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Reads a file only if that needs no waiting for a device; `None` if it might.
    ///
    /// A server calls this on its event loop, so an implementation must never block.
    fn read_cached(&self, _path: &RelPath, _size: u64) -> Option<Result<Bytes, FileStoreError>> {
        None
    }

    /// Tells whether the files must not be sent any more, although the skill is still published.
    ///
    /// A server asks this for each read, also if it has the bytes in memory: a decision such as the
    /// withdrawal of an approval takes effect before the next scan finds it.
    fn is_withdrawn(&self) -> bool {
        false
    }

    /// The remote access to the files, if another server has them; [`Self::read`] is not used then.
    fn remote(&self) -> Option<&dyn RemoteFiles> {
        None
    }
}

/// A boxed future without borrowed data.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Files that have to be requested from another server.
///
/// They are requested only when a client reads them, never ahead. A request is a future, so that a
/// slow server occupies neither a thread nor a permit that local reads need.
pub trait RemoteFiles: Send + Sync {
    /// Requests a file that has `size` bytes, as listed; dropping the future cancels the request.
    fn fetch(&self, path: &RelPath, size: u64) -> BoxFuture<Result<Bytes, FileStoreError>>;

    /// The server that the bytes come from.
    fn owner(&self) -> ContentOwner;
}

/// Identifies the server that bytes come from, as a part of cache keys.
///
/// Two servers may list the same digest. Bytes that one of them sent are never served as the
/// other's: a server that only knows a digest would otherwise serve content that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentOwner(u32);

impl ContentOwner {
    /// This machine: the owner of every store that is not remote.
    pub const LOCAL: Self = Self(0);

    /// Makes an owner that is different from all others of this process.
    pub fn unique() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A file could not be read; the text goes to the operator's log, never to a client.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FileStoreError {
    /// The file is gone or is something else now.
    #[error("the file changed")]
    Changed,
    /// The file is there but cannot be read.
    #[error("{0}")]
    Failed(#[source] Arc<dyn Error + Send + Sync>),
}

/// Two of them are equal if an operator would read the same.
impl PartialEq for FileStoreError {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Changed, Self::Changed) => true,
            (Self::Failed(one), Self::Failed(two)) => one.to_string() == two.to_string(),
            (Self::Changed | Self::Failed(_), _) => false,
        }
    }
}

impl FileStoreError {
    /// Says why a file cannot be read: with an error, or with a text.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(error.into().into())
    }
}

/// Files held in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles(BTreeMap<RelPath, Bytes>);

impl MemoryFiles {
    /// Holds the given files.
    pub fn new(files: impl IntoIterator<Item = (RelPath, Bytes)>) -> Self {
        Self(files.into_iter().collect())
    }
}

impl FileStore for MemoryFiles {
    fn read(&self, path: &RelPath, _size: u64) -> Result<Bytes, FileStoreError> {
        self.0.get(path).cloned().ok_or(FileStoreError::Changed)
    }

    fn read_cached(&self, path: &RelPath, size: u64) -> Option<Result<Bytes, FileStoreError>> {
        Some(self.read(path, size))
    }
}
