//! Directories on systems without calls relative to an open directory: cap-std does the work.
//!
//! Owners, modes and link counts are not checked: the folders lie in the user's profile, whose
//! access list keeps other users out.

use std::{ffi::OsStr, fs::File, io, path::Path, time::SystemTime};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{ambient_authority, fs::OpenOptions};

use super::{EntryFacts, EntryKind, Names, single};

/// An open directory.
#[derive(Debug)]
pub(super) struct OpenDir(cap_std::fs::Dir);

impl OpenDir {
    /// Opens a directory by its path, whose last component must not be a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        cap_std::fs::Dir::open_ambient_dir(parent, ambient_authority())?
            .open_dir_nofollow(name)
            .map(Self)
    }

    /// Creates a directory and its parents.
    pub(super) fn make_at(path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    /// Returns the metadata at a path.
    pub(super) fn facts_at(path: &Path) -> io::Result<EntryFacts> {
        std::fs::symlink_metadata(path).map(|metadata| {
            facts(metadata.file_type().into(), metadata.len(), metadata.modified().ok())
        })
    }

    pub(super) fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        self.0.open_dir_nofollow(single(name.as_ref())?).map(Self)
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        self.0.create_dir(single(name.as_ref())?)
    }

    /// Opens a file for reading.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OpenOptions::new().read(true))
    }

    /// Opens a file for appending and reading; creates it if needed.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OpenOptions::new().read(true).append(true).create(true))
    }

    /// Creates a file that must not exist yet.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OpenOptions::new().write(true).create_new(true))
    }

    fn open_file(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        options.follow(FollowSymlinks::No);
        self.0.open_with(single(name.as_ref())?, options).map(cap_std::fs::File::into_std)
    }

    pub(super) fn rename(&self, name: &str, to: &str) -> io::Result<()> {
        self.0.rename(single(name.as_ref())?, &self.0, single(to.as_ref())?)
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_file_or_symlink(single(name)?)
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_dir(single(name)?)
    }

    pub(super) fn names(&self) -> Names {
        self.0.entries()?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    pub(super) fn facts(&self, name: &OsStr) -> io::Result<EntryFacts> {
        self.0.symlink_metadata(single(name)?).map(|metadata| known(&metadata))
    }

    pub(super) fn own_facts(&self) -> io::Result<EntryFacts> {
        self.0.dir_metadata().map(|metadata| known(&metadata))
    }

    /// Does nothing: directories are not synced on these systems.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the user of this process.
pub(super) fn user() -> u32 {
    0
}

/// Returns the metadata of an open file.
pub(super) fn facts_of(file: &File) -> io::Result<EntryFacts> {
    let metadata = file.metadata()?;
    Ok(facts(metadata.file_type().into(), metadata.len(), metadata.modified().ok()))
}

fn known(metadata: &cap_std::fs::Metadata) -> EntryFacts {
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    let kind = metadata.file_type();
    let kind = if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_file() {
        EntryKind::File
    } else if kind.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Special
    };
    facts(kind, metadata.len(), modified)
}

impl From<std::fs::FileType> for EntryKind {
    fn from(kind: std::fs::FileType) -> Self {
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

fn facts(kind: EntryKind, size: u64, modified: Option<SystemTime>) -> EntryFacts {
    let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
    // Without a file number, a replacement could have the same stamp.
    EntryFacts { stamp: None, kind, size, modified, owner: user(), mode: 0, hard_links: 1 }
}
