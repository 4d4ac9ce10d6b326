//! Events on Linux.
//!
//! The notify crate is used elsewhere, but here its stable version also asks to be told of every
//! opened file: scanning would flood the queue with our own steps until it overflows, and the
//! overflow would cause the next scan.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    mem::MaybeUninit,
    ops::{Bound, ControlFlow},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use rustix::{
    fs::inotify::{self, ReadFlags, WatchFlags},
    io::Errno,
};
use skillwire_core::{file_rules::is_ignored, path::SKILL_FILE};

use super::{Bounds, Event};

/// File systems whose files change on other machines, where nothing here is told.
const REMOTE: [(u32, &str); 6] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
];

/// The most directories below each other that are watched; no skill is served from further down.
const MAX_DEPTH: usize = 64;

/// Watches directories.
///
/// There may be more directories than the system lets anybody watch. The folders around skills come
/// first, as new skills appear there; then each skill's own, which hold its `SKILL.md`; then those
/// inside skills, as far as there are watches. A skill with a directory that got none is told in
/// turns instead.
#[derive(Debug)]
pub(super) struct Events {
    shared: Arc<Shared>,
    /// The place that had its turn last.
    last: Option<Arc<Path>>,
}

#[derive(Debug)]
struct Shared {
    queue: OwnedFd,
    bounds: Bounds,
    sender: mpsc::Sender<Event>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The directories that are watched, by the number the system gave them.
    directories: BTreeMap<i32, Directory>,
    numbers: BTreeMap<Arc<Path>, i32>,
    /// Places with a directory that is not watched: skills, and what appeared in them.
    in_turns: BTreeSet<Arc<Path>>,
    stopped: bool,
}

#[derive(Debug)]
struct Directory {
    path: Arc<Path>,
    /// Whether what is in it is watched too.
    deep: bool,
}

impl Known {
    /// Takes a directory out; another one may be at its path by now.
    fn take(&mut self, number: i32) -> Option<Directory> {
        let directory = self.directories.remove(&number)?;
        if self.numbers.get(&directory.path) == Some(&number) {
            self.numbers.remove(&directory.path);
        }
        Some(directory)
    }
}

impl Events {
    pub(super) fn new(bounds: Bounds, sender: mpsc::Sender<Event>) -> Result<Self, String> {
        let queue = inotify::init(inotify::CreateFlags::CLOEXEC).map_err(explain)?;
        let shared = Arc::new(Shared { queue, bounds, sender, known: Mutex::default() });
        let reader = Arc::clone(&shared);
        let named = std::thread::Builder::new().name("watch-events".to_owned());
        named.spawn(move || reader.read()).map_err(|error| error.to_string())?;
        Ok(Self { shared, last: None })
    }

    /// Watches a directory and everything below.
    pub(super) fn watch(&mut self, root: &Path) -> Result<(), String> {
        self.shared.watch_below(root, MAX_DEPTH).map_err(explain)?;
        let kind = rustix::fs::statfs(root).map(|facts| facts.f_type);
        let kind = kind.ok().and_then(|kind| u32::try_from(kind & 0xffff_ffff).ok());
        match REMOTE.iter().find(|(number, _)| Some(*number) == kind) {
            Some((_, name)) => Err(format!(
                "The folder is on {name}, where changes made on other machines are not told."
            )),
            None => Ok(()),
        }
    }

    /// Watches the names in a directory and nothing below.
    pub(super) fn watch_names(&mut self, directory: &Path) -> Result<(), String> {
        self.shared.add(directory, false).map_err(explain)
    }

    /// How many directories below a root are watched, and how many places are told in turns.
    pub(super) fn coverage(&self, root: &Path) -> (usize, usize) {
        let known = self.shared.known();
        let watched = below(root, known.numbers.range::<Path, _>(from(root)).map(|(path, _)| path));
        (watched.count(), below(root, known.in_turns.range::<Path, _>(from(root))).count())
    }

    /// How many places are told in turns.
    pub(super) fn in_turns(&self) -> usize {
        self.shared.known().in_turns.len()
    }

