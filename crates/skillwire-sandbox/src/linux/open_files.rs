//! What the processes of a run in the restricted tier have open: sockets, and files that have no
//! name any more.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, Stat, stat};

use super::{
    process_tree::{self, ProcessReading},
    scratch_folder::ScratchFolder,
};

/// What processes have open.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    pub(super) sockets: u64,
    /// Deleted files on the file system of the run's folder, with the bytes that they occupy, by
    /// device and inode.
    pub(super) deleted: BTreeMap<(u64, u64), u64>,
    /// Whether there may be files that could not be found: a process could not be looked into, or a
    /// deleted file is only held by a mapping, which does not tell its size.
    pub(super) has_hidden: bool,
}

impl OpenFiles {
    /// Looks into the descriptors and mappings of processes.
    pub(super) fn of<'a>(
        processes: impl Iterator<Item = &'a ProcessReading>,
        scratch: &ScratchFolder,
    ) -> Self {
        let mut open = Self::default();
        let mut mapped = Vec::new();
        for process in processes {
            let Some(thread) = process_tree::live_thread(process) else { continue };
            let read = open.add_descriptors(&thread).is_some()
                && add_mappings(&thread, scratch.name(), &mut mapped).is_some();
            // A process that ends while it is looked at hides nothing.
            if !read && process_tree::has_memory(process.pid) {
                open.has_hidden = true;
            }
        }
        let is_known = |inode: &u64| open.deleted.keys().any(|(_, known)| known == inode);
        open.has_hidden |= !mapped.iter().all(is_known);
        open
    }

    fn add_descriptors(&mut self, thread: &Path) -> Option<()> {
        for descriptor in fs::read_dir(thread.join("fd")).ok()?.flatten() {
            let Ok(found) = stat(descriptor.path()) else { continue };
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Socket => self.sockets += 1,
                FileType::RegularFile if found.st_nlink == 0 => self.add_deleted(&found),
                _ => {}
            }
        }
        Some(())
    }

    fn add_deleted(&mut self, found: &Stat) {
        self.deleted.insert((found.st_dev, found.st_ino), found.st_blocks.unsigned_abs() * 512);
    }
}

/// Adds the inodes of deleted files of a run's folder that a process has mapped.
fn add_mappings(thread: &Path, folder: &str, inodes: &mut Vec<u64>) -> Option<()> {
    let maps: PathBuf = thread.join("maps");
    // A name of a file need not be text.
    let maps = fs::read(maps).ok()?;
    for line in String::from_utf8_lossy(&maps).lines() {
        if line.ends_with(" (deleted)") && line.contains(folder) {
            inodes.push(line.split_whitespace().nth(4)?.parse().ok()?);
        }
    }
    Some(())
}
