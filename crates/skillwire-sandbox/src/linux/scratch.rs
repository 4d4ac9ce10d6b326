//! The folder of a run without a root of its own, which lies on a disk of everybody's.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{isolation::Tier, limits::Limits};

/// An unguessable place in the system's temporary folder, removed in the end.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    used: bool,
}

impl Scratch {
    pub(super) fn new(tier: Tier) -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        // Not the folder that a variable names: the helper knows no variables.
        let path =
            PathBuf::from(format!("/tmp/skillwire-run-{:032x}", u128::from_ne_bytes(secret)));
        Ok(Self { path, used: tier == Tier::Restricted })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Whether the folders hold more than they may. In a root of their own the kernel bounds them.
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.used
            && ["output", "tmp"].iter().any(|folder| {
                let mut held = Held::default();
                held.add(&self.path.join(folder), limits.scratch_files);
                held.bytes > limits.scratch || held.files > limits.scratch_files
            })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.used {
            remove(&self.path);
        }
    }
}

/// Removes the folder of a run.
pub(super) fn remove(folder: &Path) {
    // A script may have made folders that nobody can enter.
    if fs::remove_dir_all(folder).is_err() {
        open_up(folder, 64);
        let _ = fs::remove_dir_all(folder);
    }
}

#[derive(Default)]
struct Held {
    bytes: u64,
    files: u64,
}

impl Held {
    fn add(&mut self, folder: &Path, most: u64) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.files += 1;
            if self.files > most {
                return;
            }
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            if metadata.is_dir() {
                self.add(&entry.path(), most);
            } else {
                // Blocks, so that a file with holes counts for what it takes.
                self.bytes += std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
            }
        }
    }
}

fn open_up(folder: &Path, depth: usize) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = folder.symlink_metadata() else { return };
    if !metadata.is_dir() || depth == 0 {
        return;
    }
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        open_up(&entry.path(), depth - 1);
    }
}
