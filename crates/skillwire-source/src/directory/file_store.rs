//! Reads a file of a published skill again.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::RwLock;
use skillwire_core::RelPath;

use super::{
    handle::{DirHandle, FileKind, facts_of},
    read_file::read_exactly,
};
use crate::{
    file_store::{FileStore, FileStoreError},
    location::join_path,
};

/// The root of a source: its path, and the open directory if it is held open.
#[derive(Debug)]
pub(super) struct RootDir {
    /// The path without symbolic links.
    pub(super) path: PathBuf,
    /// The directory that the last scan opened, if it is held open. If the folder is deleted and
    /// made again, it is another directory, and reads go on failing until the next scan.
    dir: RwLock<Option<Arc<DirHandle>>>,
}

impl RootDir {
    /// A root that has not been opened.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, dir: RwLock::default() }
    }

    /// Holds the directory that a scan has opened.
    pub(super) fn hold(&self, dir: &Arc<DirHandle>) {
        *self.dir.write() = Some(Arc::clone(dir));
    }

    /// The path of a directory below.
    pub(super) fn join(&self, path: &str) -> PathBuf {
        path.split('/')
            .filter(|part| !part.is_empty())
            .fold(self.path.clone(), |at, part| at.join(part))
    }

    /// The open directory: the one that is held, or else one that is opened now.
    pub(super) fn open(&self) -> Result<Arc<DirHandle>, FileStoreError> {
        self.held().map_or_else(|| self.reopened(), Ok)
    }

    /// Lets go of the directory, so that the next use opens the one that is at the path then.
    pub(super) fn release(&self) {
        *self.dir.write() = None;
    }

    fn held(&self) -> Option<Arc<DirHandle>> {
        self.dir.read().clone()
    }

    /// Opens the directory for one read, if it is not held open.
    ///
    /// As in a scan, the path is resolved before and after, so that no link leads elsewhere.
    fn reopened(&self) -> Result<Arc<DirHandle>, FileStoreError> {
        self.check_place()?;
        let dir = DirHandle::open(&self.path).map_err(failed)?;
        self.check_place()?;
        Ok(Arc::new(dir))
    }

    fn check_place(&self) -> Result<(), FileStoreError> {
        let now = std::fs::canonicalize(&self.path).map_err(failed)?;
        if now == self.path { Ok(()) } else { Err(FileStoreError::Changed) }
    }
}

/// The files of one skill in a directory.
///
/// At most the root of the source is held open. A file is opened below it step by step, without
/// following a link.
#[derive(Debug)]
pub(super) struct DirectoryFiles {
    pub(super) root: Arc<RootDir>,
    /// The outermost skill, below the root.
    pub(super) group: Arc<str>,
    /// The skill, below the outermost one.
    pub(super) inside: Box<str>,
    /// Files that are links, and the file of the skill each leads to; mostly there are none.
    pub(super) links: Box<[(RelPath, Box<str>)]>,
}

impl DirectoryFiles {
    fn leads(&self, path: &RelPath) -> Option<&str> {
        self.links.iter().find(|(link, _)| link == path).map(|(_, file)| &**file)
    }

    /// Where a file of the skill is below the root.
    fn below_root(&self, path: &RelPath) -> String {
        let file = self.leads(path).unwrap_or(path.as_str());
        join_path(&join_path(&self.group, &self.inside), file)
    }
}

impl FileStore for DirectoryFiles {
    fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, FileStoreError> {
        let root = self.root.open()?;
        let mut file = root.file_below(&self.below_root(path)).map_err(failed)?;
        let facts = facts_of(&file).map_err(failed)?;
        let size = usize::try_from(size).map_err(|_| FileStoreError::Changed)?;
        if facts.kind != FileKind::File || facts.stamp.size() != size as u64 {
            return Err(FileStoreError::Changed);
        }
        let bytes = read_exactly(&mut file, size).map_err(failed)?;
        bytes.map(Bytes::from).ok_or(FileStoreError::Changed)
    }

    #[cfg(target_os = "linux")]
    fn read_cached(&self, path: &RelPath, size: u64) -> Option<Result<Bytes, FileStoreError>> {
        let root = self.root.held()?;
        super::read_file::read_cached(&root, &self.below_root(path), size)
            .map(|bytes| Ok(Bytes::from(bytes)))
    }

    fn directory(&self) -> Option<PathBuf> {
        let group = self.root.join(&self.group);
        Some(if self.inside.is_empty() { group } else { group.join(Path::new(&*self.inside)) })
    }
}

/// A file or directory that is gone, or is something else now, was changed; anything else is a
/// failure.
fn failed(error: io::Error) -> FileStoreError {
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
        _ => FileStoreError::failed(error),
    }
}
