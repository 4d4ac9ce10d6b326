//! The folder of a run of the restricted tier, which has no file system of its own.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmod, openat, statat};

use super::{folder_removal, open_files::OpenFiles};
use crate::{isolation::IsolationTier, limits::RunLimits};

/// How deep folders are followed. A script that nests more of them is stopped: nothing needs it, and
/// what lies below would not be counted.
const MAX_DEPTH: usize = 64;

/// The beginning of the names of all runs' folders.
pub(super) const NAME_PREFIX: &str = "skillwire-run-";

/// Where the folders of runs are made. Not the folder that `TMPDIR` names: the helper has no
/// environment, and both must agree.
pub(super) const PARENT: &str = "/tmp";

/// The path of a run's folder in `/tmp`, removed in the end. The helper makes the folder itself.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    path: PathBuf,
    name: String,
    /// Whether the tier uses a folder at all.
    used: bool,
}

/// What a folder holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FolderUsage {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

impl ScratchFolder {
    /// Chooses a name that no other user can guess. Otherwise another user could make the folder
    /// first, or put links where the run expects its own files. The helper also refuses a folder
    /// that exists.
    pub(super) fn new(tier: IsolationTier) -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let name = format!("{NAME_PREFIX}{:032x}", u128::from_ne_bytes(secret));
        let path = Path::new(PARENT).join(&name);
        Ok(Self { path, name, used: tier == IsolationTier::Restricted })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The last part of the path, which no other folder has.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the fuller of the output and the temporary folder holds, with deleted files that are
    /// still open. `None` if it is more than can be counted.
    pub(super) fn usage(&self, limits: &RunLimits, open: &OpenFiles) -> Option<FolderUsage> {
        if !self.used {
            return Some(FolderUsage::default());
        }
        if open.has_hidden {
            return None;
        }
        let mut fullest = FolderUsage::default();
        for folder in ["output", "tmp"] {
            let mut count =
                FolderCount { max_files: limits.folder_files, ..FolderCount::default() };
            count.add_folder(CWD.as_fd(), &self.path.join(folder), 0)?;
            fullest.bytes = fullest.bytes.max(count.usage.bytes);
            fullest.files = fullest.files.max(count.usage.files);
        }
        fullest.bytes += open.deleted.values().sum::<u64>();
        fullest.files += open.deleted.len() as u64;
        Some(fullest)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if self.used {
            folder_removal::remove(&self.path);
        }
    }
}

#[derive(Default)]
struct FolderCount {
    usage: FolderUsage,
    max_files: u64,
    /// Files with several names, which count once.
    seen: BTreeSet<(u64, u64)>,
}

impl FolderCount {
    /// Adds what lies below a folder. `None` if there are too many files, or folders too deep.
    ///
    /// The script goes on meanwhile. Links are never followed, and each folder is reached from the one
    /// above it, so that it does not matter how long its path is.
    fn add_folder(
        &mut self,
        parent: rustix::fd::BorrowedFd<'_>,
        name: &Path,
        depth: usize,
    ) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        // A folder that is gone meanwhile, or is none any more, holds nothing.
        let Some(folder) = open_folder(parent, name) else { return Some(()) };
        let Ok(entries) = Dir::read_from(&folder) else { return None };
        for entry in entries {
            let Ok(entry) = entry else { return None };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.usage.files += 1;
            if self.usage.files > self.max_files {
                return None;
            }
            let Ok(found) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if found.st_nlink < 2 || self.seen.insert((found.st_dev, found.st_ino)) {
                // Blocks rather than length, so that a file with holes counts for what it occupies.
                self.usage.bytes += found.st_blocks.unsigned_abs() * 512;
            }
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                use std::os::unix::ffi::OsStrExt as _;
                let name = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
                self.add_folder(folder.as_fd(), name, depth + 1)?;
            }
        }
        Some(())
    }
}

/// Opens a folder. If its owner took the right to list it away, it is given back: otherwise what is
/// in there could neither be counted nor removed.
fn open_folder(parent: rustix::fd::BorrowedFd<'_>, name: &Path) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(parent, name, OFlags::RDONLY | flags, Mode::empty());
    match open() {
        Err(rustix::io::Errno::ACCESS) => {
            let folder = openat(parent, name, OFlags::PATH | flags, Mode::empty()).ok()?;
            let descriptor = std::os::fd::AsRawFd::as_raw_fd(&folder);
            let _ = chmod(format!("/proc/self/fd/{descriptor}"), Mode::RWXU);
            open().ok()
        }
        opened => opened.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn count(folder: &Path, max_files: u64) -> Option<FolderUsage> {
        let mut count = FolderCount { max_files, ..FolderCount::default() };
        count.add_folder(CWD.as_fd(), folder, 0).map(|()| count.usage)
    }

    #[test]
    fn files_behind_closed_folders_and_long_paths_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("file"), vec![1; 100_000]).unwrap();
        fs::hard_link(closed.join("file"), folder.path().join("again")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o300)).unwrap();
        let usage = count(folder.path(), 100).unwrap();
        assert_eq!(usage.files, 3);
        assert!((100_000..200_000).contains(&usage.bytes), "{usage:?}");
        assert_eq!(count(folder.path(), 2), None);
        let mut deep = folder.path().to_owned();
        for _ in 0..=MAX_DEPTH {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
        }
        assert_eq!(count(folder.path(), 1000), None);
    }
}
