//! Where the bytes of a skill's files are when a client asks for them.

use std::{any::Any, collections::BTreeMap, path::PathBuf};

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
