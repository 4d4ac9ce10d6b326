//! File system events on systems other than Linux, with the notify crate.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc,
};

use notify::{
    ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{CreateKind, ModifyKind, RenameMode},
};

use super::{SystemEvent, WatchSetup};

/// Watches directories with the notify crate.
#[derive(Debug)]
pub(super) struct SystemEvents(RecommendedWatcher);

impl SystemEvents {
    /// Starts the notify watcher, which has no limit of watches and calls back on its own thread.
    pub(super) fn new(setup: WatchSetup) -> Result<Self, String> {
        let sender: mpsc::Sender<SystemEvent> = setup.sender;
        let forward = move |event: notify::Result<notify::Event>| {
            for event in translate(event) {
                let _watcher_dropped = sender.send(event);
            }
        };
        let config = notify::Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(forward, config).map(Self).map_err(|error| explain(&error))
    }

    /// Watches a directory and everything below.
    pub(super) fn watch(&mut self, root: &Path) -> Result<(), String> {
        self.0.watch(root, RecursiveMode::Recursive).map_err(|error| explain(&error))
    }

    /// Watches the names in a directory and nothing below.
    pub(super) fn watch_names(&mut self, directory: &Path) -> Result<(), String> {
        self.0.watch(directory, RecursiveMode::NonRecursive).map_err(|error| explain(&error))
    }

    /// The numbers of watched directories and of polled units below a root; everything is watched.
    #[expect(clippy::unused_self, reason = "the Linux version needs it")]
    pub(super) fn coverage(&self, _root: &Path) -> (usize, usize) {
        (1, 0)
    }

    /// The next units to poll; there are none.
    #[expect(clippy::unused_self, reason = "the Linux version needs it")]
    pub(super) fn next_polled(&mut self, _count: usize) -> BTreeSet<PathBuf> {
        BTreeSet::new()
    }

    /// How many units are polled.
    #[expect(clippy::unused_self, reason = "the Linux version needs it")]
    pub(super) fn polled_count(&self) -> usize {
        0
    }

    /// Stops watching a directory and everything below.
    pub(super) fn forget(&mut self, root: &Path) {
        let _not_watched = self.0.unwatch(root);
    }
}

/// Why not everything is watched.
pub(super) const NO_WATCH_LEFT: &str = "The limit of watched directories is reached.";

fn translate(event: notify::Result<notify::Event>) -> Vec<SystemEvent> {
    let event = match event {
        Ok(event) => event,
        Err(error) => {
            let reason = explain(&error);
            let unwatched = |path| SystemEvent::Unwatched(path, reason.clone());
            return error.paths.into_iter().map(unwatched).chain([SystemEvent::Lost]).collect();
        }
    };
    if event.need_rescan() {
        return vec![SystemEvent::Lost];
    }
    let directory = match event.kind {
        EventKind::Access(_) => return Vec::new(),
        EventKind::Create(CreateKind::File) => false,
        EventKind::Create(_) => true,
        EventKind::Modify(ModifyKind::Name(mode)) => mode != RenameMode::From,
        _ => false,
    };
    let event_at = |path: PathBuf| {
        if directory && path.is_dir() {
            SystemEvent::DirectoryAppeared(path)
        } else {
            SystemEvent::Changed(path)
        }
    };
    event.paths.into_iter().map(event_at).collect()
}

fn explain(error: &notify::Error) -> String {
    match error.kind {
        ErrorKind::MaxFilesWatch => NO_WATCH_LEFT.to_owned(),
        _ => format!("{error}."),
    }
}
