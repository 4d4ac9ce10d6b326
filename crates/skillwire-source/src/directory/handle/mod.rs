//! Directories that are held open and cannot be left.
//!
//! A name is always one segment, and no symbolic link is followed: what is reached from a handle
//! lies in the directory it was opened for, whatever happens to the paths meanwhile.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
};

use super::stamp::Stamp;
use crate::tree::FileNode;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use other::{Handle, facts_of};
#[cfg(unix)]
pub(super) use unix::{Handle, facts_of};

/// What something in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Link,
    /// A fifo, socket or device.
    Special,
}

/// What a file system says about something without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) kind: Kind,
    pub(super) hard_links: u64,
    pub(super) stamp: Stamp,
}

impl Facts {
    /// The facts of a regular file as a tree keeps them.
    pub(super) fn file(&self) -> FileNode {
        let Self { hard_links, stamp, .. } = *self;
        FileNode { size: stamp.size(), hard_links, stamp: Some(stamp) }
    }
}

/// One name in a directory, and what it is where the file system lists that.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: Option<Kind>,
}

/// Makes sure that a name leads nowhere but into its directory.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(std::path::Component::Normal(part)), None) if part.len() == name.len() => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl Handle {
    /// Opens a directory below, segment by segment; `""` is the directory itself.
    pub(super) fn below(&self, path: &str) -> io::Result<Self> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let Some(first) = segments.next() else { return self.again() };
        segments.try_fold(self.directory(OsStr::new(first))?, |dir, segment| {
            dir.directory(OsStr::new(segment))
        })
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
        let root = Handle::open(folder.path()).unwrap();
        assert!(root.below("real/sub").is_ok() && root.file_below("real/sub/a").is_ok());
        for path in ["link", "link/sub", "real/../real", "real/sub/a"] {
            assert!(root.below(path).is_err(), "{path}");
        }
        for path in ["link/sub/a", "real/file", "../a"] {
            assert!(root.file_below(path).is_err(), "{path}");
        }
    }
}
