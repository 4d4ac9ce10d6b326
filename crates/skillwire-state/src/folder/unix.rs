//! Directories on Unix: one system call per step, relative to an open directory.

use std::{
    ffi::{OsStr, OsString},
    fs::{DirBuilder, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStringExt, fs::DirBuilderExt},
    },
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, openat, renameat, statat,
    unlinkat,
};

use super::{EntryFacts, EntryKind, Names, Stamp, single};

/// An open directory.
#[derive(Debug)]
pub(super) struct OpenDir(OwnedFd);

impl OpenDir {
    /// Opens a directory by its path, whose last component must not be a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, directory_flags(), Mode::empty())?))
    }

    /// Creates a directory and its parents, accessible to this user only.
    pub(super) fn make_at(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Returns the metadata at a path.
    pub(super) fn facts_at(path: &Path) -> io::Result<EntryFacts> {
        Ok(facts(&statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    pub(super) fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self(openat(&self.0, single(name.as_ref())?, directory_flags(), Mode::empty())?))
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(&self.0, single(name.as_ref())?, Mode::RWXU)?)
    }

    /// Opens a file for reading, without blocking on a fifo.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY)
    }

    /// Opens a file for appending and reading; creates it if needed.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Creates a file that must not exist yet.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(openat(&self.0, single(name.as_ref())?, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(super) fn rename(&self, name: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.0, single(name.as_ref())?, &self.0, single(to.as_ref())?)?)
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, single(name)?, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, single(name)?, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn names(&self) -> Names {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if !matches!(&*name, b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    pub(super) fn facts(&self, name: &OsStr) -> io::Result<EntryFacts> {
        Ok(facts(&statat(&self.0, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    pub(super) fn own_facts(&self) -> io::Result<EntryFacts> {
        facts_of(&self.0)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.0)?)
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW
}

/// Returns the user of this process.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the metadata of an open file.
pub(super) fn facts_of(file: impl AsFd) -> io::Result<EntryFacts> {
    Ok(facts(&fstat(file)?))
}

#[allow(
    clippy::cast_lossless,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the fields have other types on other systems"
)]
fn facts(stat: &Stat) -> EntryFacts {
    let since = |seconds: i64, nanoseconds: i64| {
        let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        seconds.saturating_add(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0)))
    };
    let modified = since(stat.st_mtime as i64, stat.st_mtime_nsec as i64);
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => EntryKind::Folder,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    };
    let stamp = Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size,
        modified,
        changed: since(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    };
    EntryFacts {
        stamp: Some(stamp),
        kind,
        size,
        modified: SystemTime::UNIX_EPOCH.checked_add(modified).unwrap_or(SystemTime::UNIX_EPOCH),
        owner: stat.st_uid,
        mode: u32::from(stat.st_mode),
        hard_links: u64::from(stat.st_nlink),
    }
}