    /// The next places that are told in turns; those that are gone are left out from now on.
    pub(super) fn turn(&mut self, most: usize) -> BTreeSet<PathBuf> {
        let known = self.shared.known();
        let after = match &self.last {
            Some(last) => (Bound::Excluded(&**last), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let next: Vec<Arc<Path>> =
            known.in_turns.range::<Path, _>(after).take(most).map(Arc::clone).collect();
        // Events need not wait for files to be looked at.
        drop(known);
        // The round begins anew after its end.
        self.last = next.last().filter(|_| next.len() == most).map(Arc::clone);
        let gone: Vec<_> = next.iter().filter(|path| !path.is_dir()).collect();
        if !gone.is_empty() {
            let mut known = self.shared.known();
            for path in gone {
                known.in_turns.remove(path);
            }
        }
        next.iter().map(|path| path.to_path_buf()).collect()
    }

    /// Stops watching a directory and everything below.
    pub(super) fn forget(&mut self, root: &Path) {
        self.shared.forget(root);
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.known().stopped = true;
        // Taking a watch away is an event, which wakes the thread that reads them.
        let watch = inotify::add_watch(&self.shared.queue, "/", WatchFlags::DELETE_SELF);
        let _woken = watch.and_then(|number| inotify::remove_watch(&self.shared.queue, number));
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches one directory; one that is gone by now needs no watch.
    fn add(&self, path: &Path, deep: bool) -> Result<(), Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        // Held while the number is made, so that no event comes before it is known.
        let mut known = self.known();
        if known.directories.len() >= self.bounds.directories {
            return Err(Errno::NOSPC);
        }
        match inotify::add_watch(&self.queue, path, flags) {
            Ok(number) => {
                let before = known.take(number);
                let deep = deep || before.is_some_and(|before| before.deep);
                let path: Arc<Path> = path.into();
                // Another directory was there, which may be elsewhere now.
                if let Some(other) = known.numbers.insert(Arc::clone(&path), number) {
                    known.directories.remove(&other);
                    let _already_gone = inotify::remove_watch(&self.queue, other);
                }
                known.directories.insert(number, Directory { path, deep });
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Watches a directory and those below, litter excepted; goes on after one that fails.
    ///
    /// That there is no watch left is an error only for a folder around skills: new skills in it
    /// would go untold. Skills without a watch are told in turns.
    fn watch_below(&self, path: &Path, depth: usize) -> Result<(), Errno> {
        let mut skills = Vec::new();
        let mut result = self.watch_around(path, depth, &mut skills);
        for (skill, _) in &skills {
            result = result.and(self.or_in_turns(skill, self.add(skill, true)));
        }
        for (skill, depth) in &skills {
            // A skill that has its turn is looked at whole.
            if !self.known().in_turns.contains(&**skill) {
                let inside = self.watch_inside(skill, *depth);
                result = result.and(self.or_in_turns(skill, inside));
            }
        }
        result
    }

    /// Watches folders that are not skills, and finds the skills in them.
    fn watch_around(
        &self,
        path: &Path,
        depth: usize,
        skills: &mut Vec<(PathBuf, usize)>,
    ) -> Result<(), Errno> {
        if path.join(SKILL_FILE).symlink_metadata().is_ok() {
            skills.push((path.to_owned(), depth));
            return Ok(());
        }
        let mut result = self.add(path, true);
        for inner in directories(path).filter(|_| depth > 0) {
            result = result.and(self.watch_around(&inner, depth - 1, skills));
            if result == Err(Errno::NOSPC) {
                break;
            }
        }
        result
    }

    /// Watches what is below a directory of a skill.
    fn watch_inside(&self, path: &Path, depth: usize) -> Result<(), Errno> {
        directories(path).filter(|_| depth > 0).try_fold((), |(), inner| {
            self.add(&inner, true)?;
            self.watch_inside(&inner, depth - 1)
        })
    }

    /// Lets a place have its turns if there is no watch left for something in it.
    fn or_in_turns(&self, place: &Path, watched: Result<(), Errno>) -> Result<(), Errno> {
        if watched == Err(Errno::NOSPC) {
            self.known().in_turns.insert(place.into());
            return Ok(());
        }
        watched
    }

    fn forget(&self, root: &Path) {
        let mut known = self.known();
        let inside = known.numbers.range::<Path, _>(from(root));
        let inside: Vec<_> = inside
            .take_while(|(path, _)| path.starts_with(root))
            .map(|(path, number)| (Arc::clone(path), *number))
            .collect();
        for (path, number) in inside {
            known.numbers.remove(&path);
            known.directories.remove(&number);
            let _already_gone = inotify::remove_watch(&self.queue, number);
        }
        let in_turns = below(root, known.in_turns.range::<Path, _>(from(root)));
        for path in in_turns.map(Arc::clone).collect::<Vec<_>>() {
            known.in_turns.remove(&path);
        }
    }

    fn read(&self) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            let told = match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.hear(event.wd(), event.events(), name)
                }
                Err(Errno::INTR) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            if told.is_break() {
                return;
            }
        }
    }

    fn hear(&self, number: i32, what: ReadFlags, name: Option<&OsStr>) -> ControlFlow<()> {
        let mut known = self.known();
        if known.stopped {
            return ControlFlow::Break(());
        }
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.send(Event::Lost);
        }
        if what.contains(ReadFlags::IGNORED) {
            known.take(number);
            return ControlFlow::Continue(());
        }
        let Some(directory) = known.directories.get(&number) else {
            return ControlFlow::Continue(());
        };
        let deep = directory.deep;
        let path =
            name.map_or_else(|| directory.path.to_path_buf(), |name| directory.path.join(name));
        drop(known);
        if name.is_some_and(|name| is_ignored(&name.to_string_lossy())) {
            return ControlFlow::Continue(());
        }
        if !what.contains(ReadFlags::ISDIR) || !deep {
            return self.send(Event::At(path));
        }
        if what.contains(ReadFlags::MOVED_FROM) {
            // It would go on telling of changes where it is now.
            self.forget(&path);
        }
        if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            match self.watch_appeared(&path) {
                Ok(true) => {}
                Ok(false) => {
                    let _nobody = self.send(Event::InTurns(path.clone()));
                }
                Err(error) => {
                    let _nobody = self.send(Event::Unwatched(path.clone(), explain(error)));
                }
            }
            return self.send(Event::Directory(path));
        }
        self.send(Event::At(path))
    }

