//! Reading a file of a published skill again.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use bytes::Bytes;
use skillwire_core::RelPath;

use super::{
    handle::{Handle, Kind, facts_of},
    read::read_exactly,
};
use crate::{
    file_store::{FileStore, FileStoreError},
    location::below,
};

/// The root of a source: where it is, and the directory that may be held open for it.
#[derive(Debug)]
pub(super) struct Root {
    /// The path without symbolic links.
    pub(super) path: PathBuf,
    /// The directory the last scan saw, where it is held open; one that was deleted and made again is
    /// another one.
    dir: RwLock<Option<Arc<Handle>>>,
}

impl Root {
    /// A root that has not been opened.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, dir: RwLock::default() }
    }

    /// Lets files be read from the directory a scan has opened.
    pub(super) fn keep(&self, dir: &Arc<Handle>) {
        *self.dir.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(dir));
    }

    /// The path of a directory below.
    pub(super) fn join(&self, path: &str) -> PathBuf {
        path.split('/')
            .filter(|part| !part.is_empty())
            .fold(self.path.clone(), |at, part| at.join(part))
    }

    fn held(&self) -> Option<Arc<Handle>> {
        self.dir.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the directory for one read, where it is not held open.
    ///
    /// As when a scan opens it, the path is looked at before and after, so that no link leads elsewhere.
    fn reopened(&self) -> Result<Arc<Handle>, FileStoreError> {
        self.check_place()?;
        let dir = Handle::open(&self.path).map_err(|error| failed(&error))?;
        self.check_place()?;
        Ok(Arc::new(dir))
    }

    fn check_place(&self) -> Result<(), FileStoreError> {
        let now = std::fs::canonicalize(&self.path).map_err(|error| failed(&error))?;
        if now == self.path { Ok(()) } else { Err(FileStoreError::Changed) }
    }
}

/// The files of one skill in a directory.
///
/// At most the root of the source is held open; a file is opened below it step by step, without
/// following a link.
#[derive(Debug)]
pub(super) struct DirectoryStore {
    pub(super) root: Arc<Root>,
    /// The outermost skill, below the root.
    pub(super) site: Arc<str>,
    /// The skill, below the outermost one.
    pub(super) inside: Box<str>,
    /// Files that are links, and the file of the skill each leads to; mostly there are none.
    pub(super) links: Box<[(RelPath, Box<str>)]>,
}

impl DirectoryStore {
    fn leads(&self, path: &RelPath) -> Option<&str> {
        self.links.iter().find(|(link, _)| link == path).map(|(_, file)| &**file)
    }

    /// Where a file of the skill is below the root.
    fn below_root(&self, path: &RelPath) -> String {
        let file = self.leads(path).unwrap_or(path.as_str());
        below(&below(&self.site, &self.inside), file)
    }
}

impl FileStore for DirectoryStore {
    fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, FileStoreError> {
        let root = self.root.held().map_or_else(|| self.root.reopened(), Ok)?;
        let mut file = root.file_below(&self.below_root(path)).map_err(|error| failed(&error))?;
        let facts = facts_of(&file).map_err(|error| failed(&error))?;
        let size = usize::try_from(size).map_err(|_| FileStoreError::Changed)?;
        if facts.kind != Kind::File || facts.stamp.size() != size as u64 {
            return Err(FileStoreError::Changed);
        }
        let bytes = read_exactly(&mut file, size).map_err(|error| failed(&error))?;
        bytes.map(Bytes::from).ok_or(FileStoreError::Changed)
    }

    #[cfg(target_os = "linux")]
    fn read_cached(&self, path: &RelPath, size: u64) -> Option<Result<Bytes, FileStoreError>> {
        let root = self.root.held()?;
        super::cached::read(&root, &self.below_root(path), size).map(|bytes| Ok(Bytes::from(bytes)))
    }

    fn directory(&self) -> Option<PathBuf> {
        let site = self.root.join(&self.site);
        Some(if self.inside.is_empty() { site } else { site.join(Path::new(&*self.inside)) })
    }
}

/// A file or directory that is gone, or is something else now, was changed; anything else is a
/// failure.
fn failed(error: &io::Error) -> FileStoreError {
    // Opening a link without following it gives ELOOP, and opening a socket gives ENXIO or, on
    // some systems, EOPNOTSUPP.
    #[cfg(unix)]
    let replaced = {
        use rustix::io::Errno;
        let kinds = [Errno::LOOP, Errno::NXIO, Errno::OPNOTSUPP, Errno::MLINK];
        kinds.iter().any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
    };
    #[cfg(not(unix))]
    let replaced = false;
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileStoreError::Changed,
        _ if replaced => FileStoreError::Changed,
        _ => FileStoreError::Failed(error.to_string()),
    }
}
