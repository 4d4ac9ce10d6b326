//! Folders that only the current user can write to.
//!
//! Everything in a folder is opened name by name from an open directory, and no symbolic link is
//! followed. The file that was checked is therefore the file that is used, even if another process
//! renames or links paths in between.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use other::{OpenDir, facts_of, user};
use skillwire_trust::StoreError;
#[cfg(unix)]
use unix::{OpenDir, facts_of, user};

/// The deepest folder that is emptied or listed; this program creates none as deep.
const MAX_DEPTH: usize = 128;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    File,
    Link,
    /// A fifo, socket or device.
    Special,
}

/// Identifies the state of a file; writing to it or replacing it changes the stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: Duration,
    changed: Duration,
}

impl Stamp {
    /// Returns the size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Tells whether the last change is older than one clock tick of the file system. A younger
    /// file could change again within the same tick and keep its stamp, so its content must not be
    /// remembered.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        // A file system with whole seconds may have a resolution of two.
        let whole = self.changed.subsec_nanos() == 0;
        let tick = if whole { Duration::from_secs(2) } else { Duration::from_millis(20) };
        let last = self.modified.max(self.changed);
        now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| now > last + tick)
    }

    /// Returns the stamp of the file at a path, without following a link in its last component.
    pub(super) fn at(path: &Path) -> Option<Self> {
        OpenDir::facts_at(path).ok()?.stamp
    }
}

/// The metadata of a directory entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryFacts {
    /// `None` on systems that do not number files.
    stamp: Option<Stamp>,
    pub(super) kind: EntryKind,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    owner: u32,
    mode: u32,
    hard_links: u64,
}

impl EntryFacts {
    /// Returns why an entry must not be used, as a clause that follows its path.
    fn distrust(&self, wanted: EntryKind, user: u32) -> Option<&'static str> {
        match self.kind {
            EntryKind::Link => return Some("is a symbolic link, which is not followed here"),
            _ if self.kind == wanted => {}
            _ if wanted == EntryKind::File => return Some("is not a regular file"),
            _ => return Some("is not a folder"),
        }
        if self.owner != user {
            return Some("belongs to another user");
        }
        if self.mode & 0o022 != 0 {
            return Some("can be written by other users (`chmod go-w` fixes that)");
        }
        if wanted == EntryKind::File && self.hard_links > 1 {
            return Some("has a second name (a hard link) through which it can be changed");
        }
        None
    }
}

/// An error, and the path it is about.
#[derive(Debug)]
pub(super) struct PathError {
    place: PathBuf,
    problem: String,
    source: Option<Arc<io::Error>>,
}

impl PathError {
    pub(super) fn new(place: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), source: None }
    }

    fn io(place: PathBuf, what: &str, error: io::Error) -> Self {
        Self { place, problem: format!("{what}: {error}"), source: Some(Arc::new(error)) }
    }

    /// Tells whether the path did not exist, perhaps because another process removed it.
    pub(super) fn is_gone(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.place.display(), self.problem)
    }
}

impl From<PathError> for StoreError {
    fn from(fault: PathError) -> Self {
        Self::new(fault.place.display().to_string(), fault.problem).caused_by(fault.source)
    }
}

/// The bytes of a file, and the stamp it had before they were read, if the system has stamps.
pub(super) type StampedBytes = (Vec<u8>, Option<Stamp>);

/// An open folder that no other user can write to.
#[derive(Debug)]
pub(super) struct Folder {
    dir: OpenDir,
    path: PathBuf,
    /// The identity of the folder, if the system numbers folders.
    stamp: Option<Stamp>,
}

