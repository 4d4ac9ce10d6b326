//! Events on Linux.
//!
//! The notify crate is used elsewhere, but here its stable version also asks to be told of every
//! opened file: scanning would flood the queue with our own steps until it overflows, and the
//! overflow would cause the next scan.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    mem::MaybeUninit,
    ops::ControlFlow,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use rustix::{
    fs::inotify::{self, ReadFlags, WatchFlags},
    io::Errno,
};
use skillwire_core::file_rules::is_ignored;

use super::Event;

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
#[derive(Debug)]
pub(super) struct Events {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: OwnedFd,
    sender: mpsc::Sender<Event>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The directories that are watched, by the number the system gave them.
    directories: BTreeMap<i32, Directory>,
    numbers: BTreeMap<PathBuf, i32>,
    stopped: bool,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Whether what is in it is watched too.
    deep: bool,
}

impl Events {
    pub(super) fn new(sender: mpsc::Sender<Event>) -> Result<Self, String> {
        let queue = inotify::init(inotify::CreateFlags::CLOEXEC).map_err(explain)?;
        let shared = Arc::new(Shared { queue, sender, known: Mutex::default() });
        let reader = Arc::clone(&shared);
        let named = std::thread::Builder::new().name("watch-events".to_owned());
        named.spawn(move || reader.read()).map_err(|error| error.to_string())?;
        Ok(Self { shared })
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
        match inotify::add_watch(&self.queue, path, flags) {
            Ok(number) => {
                let deep = deep || known.directories.get(&number).is_some_and(|known| known.deep);
                let path = path.to_owned();
                known.numbers.insert(path.clone(), number);
                known.directories.insert(number, Directory { path, deep });
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Watches a directory and those below, litter excepted; goes on after one that fails.
    fn watch_below(&self, path: &Path, depth: usize) -> Result<(), Errno> {
        let mut result = self.add(path, true);
        // First watched, then listed: what comes later is told.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if directory && depth > 0 && !is_ignored(&name.to_string_lossy()) {
                result = result.and(self.watch_below(&entry.path(), depth - 1));
            }
            if result == Err(Errno::NOSPC) {
                break;
            }
        }
        result
    }

    fn forget(&self, root: &Path) {
        let mut known = self.known();
        let inside = known
            .numbers
            .range::<Path, _>((std::ops::Bound::Included(root), std::ops::Bound::Unbounded));
        let inside: Vec<_> = inside
            .take_while(|(path, _)| path.starts_with(root))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in inside {
            known.numbers.remove(&path);
            known.directories.remove(&number);
            let _already_gone = inotify::remove_watch(&self.queue, number);
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
            if let Some(directory) = known.directories.remove(&number) {
                known.numbers.remove(&directory.path);
            }
            return ControlFlow::Continue(());
        }
        let Some(directory) = known.directories.get(&number) else {
            return ControlFlow::Continue(());
        };
        let deep = directory.deep;
        let path = name.map_or_else(|| directory.path.clone(), |name| directory.path.join(name));
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
            if let Err(error) = self.watch_below(&path, MAX_DEPTH) {
                let _nobody = self.send(Event::Unwatched(path.clone(), explain(error)));
            }
            return self.send(Event::Directory(path));
        }
        self.send(Event::At(path))
    }

    fn send(&self, event: Event) -> ControlFlow<()> {
        match self.sender.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn explain(error: Errno) -> String {
    match error {
        Errno::NOSPC => "The limit of watched directories is reached. \
             Raise `fs.inotify.max_user_watches`."
            .to_owned(),
        Errno::MFILE => "The limit of watchers is reached. \
             Raise `fs.inotify.max_user_instances`."
            .to_owned(),
        error => format!("{error}."),
    }
}
