//! Handles on Unix: one system call for each step, relative to an open directory.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};

use super::{DirEntry, FileFacts, FileKind, single};
use crate::directory::stamp::FileStamp;

/// An open directory.
#[derive(Debug)]
pub(in crate::directory) struct DirHandle(OwnedFd);

impl DirHandle {
    /// Opens a directory by its path.
    pub(in crate::directory) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, directory_flags(), Mode::empty())?))
    }

    /// Opens the directory once more, to list it from the beginning.
    pub(in crate::directory) fn again(&self) -> io::Result<Self> {
        Ok(Self(openat(&self.0, c".", directory_flags(), Mode::empty())?))
    }

    /// Opens a directory in this one.
    pub(in crate::directory) fn directory(&self, name: &OsStr) -> io::Result<Self> {
        let flags = directory_flags() | OFlags::NOFOLLOW;
        Ok(Self(openat(&self.0, single(name)?, flags, Mode::empty())?))
    }

    /// Opens a file in this directory for reading, without waiting for the writer of a fifo.
    pub(in crate::directory) fn file(&self, name: &OsStr) -> io::Result<File> {
        Ok(openat(&self.0, single(name)?, file_flags(), Mode::empty())?.into())
    }

    /// Opens a file below for reading if the kernel has every directory of its path in its cache.
    ///
    /// As when each directory is opened in turn, no link is followed and the path cannot leave the
    /// directory.
    #[cfg(target_os = "linux")]
    pub(in crate::directory) fn known_file_below(&self, path: &str) -> io::Result<File> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED;
        Ok(openat2(&self.0, path, file_flags(), Mode::empty(), resolve)?.into())
    }

    /// The metadata of an entry of this directory; a link is not followed.
    pub(in crate::directory) fn facts(&self, name: &OsStr) -> io::Result<FileFacts> {
        Ok(facts(&statat(&self.0, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The metadata of what is at a path; a link in the last place is not followed.
    pub(super) fn facts_at(path: &Path) -> io::Result<FileFacts> {
        Ok(facts(&statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The metadata of the directory itself.
    pub(in crate::directory) fn own_facts(&self) -> io::Result<FileFacts> {
        facts_of(&self.0)
    }

    /// The target of a symbolic link in this directory, as text that is not resolved.
    pub(in crate::directory) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let text = readlinkat(&self.0, single(name)?, Vec::new())?;
        Ok(OsString::from_vec(text.into_bytes()).into())
    }

    /// Lists the directory; `None` if it has more entries than the limit.
    #[cfg(target_os = "linux")]
    pub(in crate::directory) fn entries(&self, limit: usize) -> io::Result<Option<Vec<DirEntry>>> {
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 16 * 1024];
        let mut listing = rustix::fs::RawDir::new(&self.0, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = entry?;
            if !push(&mut entries, limit, entry.file_name().to_bytes(), entry.file_type()) {
                return Ok(None);
            }
        }
        Ok(Some(entries))
    }

    /// Lists the directory; `None` if it has more entries than the limit.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::directory) fn entries(&self, limit: usize) -> io::Result<Option<Vec<DirEntry>>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            if !push(&mut entries, limit, entry.file_name().to_bytes(), entry.file_type()) {
                return Ok(None);
            }
        }
        Ok(Some(entries))
    }
}

/// Adds an entry; `false` if the limit is reached.
fn push(entries: &mut Vec<DirEntry>, limit: usize, name: &[u8], kind: FileType) -> bool {
    if matches!(name, b"." | b"..") {
        return true;
    }
    if entries.len() == limit {
        return false;
    }
    let kind = (kind != FileType::Unknown).then(|| kind_of(kind));
    entries.push(DirEntry { name: OsStr::from_bytes(name).to_owned(), kind });
    true
}

fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// The metadata of an open file.
pub(in crate::directory) fn facts_of(file: impl AsFd) -> io::Result<FileFacts> {
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
fn facts(stat: &Stat) -> FileFacts {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let modified = time(stat.st_mtime as i64, stat.st_mtime_nsec as i64);
    let changed = time(stat.st_ctime as i64, stat.st_ctime_nsec as i64);
    let identity = (stat.st_dev as u64, stat.st_ino as u64);
    FileFacts {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        hard_links: u64::from(stat.st_nlink),
        stamp: FileStamp::new(size, modified, changed, identity),
    }
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::Directory => FileKind::Directory,
        FileType::RegularFile => FileKind::File,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Special,
    }
}

fn time(seconds: i64, nanoseconds: i64) -> Option<SystemTime> {
    let whole = Duration::from_secs(u64::try_from(seconds).ok()?);
    let fraction = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(whole)?.checked_add(fraction)
}