impl Folder {
    /// Opens a folder by its path, if it exists.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, PathError> {
        let opened = OpenDir::open(path);
        Self::found(opened, path.to_owned(), || OpenDir::facts_at(path))
    }

    /// Opens a folder by its path; creates it and its parents if they do not exist.
    pub(super) fn make(path: &Path) -> Result<Self, PathError> {
        if let Some(folder) = Self::find(path)? {
            return Ok(folder);
        }
        OpenDir::make_at(path).map_err(|e| PathError::io(path.to_owned(), "cannot be made", e))?;
        Self::find(path)?.ok_or_else(|| gone(path.to_owned()))
    }

    /// Opens a folder in this one, if it exists.
    pub(super) fn folder(&self, name: &str) -> Result<Option<Self>, PathError> {
        Self::found(self.dir.folder(name), self.path.join(name), || self.dir.facts(name.as_ref()))
    }

    /// Opens a folder in this one; creates it if it does not exist.
    pub(super) fn make_folder(&self, name: &str) -> Result<Self, PathError> {
        if let Some(folder) = self.folder(name)? {
            return Ok(folder);
        }
        match self.dir.make_folder(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(self.fault(name, "cannot be made", error));
            }
            _ => {}
        }
        self.folder(name)?.ok_or_else(|| gone(self.path.join(name)))
    }

    fn found(
        opened: io::Result<OpenDir>,
        path: PathBuf,
        facts: impl Fn() -> io::Result<EntryFacts>,
    ) -> Result<Option<Self>, PathError> {
        let dir = match opened {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                // The type or owner of the entry explains the failure better than the error of
                // opening it.
                let reason =
                    facts().ok().and_then(|facts| facts.distrust(EntryKind::Folder, user()));
                return Err(match reason {
                    Some(reason) => PathError::new(path, reason),
                    None => PathError::io(path, "cannot be opened", error),
                });
            }
        };
        let facts =
            dir.own_facts().map_err(|e| PathError::io(path.clone(), "cannot be checked", e))?;
        match facts.distrust(EntryKind::Folder, user()) {
            Some(reason) => Err(PathError::new(path, reason)),
            None => Ok(Some(Self { dir, path, stamp: facts.stamp })),
        }
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the path still leads to this folder, and no other user can write to it.
    pub(super) fn is_still_there(&self) -> bool {
        OpenDir::facts_at(&self.path).is_ok_and(|facts| self.is_described_by(&facts))
    }

    /// Tells whether a name in this folder still leads to `inner`, and no other user can write to
    /// it.
    pub(super) fn still_holds(&self, name: &str, inner: &Self) -> bool {
        self.dir.facts(name.as_ref()).is_ok_and(|facts| inner.is_described_by(&facts))
    }

    fn is_described_by(&self, facts: &EntryFacts) -> bool {
        let same = |one: Stamp, two: Stamp| (one.device, one.inode) == (two.device, two.inode);
        let is_this = self.stamp.zip(facts.stamp).is_some_and(|(one, two)| same(one, two));
        is_this && facts.distrust(EntryKind::Folder, user()).is_none()
    }

    /// Reads a file of at most `most` bytes, if it exists, through the handle that was checked.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, PathError> {
        Ok(self.read_stamped(name, most)?.map(|(bytes, _)| bytes))
    }

    /// Reads a file, with the stamp it had before the read.
    ///
    /// The stamp is taken first: if the file changes during the read, the stamp is already outdated
    /// and the next comparison notices it.
    pub(super) fn read_stamped(
        &self,
        name: &str,
        most: u64,
    ) -> Result<Option<StampedBytes>, PathError> {
        let Some((file, facts)) = self.known_file(name)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(capacity(facts.size.min(most)));
        file.take(most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| self.fault(name, "cannot be read", error))?;
        if bytes.len() as u64 > most {
            let problem = format!("has more than {most} bytes");
            return Err(PathError::new(self.path.join(name), problem));
        }
        Ok(Some((bytes, facts.stamp)))
    }

    /// Reads a file if it exists and has exactly that size.
    pub(super) fn read_exactly(&self, name: &str, size: u64) -> Result<Option<Vec<u8>>, PathError> {
        let Some((mut file, facts)) = self.known_file(name)? else { return Ok(None) };
        if facts.size != size {
            return Ok(None);
        }
        let mut bytes = vec![0; capacity(size)];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            // Another process truncated it during the read.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(self.fault(name, "cannot be read", error)),
        }
    }

    /// Opens a file for reading, if it exists.
    pub(super) fn file(&self, name: &str) -> Result<Option<File>, PathError> {
        Ok(self.known_file(name)?.map(|(file, _)| file))
    }

    fn known_file(&self, name: &str) -> Result<Option<(File, EntryFacts)>, PathError> {
        match self.dir.file(name) {
            Ok(file) => self.checked(name, file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.why_not_opened(name, error)),
        }
    }

    /// Opens a file for appending and reading; creates it if it does not exist.
    pub(super) fn append(&self, name: &str) -> Result<File, PathError> {
        let file = self.dir.append(name).map_err(|error| self.why_not_opened(name, error))?;
        self.checked(name, file).map(|(file, _)| file)
    }

    /// Waits until no other process holds the lock of that name; dropping the result releases it.
    ///
    /// The lock file is never removed. If it were, a process that waits on the removed file and one
    /// that creates a new file would both hold the lock.
    pub(super) fn lock(&self, name: &str) -> Result<HeldLock, PathError> {
        let file = self.append(name)?;
        file.lock().map_err(|error| self.fault(name, "cannot be locked", error))?;
        Ok(HeldLock { _file: file })
    }

    /// Replaces a file atomically, by renaming a new file that no other process has open.
    ///
    /// `new` is the name of the new file until it is complete. With `durable`, the file is synced
    /// before the rename and the folder after it, so that a power cut leaves either the old or the
    /// new file.
    pub(super) fn replace(
        &self,
        name: &str,
        new: &str,
        bytes: &[u8],
        durable: bool,
    ) -> Result<(), PathError> {
        let file = self.dir.create(new).map_err(|e| self.fault(new, "cannot be made", e))?;
        let done = self.fill(file, new, bytes, durable).and_then(|()| {
            self.dir.rename(new, name).map_err(|e| self.fault(name, "cannot be replaced", e))
        });
        if done.is_err() {
            // It may be gone already; the first error is the one to report.
            let _ = self.dir.remove_file(new.as_ref());
        }
        done?;
        if durable { self.sync() } else { Ok(()) }
    }

    fn fill(
        &self,
        mut file: File,
        name: &str,
        bytes: &[u8],
        durable: bool,
    ) -> Result<(), PathError> {
        let cannot = |error: io::Error| self.fault(name, "cannot be written", error);
        file.write_all(bytes).map_err(cannot)?;
        if durable { file.sync_all().map_err(cannot) } else { Ok(()) }
    }

    /// Syncs the folder, so that renames survive a power cut.
    pub(super) fn sync(&self) -> Result<(), PathError> {
        self.dir.sync().map_err(|e| PathError::io(self.path.clone(), "cannot be written", e))
    }

    /// Renames a file in this folder.
    pub(super) fn rename(&self, name: &str, to: &str) -> Result<(), PathError> {
        self.dir.rename(name, to).map_err(|error| self.fault(name, "cannot be renamed", error))
    }

    /// Removes a file, if it exists.
    pub(super) fn remove_file(&self, name: &str) -> Result<(), PathError> {
        match self.dir.remove_file(name.as_ref()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.fault(name, "cannot be removed", error))
            }
            _ => Ok(()),
        }
    }

    /// Removes a folder in this one if it is empty; returns whether it did.
    pub(super) fn remove_empty_folder(&self, name: &str) -> bool {
        self.dir.remove_folder(name.as_ref()).is_ok()
    }

    /// Removes an entry with everything below it, following no link, and counts the files.
    pub(super) fn remove_all(&self, name: &str) -> Result<usize, PathError> {
        remove_all(&self.dir, OsStr::new(name), &self.path, MAX_DEPTH)
    }

    /// Lists the folder by name; skips names that are not UTF-8, which this program never creates.
    pub(super) fn entries(&self) -> Result<Vec<(String, EntryKind)>, PathError> {
        let cannot = |error: io::Error| PathError::io(self.path.clone(), "cannot be listed", error);
        let mut entries = Vec::new();
        for name in self.dir.names().map_err(cannot)? {
            let Ok(name) = name.into_string() else { continue };
            // Another process may have removed it.
            let Ok(facts) = self.dir.facts(name.as_ref()) else { continue };
            entries.push((name, facts.kind));
        }
        entries.sort_unstable_by(|one, two| one.0.cmp(&two.0));
        Ok(entries)
    }

    /// Returns the metadata of an entry, if it exists.
    pub(super) fn facts(&self, name: &str) -> Option<EntryFacts> {
        self.dir.facts(name.as_ref()).ok()
    }

    fn checked(&self, name: &str, file: File) -> Result<(File, EntryFacts), PathError> {
        let facts =
            facts_of(&file).map_err(|error| self.fault(name, "cannot be checked", error))?;
        match facts.distrust(EntryKind::File, user()) {
            Some(reason) => Err(PathError::new(self.path.join(name), reason)),
            None => Ok((file, facts)),
        }
    }

    fn why_not_opened(&self, name: &str, error: io::Error) -> PathError {
        let reason = self.facts(name).and_then(|facts| facts.distrust(EntryKind::File, user()));
        match reason {
            Some(reason) => PathError::new(self.path.join(name), reason),
            None => self.fault(name, "cannot be opened", error),
        }
    }

    fn fault(&self, name: &str, what: &str, error: io::Error) -> PathError {
        PathError::io(self.path.join(name), what, error)
    }
}