    /// Watches a directory that appeared, and tells whether there was a watch for everything in it.
    fn watch_appeared(&self, path: &Path) -> Result<bool, Errno> {
        let before = self.known().in_turns.len();
        let watched = self.watch_below(path, MAX_DEPTH);
        // What appeared has its turns, whether or not it is in a skill.
        self.or_in_turns(path, watched)?;
        Ok(self.known().in_turns.len() == before)
    }

    fn send(&self, event: Event) -> ControlFlow<()> {
        match self.sender.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The directories in one, litter excepted.
fn directories(path: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(path).into_iter().flatten().flatten().filter_map(|entry| {
        let directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let wanted = directory && !is_ignored(&entry.file_name().to_string_lossy());
        wanted.then(|| entry.path())
    })
}

fn from(root: &Path) -> (Bound<&Path>, Bound<&Path>) {
    (Bound::Included(root), Bound::Unbounded)
}

/// Of sorted paths from `root` on, those that are it or in it.
fn below<'a>(
    root: &Path,
    paths: impl Iterator<Item = &'a Arc<Path>>,
) -> impl Iterator<Item = &'a Arc<Path>> {
    paths.take_while(move |path| path.starts_with(root))
}

/// Why there is no watch for everything.
pub(super) const NO_MORE: &str =
    "The limit of watched directories is reached. Raise `fs.inotify.max_user_watches`.";

fn explain(error: Errno) -> String {
    match error {
        Errno::NOSPC => NO_MORE.to_owned(),
        Errno::MFILE => "The limit of watchers is reached. \
             Raise `fs.inotify.max_user_instances`."
            .to_owned(),
        error => format!("{error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::BOUNDS, *};

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_directory_made_anew_stays_watched_when_the_end_of_the_old_one_is_told_v_60() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let skill = root.join("skill");
        fs::create_dir(&skill).unwrap();
        let (sender, told) = mpsc::channel();
        let mut events = Events::new(BOUNDS, sender).unwrap();
        events.watch(&root).unwrap();
        let until = |done: &dyn Fn(&Event) -> bool| {
            while !done(&told.recv_timeout(LONG).expect("it is told")) {}
        };
        // While it is open, the system does not say that it is gone.
        let held = fs::File::open(&skill).unwrap();
        fs::remove_dir(&skill).unwrap();
        fs::create_dir(&skill).unwrap();
        until(&|event| matches!(event, Event::Directory(path) if *path == skill));
        drop(held);
        fs::write(root.join("probe"), "").unwrap();
        until(&|event| matches!(event, Event::At(path) if path.ends_with("probe")));
        assert_eq!(events.coverage(&root), (2, 0));
        // Only what is known to be there can be let go of when it moves away.
        fs::rename(&skill, folder.path().join(".git")).unwrap();
        until(&|event| matches!(event, Event::At(path) if *path == skill));
        assert_eq!(events.shared.known().directories.len(), 1);
    }
}
