//! Open directories, through which everything is read.
//!
//! A name is always one segment, and no symbolic link is followed. So everything that is reached
//! from a handle lies in the directory that it was opened for, even if other processes rename or
//! replace directories meanwhile. On Unix each step is one system call; cap-std repeats checks that
//! a single step does not need, which the scan of many files would notice. Elsewhere cap-std is
//! used.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
};

use super::stamp::FileStamp;
use crate::tree::FileNode;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use other::{DirHandle, facts_of};
#[cfg(unix)]
pub(super) use unix::{DirHandle, facts_of};

/// The kind of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Directory,
    File,
    Link,
    /// A fifo, socket or device.
    Special,
}

/// The metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFacts {
    pub(super) kind: FileKind,
    pub(super) hard_links: u64,
    pub(super) stamp: FileStamp,
}

impl FileFacts {
    /// The facts of a regular file as a tree keeps them.
    pub(super) fn file(&self) -> FileNode {
        let Self { hard_links, stamp, .. } = *self;
        FileNode { size: stamp.size(), hard_links, stamp: Some(stamp) }
    }
}

/// An entry of a directory, with its kind if the file system lists that.
#[derive(Debug)]
pub(super) struct DirEntry {
    pub(super) name: OsString,
    pub(super) kind: Option<FileKind>,
}

/// Tells whether an error says that a directory does not exist any more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes sure that a name is one segment, which cannot lead out of its directory.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(std::path::Component::Normal(part)), None) if part.len() == name.len() => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl DirHandle {
    /// Opens a directory below, segment by segment; `""` is the directory itself.
    pub(super) fn below(&self, path: &str) -> io::Result<Self> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let Some(first) = segments.next() else { return self.again() };
        segments.try_fold(self.directory(OsStr::new(first))?, |dir, segment| {
            dir.directory(OsStr::new(segment))
        })
    }

    /// Tells whether a path still names this directory; `true` if that cannot be told.
    ///
    /// Other processes can move a directory away and delete it while it is open here. Where the
    /// system has no numbers for directories, it is only seen that there is one at the path.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        match (Self::facts_at(path), self.own_facts()) {
            (Ok(there), Ok(own)) => there.stamp.is_same_file(&own.stamp),
            (Err(error), _) => !is_gone(&error),
            (_, Err(_)) => true,
        }
    }

    /// Opens a file below for reading, without waiting for anything.
    pub(super) fn file_below(&self, path: &str) -> io::Result<std::fs::File> {
        match path.rsplit_once('/') {
            None => self.file(OsStr::new(path)),
            Some((dir, name)) => self.below(dir)?.file(OsStr::new(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_and_leads_nowhere_else_v_34() {
        for name in ["", ".", "..", "a/b", "/", "/a", "a/", "a/.."] {
            assert!(single(OsStr::new(name)).is_err(), "{name}");
        }
        for name in ["a", "...", ".a", "a b"] {
            assert!(single(OsStr::new(name)).is_ok(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_handle_opens_nothing_through_a_link_v_34() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir_all(folder.path().join("real/sub")).unwrap();
        std::fs::write(folder.path().join("real/sub/a"), "a").unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("sub/a", folder.path().join("real/file")).unwrap();
        let root = DirHandle::open(folder.path()).unwrap();
        assert!(root.below("real/sub").is_ok() && root.file_below("real/sub/a").is_ok());
        for path in ["link", "link/sub", "real/../real", "real/sub/a"] {
            assert!(root.below(path).is_err(), "{path}");
        }
        for path in ["link/sub/a", "real/file", "../a"] {
            assert!(root.file_below(path).is_err(), "{path}");
        }
    }
}
