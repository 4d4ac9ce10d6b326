//! File system events on Linux.
//!
//! Other systems use the notify crate. Its Linux backend also subscribes to the opening of files:
//! each scan would fill the queue with its own events until it overflows, and the overflow would
//! cause the next scan.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    mem::MaybeUninit,
    ops::{Bound, ControlFlow},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
};

use parking_lot::{Mutex, MutexGuard};
use rustix::{
    fs::inotify::{self, ReadFlags, WatchFlags},
    io::Errno,
};

use super::{SystemEvent, WatchLimits, WatchRules, WatchSetup};

/// File systems whose files also change on other machines, which causes no event here.
const REMOTE_FILE_SYSTEMS: [(u32, &str); 6] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
];

/// How many levels of directories are watched; scans go no deeper.
const MAX_DEPTH: usize = 64;

/// Watches directories with inotify.
///
/// inotify watches single directories, and a user may have fewer watches than there are
/// directories. The folders around units come first, as new units appear there; then each unit's
/// own directory, which holds its marker file; then the directories inside units, as far as there
/// are watches. A unit with a directory that got none is polled.
#[derive(Debug)]
pub(super) struct SystemEvents {
    shared: Arc<WatcherShared>,
    /// The unit that was polled last.
    last_polled: Option<Arc<Path>>,
}

#[derive(Debug)]
struct WatcherShared {
    queue: OwnedFd,
    limits: WatchLimits,
    rules: WatchRules,
    sender: mpsc::Sender<SystemEvent>,
    watches: Mutex<WatchTable>,
}

/// All watches, which the thread of the watcher adds and the thread that reads events looks up.
#[derive(Debug, Default)]
struct WatchTable {
    /// The watched directories by watch descriptor.
    directories: BTreeMap<i32, WatchedDirectory>,
    descriptors: BTreeMap<Arc<Path>, i32>,
    /// Units with a directory that is not watched, and directories that appeared in units.
    polled: BTreeSet<Arc<Path>>,
    stopped: bool,
}

#[derive(Debug)]
struct WatchedDirectory {
    path: Arc<Path>,
    /// Whether directories that appear in it are watched as well.
    recursive: bool,
}

impl WatchTable {
    /// Removes a descriptor; its path may belong to another descriptor by now.
    fn remove(&mut self, descriptor: i32) -> Option<WatchedDirectory> {
        let directory = self.directories.remove(&descriptor)?;
        if self.descriptors.get(&directory.path) == Some(&descriptor) {
            self.descriptors.remove(&directory.path);
        }
        Some(directory)
    }
}

impl SystemEvents {
    /// Starts the thread that reads events.
    pub(super) fn new(setup: WatchSetup) -> Result<Self, String> {
        let WatchSetup { limits, rules, sender } = setup;
        let queue = inotify::init(inotify::CreateFlags::CLOEXEC).map_err(explain)?;
        let shared =
            Arc::new(WatcherShared { queue, limits, rules, sender, watches: Mutex::default() });
        let reader = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("watch-events".to_owned());
        thread.spawn(move || reader.read_events()).map_err(|error| error.to_string())?;
        Ok(Self { shared, last_polled: None })
    }

    /// Watches a directory and everything below.
    pub(super) fn watch(&mut self, root: &Path) -> Result<(), String> {
        self.shared.watch_below(root, MAX_DEPTH).map_err(explain)?;
        let kind = rustix::fs::statfs(root).map(|facts| facts.f_type);
        let kind = kind.ok().and_then(|kind| u32::try_from(kind & 0xffff_ffff).ok());
        match REMOTE_FILE_SYSTEMS.iter().find(|(number, _)| Some(*number) == kind) {
            Some((_, name)) => Err(format!(
                "The folder is on {name}, where changes made on other machines are not told."
            )),
            None => Ok(()),
        }
    }

    /// Watches the names in a directory and nothing below.
    pub(super) fn watch_names(&mut self, directory: &Path) -> Result<(), String> {
        self.shared.add_watch(directory, false).map_err(explain)
    }

    /// The numbers of watched directories and of polled units below a root.
    pub(super) fn coverage(&self, root: &Path) -> (usize, usize) {
        let watches = self.shared.watches.lock();
        let descriptors = watches.descriptors.range::<Path, _>(starting_at(root));
        let watched_count = below(root, descriptors.map(|(path, _)| path)).count();
        let polled_count = below(root, watches.polled.range::<Path, _>(starting_at(root))).count();
        (watched_count, polled_count)
    }

    /// How many units are polled.
    pub(super) fn polled_count(&self) -> usize {
        self.shared.watches.lock().polled.len()
    }

