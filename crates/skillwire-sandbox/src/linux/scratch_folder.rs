//! The folder of a run of the restricted tier, which has no file system of its own.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{isolation::IsolationTier, limits::RunLimits};

/// How deep closed folders are opened before they are removed.
const MAX_DEPTH: usize = 64;

/// The path of a run's folder in `/tmp`, removed in the end. The helper makes the folder itself.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    path: PathBuf,
    /// Whether the tier uses a folder at all.
    used: bool,
}

impl ScratchFolder {
    /// Chooses a name that no other user can guess. Otherwise another user could make the folder
    /// first, or put links where the run expects its own files. The helper also refuses a folder
    /// that exists.
    pub(super) fn new(tier: IsolationTier) -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        // Not the folder that `TMPDIR` names: the helper has no environment, and both must agree.
        let path =
            PathBuf::from(format!("/tmp/skillwire-run-{:032x}", u128::from_ne_bytes(secret)));
        Ok(Self { path, used: tier == IsolationTier::Restricted })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Whether the output or the temporary folder holds more than it may. In the full tier the
    /// kernel bounds both.
    pub(super) fn is_over(&self, limits: &RunLimits) -> bool {
        self.used
            && ["output", "tmp"].iter().any(|folder| {
                let mut usage = FolderUsage::default();
                usage.add(&self.path.join(folder), limits.folder_files);
                usage.bytes > limits.folder_bytes || usage.files > limits.folder_files
            })
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if self.used {
            remove(&self.path);
        }
    }
}

/// Removes the folder of a run.
pub(super) fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        // The script may have made folders without any permissions.
        allow_entry(folder, MAX_DEPTH);
        let _ = fs::remove_dir_all(folder);
    }
}

#[derive(Default)]
struct FolderUsage {
    bytes: u64,
    files: u64,
}

impl FolderUsage {
    /// Adds what lies below a folder, and stops at one file more than the limit.
    fn add(&mut self, folder: &Path, max_files: u64) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.files += 1;
            if self.files > max_files {
                return;
            }
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            if metadata.is_dir() {
                self.add(&entry.path(), max_files);
            } else {
                // Blocks rather than length, so that a file with holes counts for what it occupies.
                self.bytes += std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
            }
        }
    }
}

/// Gives the owner permission to list and change all folders below this one.
fn allow_entry(folder: &Path, depth: usize) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = folder.symlink_metadata() else { return };
    if !metadata.is_dir() || depth == 0 {
        return;
    }
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        allow_entry(&entry.path(), depth - 1);
    }
}
