//! Where the bytes of a skill's files are when a client asks for them.

use std::{
    any::Any,
    collections::BTreeMap,
    path::PathBuf,
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use skillwire_core::path::RelPath;

/// Reads files of one skill again.
///
/// What comes back is whatever is there now; the caller compares it with the published digest and
/// uses it only if the two agree.
pub trait Store: Any + Send + Sync + std::fmt::Debug {
    /// Reads a file that had `size` bytes; one that is larger now need not be read whole.
    fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, StoreError>;

    /// The directory the files are in, where there is one.
    fn place(&self) -> Option<PathBuf> {
        None
    }

    /// The same if it can be done without waiting for a device; nothing says that it cannot.
    fn read_now(&self, _path: &RelPath, _size: u64) -> Option<Result<Bytes, StoreError>> {
        None
    }

    /// How to ask for the files, where somebody else has them; [`Self::read`] is not used then.
    fn remote(&self) -> Option<&dyn RemoteFiles> {
        None
    }
}

/// Something that is there when somebody else has answered.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Files that somebody else has to be asked for.
///
/// They are asked for only when a client reads them, never ahead, and whoever waits for them holds
/// no thread and no turn that another reader needs.
pub trait RemoteFiles: Send + Sync {
    /// Asks for a file that has `size` bytes, as listed; letting go of the future ends the request.
    fn fetch(&self, path: &RelPath, size: u64) -> Later<Result<Bytes, StoreError>>;

    /// Whose files these are: what was fetched from one owner is never given out as another's.
    fn owner(&self) -> Owner;
}

/// Whose bytes something is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Owner(u32);

impl Owner {
    /// This machine, for every store that is not remote.
    pub const HERE: Self = Self(0);

    /// An owner like no other of this process.
    pub fn unique() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A file could not be read; the text goes to the operator's log, never to a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file is gone or is something else now.
    #[error("the file changed")]
    Changed,
    /// The file is there but cannot be read.
    #[error("{0}")]
    Failed(String),
}

/// Files held in memory.
#[derive(Debug, Clone, Default)]
pub struct HeldFiles(BTreeMap<RelPath, Bytes>);

impl HeldFiles {
    /// Holds files.
    pub fn new(files: impl IntoIterator<Item = (RelPath, Bytes)>) -> Self {
        Self(files.into_iter().collect())
    }
}

impl Store for HeldFiles {
    fn read(&self, path: &RelPath, _size: u64) -> Result<Bytes, StoreError> {
        self.0.get(path).cloned().ok_or(StoreError::Changed)
    }

    fn read_now(&self, path: &RelPath, size: u64) -> Option<Result<Bytes, StoreError>> {
        Some(self.read(path, size))
    }
}