    /// The next units to poll, in path order; after the last one it starts again.
    ///
    /// A unit that no longer exists is returned one last time.
    pub(super) fn next_polled(&mut self, count: usize) -> BTreeSet<PathBuf> {
        let watches = self.shared.watches.lock();
        let after = match &self.last_polled {
            Some(last) => (Bound::Excluded(&**last), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let next: Vec<Arc<Path>> =
            watches.polled.range::<Path, _>(after).take(count).map(Arc::clone).collect();
        // The thread that reads events must not wait for the file system calls below: while it
        // waits, the kernel's queue fills up.
        drop(watches);
        self.last_polled = next.last().filter(|_| next.len() == count).map(Arc::clone);
        let gone: Vec<_> = next.iter().filter(|path| !path.is_dir()).collect();
        if !gone.is_empty() {
            let mut watches = self.shared.watches.lock();
            for path in gone {
                watches.polled.remove(path);
            }
        }
        next.iter().map(|path| path.to_path_buf()).collect()
    }

    /// Stops watching a directory and everything below.
    pub(super) fn forget(&mut self, root: &Path) {
        self.shared.forget(root);
    }
}

impl Drop for SystemEvents {
    fn drop(&mut self) {
        self.shared.watches.lock().stopped = true;
        // The reading thread blocks in `read`. Removing a watch is itself an event and wakes it.
        let watch = inotify::add_watch(&self.shared.queue, "/", WatchFlags::DELETE_SELF);
        let _woken =
            watch.and_then(|descriptor| inotify::remove_watch(&self.shared.queue, descriptor));
    }
}

impl WatcherShared {
    fn watches(&self) -> MutexGuard<'_, WatchTable> {
        self.watches.lock()
    }

    /// Watches one directory; one that is gone by now needs no watch.
    ///
    /// The lock is held across the system call. The kernel may queue an event for the new
    /// descriptor at once, and the reading thread would drop it if it could look up the descriptor
    /// before it is entered here.
    fn add_watch(&self, path: &Path, recursive: bool) -> Result<(), Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let mut watches = self.watches();
        if watches.directories.len() >= self.limits.max_watches {
            return Err(Errno::NOSPC);
        }
        match inotify::add_watch(&self.queue, path, flags) {
            Ok(descriptor) => {
                // inotify returns the same descriptor for a directory that is watched already,
                // perhaps under an older path.
                let before = watches.remove(descriptor);
                let recursive = recursive || before.is_some_and(|before| before.recursive);
                let path: Arc<Path> = path.into();
                // A different directory was at this path; it may be elsewhere now.
                if let Some(other) = watches.descriptors.insert(Arc::clone(&path), descriptor) {
                    watches.directories.remove(&other);
                    let _already_gone = inotify::remove_watch(&self.queue, other);
                }
                watches.directories.insert(descriptor, WatchedDirectory { path, recursive });
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Watches a directory and those below, except ignored ones; goes on after one that fails.
    ///
    /// Running out of watches is an error only for a folder around units, since new units in it
    /// would go unreported. Units without a watch are polled.
    fn watch_below(&self, path: &Path, depth: usize) -> Result<(), Errno> {
        let mut units = Vec::new();
        let mut result = self.watch_around_units(path, depth, &mut units);
        for (unit, _) in &units {
            result = result.and(self.poll_without_watch(unit, self.add_watch(unit, true)));
        }
        for (unit, depth) in &units {
            // Polling reports a unit as a whole, so watches inside it would add nothing.
            if !self.watches().polled.contains(&**unit) {
                let inside = self.watch_inside_unit(unit, *depth);
                result = result.and(self.poll_without_watch(unit, inside));
            }
        }
        result
    }

    /// Watches the directories that are not units, and collects the units.
    fn watch_around_units(
        &self,
        path: &Path,
        depth: usize,
        units: &mut Vec<(PathBuf, usize)>,
    ) -> Result<(), Errno> {
        if path.join(self.rules.unit_marker).symlink_metadata().is_ok() {
            units.push((path.to_owned(), depth));
            return Ok(());
        }
        let mut result = self.add_watch(path, true);
        for inner in self.directories_in(path).filter(|_| depth > 0) {
            result = result.and(self.watch_around_units(&inner, depth - 1, units));
            if result == Err(Errno::NOSPC) {
                break;
            }
        }
        result
    }

    /// Watches what is below a directory of a unit.
    fn watch_inside_unit(&self, path: &Path, depth: usize) -> Result<(), Errno> {
        self.directories_in(path).filter(|_| depth > 0).try_fold((), |(), inner| {
            self.add_watch(&inner, true)?;
            self.watch_inside_unit(&inner, depth - 1)
        })
    }

    /// Polls a unit if there was no watch left for something in it.
    fn poll_without_watch(&self, unit: &Path, watched: Result<(), Errno>) -> Result<(), Errno> {
        if watched == Err(Errno::NOSPC) {
            self.watches().polled.insert(unit.into());
            return Ok(());
        }
        watched
    }

    /// The directories in a directory, except ignored ones.
    fn directories_in(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let is_ignored = self.rules.is_ignored;
        fs::read_dir(path).into_iter().flatten().flatten().filter_map(move |entry| {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let wanted = is_directory && !is_ignored(&entry.file_name().to_string_lossy());
            wanted.then(|| entry.path())
        })
    }

    fn forget(&self, root: &Path) {
        let mut watches = self.watches();
        let inside = watches.descriptors.range::<Path, _>(starting_at(root));
        let inside: Vec<_> = inside
            .take_while(|(path, _)| path.starts_with(root))
            .map(|(path, descriptor)| (Arc::clone(path), *descriptor))
            .collect();
        for (path, descriptor) in inside {
            watches.descriptors.remove(&path);
            watches.directories.remove(&descriptor);
            let _already_gone = inotify::remove_watch(&self.queue, descriptor);
        }
        let polled = below(root, watches.polled.range::<Path, _>(starting_at(root)));
        for path in polled.map(Arc::clone).collect::<Vec<_>>() {
            watches.polled.remove(&path);
        }
    }

    /// Reads events until the watcher is dropped.
    fn read_events(&self) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            let next = match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.handle(event.wd(), event.events(), name)
                }
                Err(Errno::INTR) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            if next.is_break() {
                return;
            }
        }
    }

