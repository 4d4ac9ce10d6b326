//! What the processes of a run in the restricted tier have open: sockets, and files that have no
//! name any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
};

use rustix::fs::{FileType, Stat, stat};

use super::process_tree::{self, ProcessReading};

/// The most mappings of a process that are counted where nothing else is looked for among them. A
/// process with more is taken for one with as many as it can have: counting them would take longer
/// than the time between two looks.
const MAX_COUNTED_MAPPINGS: u64 = 8192;

/// What processes have open.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    /// The inodes of sockets. A socket that several processes have open counts once.
    pub(super) sockets: BTreeSet<u64>,
    /// Pipes, with and without names, by device and inode.
    pub(super) pipes: BTreeSet<(u64, u64)>,
    /// How many parts the address spaces of all processes have. The kernel keeps a description of
    /// each.
    pub(super) mappings: u64,
    /// Deleted files on the file system of the run's folder, with the bytes that they occupy, by
    /// device and inode.
    pub(super) deleted: BTreeMap<(u64, u64), u64>,
    /// Whether there may be files that could not be found: a process could not be looked into, or a
    /// deleted file is only held by a mapping, which does not tell its size.
    pub(super) has_hidden: bool,
}

impl OpenFiles {
    /// Looks into the descriptors and mappings of processes; with the name of the run's folder, also
    /// for deleted files in it.
    pub(super) fn of<'a>(
        processes: impl Iterator<Item = &'a ProcessReading>,
        folder: Option<&str>,
    ) -> Self {
        let mut open = Self::default();
        let mut mapped = Vec::new();
        for process in processes {
            let threads = process_tree::live_threads(process);
            let Some(first) = threads.first() else { continue };
            // All threads have the same mappings.
            let mappings = read_mappings(first, folder, &mut mapped);
            open.mappings += mappings.or_else(|| process_tree::most_mappings(first)).unwrap_or(0);
            let mut read = mappings.is_some();
            for thread in threads.iter().filter(|thread| !share_descriptors(first, thread)) {
                // A thread that ends while it is looked at hides nothing.
                read &= open.add_descriptors(thread).is_some()
                    || !process_tree::thread_has_memory(thread);
            }
            // Nor does a process.
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
                FileType::Socket => drop(self.sockets.insert(found.st_ino)),
                FileType::Fifo => drop(self.pipes.insert((found.st_dev, found.st_ino))),
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

/// Whether a thread is another one than the first, with the same table of descriptors.
///
/// The filter lets no thread get a table of its own. If one had, it could hide files there, so each is
/// asked about; the tables themselves are read only if the kernel does not say that they are one.
fn share_descriptors(first: &Path, thread: &Path) -> bool {
    /// `KCMP_FILES` of `linux/kcmp.h`.
    const DESCRIPTORS: libc::c_long = 2;
    let id = |thread: &Path| thread.file_name()?.to_str()?.parse::<libc::c_long>().ok();
    let (Some(first), Some(thread)) = (id(first), id(thread)) else { return false };
    // SAFETY: the call takes numbers alone and changes nothing.
    first != thread
        && unsafe { libc::syscall(libc::SYS_kcmp, first, thread, DESCRIPTORS, 0, 0) } == 0
}

/// Counts the mappings of a process, and adds the inodes of deleted files of a run's folder among
/// them.
fn read_mappings(thread: &Path, folder: Option<&str>, inodes: &mut Vec<u64>) -> Option<u64> {
    let mut maps = BufReader::with_capacity(1 << 16, fs::File::open(thread.join("maps")).ok()?);
    let mut count = 0;
    let mut line = Vec::new();
    while maps.read_until(b'\n', &mut line).ok()? > 0 {
        count += 1;
        // A name of a file need not be text.
        let text = String::from_utf8_lossy(&line);
        match folder {
            Some(folder) if text.trim_end().ends_with(" (deleted)") && text.contains(folder) => {
                inodes.push(text.split_whitespace().nth(4)?.parse().ok()?);
            }
            None if count > MAX_COUNTED_MAPPINGS => return process_tree::most_mappings(thread),
            _ => {}
        }
        line.clear();
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::net::UnixStream,
        sync::mpsc::{self, Receiver},
    };

    use rustix::fs::fstat;

    use super::*;

    /// Makes a socket in a thread, which keeps it until the receiver's other end is dropped. Sends its
    /// inode.
    fn hold_a_socket(unshared: bool, inode: mpsc::Sender<u64>, until: &Receiver<()>) {
        let (all, flags) = (libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE);
        // SAFETY: the call closes nothing: no process has a descriptor with this number.
        let separate =
            unshared && unsafe { libc::syscall(libc::SYS_close_range, all, all, flags) } == 0;
        let (socket, _other) = UnixStream::pair().unwrap();
        if separate == unshared {
            inode.send(fstat(&socket).unwrap().st_ino).unwrap();
        }
        drop(inode);
        let _ = until.recv();
    }

    #[test]
    fn sockets_of_a_thread_with_descriptors_of_its_own_are_found() {
        for unshared in [false, true] {
            let (inode, made) = mpsc::channel();
            let (end, until) = mpsc::channel();
            let thread = std::thread::spawn(move || hold_a_socket(unshared, inode, &until));
            let Ok(inode) = made.recv() else { continue };
            let this = process_tree::read(std::process::id(), 0).unwrap();
            let open = OpenFiles::of([this].iter(), None);
            assert!(open.sockets.contains(&inode), "unshared: {unshared}");
            drop(end);
            thread.join().unwrap();
        }
    }
}
