//! Handles where there are no system calls relative to a directory: cap-std does the work.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, FileType, Metadata, OpenOptions},
};

use super::{DirEntry, FileFacts, FileKind, single};
use crate::directory::stamp::FileStamp;

/// An open directory.
#[derive(Debug)]
pub(in crate::directory) struct DirHandle(Dir);

impl DirHandle {
    /// Opens a directory by its path.
    pub(in crate::directory) fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }

    /// Opens the directory once more, to list it from the beginning.
    pub(in crate::directory) fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Opens a directory in this one.
    pub(in crate::directory) fn directory(&self, name: &OsStr) -> io::Result<Self> {
        self.0.open_dir_nofollow(single(name)?).map(Self)
    }

    /// Opens a file in this directory for reading.
    pub(in crate::directory) fn file(&self, name: &OsStr) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        self.0.open_with(single(name)?, &options).map(cap_std::fs::File::into_std)
    }

    /// The metadata of an entry of this directory; a link is not followed.
    pub(in crate::directory) fn facts(&self, name: &OsStr) -> io::Result<FileFacts> {
        self.0.symlink_metadata(single(name)?).map(|metadata| facts(&metadata))
    }

    /// The metadata of what is at a path; a link in the last place is not followed.
    pub(super) fn facts_at(path: &Path) -> io::Result<FileFacts> {
        let metadata = std::fs::symlink_metadata(path)?;
        let kind = if metadata.is_dir() { FileKind::Directory } else { FileKind::Special };
        let stamp = FileStamp::new(metadata.len(), metadata.modified().ok(), None, (0, 0));
        Ok(FileFacts { kind, hard_links: 1, stamp })
    }

    /// The metadata of the directory itself.
    pub(in crate::directory) fn own_facts(&self) -> io::Result<FileFacts> {
        self.0.dir_metadata().map(|metadata| facts(&metadata))
    }

    /// The target of a symbolic link in this directory, as text that is not resolved.
    pub(in crate::directory) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        self.0.read_link_contents(single(name)?)
    }

    /// Lists the directory; `None` if it has more entries than the limit.
    pub(in crate::directory) fn entries(&self, limit: usize) -> io::Result<Option<Vec<DirEntry>>> {
        let mut entries = Vec::new();
        for entry in self.0.entries()? {
            let entry = entry?;
            if entries.len() == limit {
                return Ok(None);
            }
            let kind = entry.file_type().ok().map(kind_of);
            entries.push(DirEntry { name: entry.file_name(), kind });
        }
        Ok(Some(entries))
    }
}

/// The metadata of an open file.
pub(in crate::directory) fn facts_of(file: &File) -> io::Result<FileFacts> {
    let metadata = file.metadata()?;
    let kind = if metadata.is_file() { FileKind::File } else { FileKind::Special };
    let stamp = FileStamp::new(metadata.len(), metadata.modified().ok(), None, (0, 0));
    Ok(FileFacts { kind, hard_links: 1, stamp })
}

/// Neither the time of the last change nor the number of links is known without opening a file.
fn facts(metadata: &Metadata) -> FileFacts {
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    let stamp = FileStamp::new(metadata.len(), modified, None, (0, 0));
    FileFacts { kind: kind_of(metadata.file_type()), hard_links: 1, stamp }
}

fn kind_of(kind: FileType) -> FileKind {
    if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Special
    }
}