    fn handle(&self, descriptor: i32, flags: ReadFlags, name: Option<&OsStr>) -> ControlFlow<()> {
        let mut watches = self.watches();
        if watches.stopped {
            return ControlFlow::Break(());
        }
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.send(SystemEvent::Lost);
        }
        if flags.contains(ReadFlags::IGNORED) {
            watches.remove(descriptor);
            return ControlFlow::Continue(());
        }
        let Some(directory) = watches.directories.get(&descriptor) else {
            return ControlFlow::Continue(());
        };
        let recursive = directory.recursive;
        let path =
            name.map_or_else(|| directory.path.to_path_buf(), |name| directory.path.join(name));
        drop(watches);
        if name.is_some_and(|name| (self.rules.is_ignored)(&name.to_string_lossy())) {
            return ControlFlow::Continue(());
        }
        if !flags.contains(ReadFlags::ISDIR) || !recursive {
            return self.send(SystemEvent::Changed(path));
        }
        if flags.contains(ReadFlags::MOVED_FROM) {
            // A watch follows its directory. Without this, changes at the new place would be
            // reported under the old path.
            self.forget(&path);
        }
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            match self.watch_appeared(&path) {
                Ok(true) => {}
                Ok(false) => self.send(SystemEvent::Polled(path.clone()))?,
                Err(error) => self.send(SystemEvent::Unwatched(path.clone(), explain(error)))?,
            }
            return self.send(SystemEvent::DirectoryAppeared(path));
        }
        self.send(SystemEvent::Changed(path))
    }

    /// Watches a directory that appeared; `false` if it or something in it is polled instead.
    fn watch_appeared(&self, path: &Path) -> Result<bool, Errno> {
        let before = self.watches().polled.len();
        let watched = self.watch_below(path, MAX_DEPTH);
        self.poll_without_watch(path, watched)?;
        Ok(self.watches().polled.len() == before)
    }

    fn send(&self, event: SystemEvent) -> ControlFlow<()> {
        match self.sender.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn starting_at(root: &Path) -> (Bound<&Path>, Bound<&Path>) {
    (Bound::Included(root), Bound::Unbounded)
}

/// Takes the paths at or below `root` from sorted paths that start at `root`.
fn below<'a>(
    root: &Path,
    paths: impl Iterator<Item = &'a Arc<Path>>,
) -> impl Iterator<Item = &'a Arc<Path>> {
    paths.take_while(move |path| path.starts_with(root))
}

/// Why not everything is watched.
pub(super) const NO_WATCH_LEFT: &str =
    "The limit of watched directories is reached. Raise `fs.inotify.max_user_watches`.";

fn explain(error: Errno) -> String {
    match error {
        Errno::NOSPC => NO_WATCH_LEFT.to_owned(),
        Errno::MFILE => "The limit of watchers is reached. \
             Raise `fs.inotify.max_user_instances`."
            .to_owned(),
        error => format!("{error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tests::RULES;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_directory_made_anew_stays_watched_when_the_end_of_the_old_one_is_told_v_60() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let skill = root.join("skill");
        fs::create_dir(&skill).unwrap();
        let (sender, received) = mpsc::channel();
        let setup = WatchSetup { limits: WatchLimits::DEFAULT, rules: RULES, sender };
        let mut events = SystemEvents::new(setup).unwrap();
        events.watch(&root).unwrap();
        let until = |done: &dyn Fn(&SystemEvent) -> bool| {
            while !done(&received.recv_timeout(LONG).expect("it is reported")) {}
        };
        // While it is open, the system does not report that it is gone.
        let held = fs::File::open(&skill).unwrap();
        fs::remove_dir(&skill).unwrap();
        fs::create_dir(&skill).unwrap();
        until(&|event| matches!(event, SystemEvent::DirectoryAppeared(path) if *path == skill));
        drop(held);
        fs::write(root.join("probe"), "").unwrap();
        until(&|event| matches!(event, SystemEvent::Changed(path) if path.ends_with("probe")));
        assert_eq!(events.coverage(&root), (2, 0));
        // A directory that moves away loses its watch only if its path still leads to it.
        fs::rename(&skill, folder.path().join(".git")).unwrap();
        until(&|event| matches!(event, SystemEvent::Changed(path) if *path == skill));
        assert_eq!(events.shared.watches().directories.len(), 1);
    }
}