/// Converts a file size to a buffer capacity, saturating where `usize` is smaller.
fn capacity(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// A lock that is held.
#[derive(Debug)]
#[must_use]
pub(super) struct HeldLock {
    _file: File,
}

fn gone(place: PathBuf) -> PathError {
    PathError::io(place, "was removed", io::ErrorKind::NotFound.into())
}

fn remove_all(dir: &OpenDir, name: &OsStr, path: &Path, depth: usize) -> Result<usize, PathError> {
    let path = path.join(name);
    let cannot = |error: io::Error| PathError::io(path.clone(), "cannot be removed", error);
    let kind = match dir.facts(name) {
        Ok(facts) => facts.kind,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(cannot(error)),
    };
    if kind != EntryKind::Folder {
        dir.remove_file(name).map_err(cannot)?;
        return Ok(1);
    }
    if depth == 0 {
        return Err(PathError::new(path, "is nested too deeply to be removed"));
    }
    let inner = dir.folder(name).map_err(cannot)?;
    let mut removed = 0;
    for entry in inner.names().map_err(cannot)? {
        removed += remove_all(&inner, &entry, &path, depth - 1)?;
    }
    dir.remove_folder(name).map_err(cannot)?;
    Ok(removed)
}

/// Checks that a name is a single path component.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(std::path::Component::Normal(part)), None) if part.len() == name.len() => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The names in a folder, without `.` and `..`.
type Names = io::Result<Vec<OsString>>;

#[cfg(test)]
mod tests;
