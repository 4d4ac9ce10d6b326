//! Events where the notify crate speaks with the system.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc,
};

use notify::{
    ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{CreateKind, ModifyKind, RenameMode},
};

use super::{Bounds, Event};

/// Watches directories.
#[derive(Debug)]
pub(super) struct Events(RecommendedWatcher);

impl Events {
    pub(super) fn new(_: Bounds, sender: mpsc::Sender<Event>) -> Result<Self, String> {
        let hear = move |event: notify::Result<notify::Event>| {
            for event in translate(event) {
                let _nobody_listens = sender.send(event);
            }
        };
        let config = notify::Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(hear, config).map(Self).map_err(|error| explain(&error))
    }

    /// Watches a directory and everything below.
    pub(super) fn watch(&mut self, root: &Path) -> Result<(), String> {
        self.0.watch(root, RecursiveMode::Recursive).map_err(|error| explain(&error))
    }

    /// Watches the names in a directory and nothing below.
    pub(super) fn watch_names(&mut self, directory: &Path) -> Result<(), String> {
        self.0.watch(directory, RecursiveMode::NonRecursive).map_err(|error| explain(&error))
    }

    /// How many directories below a root are watched, and how many places are not; here all are.
    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn coverage(&self, _root: &Path) -> (usize, usize) {
        (1, 0)
    }

    /// The next places that are not watched; here there are none.
    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn turn(&mut self, _most: usize) -> BTreeSet<PathBuf> {
        BTreeSet::new()
    }

    /// How many places are not watched.
    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn in_turns(&self) -> usize {
        0
    }

    /// Stops watching a directory and everything below.
    pub(super) fn forget(&mut self, root: &Path) {
        let _not_watched = self.0.unwatch(root);
    }
}

/// Why there is no watch for everything.
pub(super) const NO_MORE: &str = "The limit of watched directories is reached.";

fn translate(event: notify::Result<notify::Event>) -> Vec<Event> {
    let event = match event {
        Ok(event) => event,
        Err(error) => {
            let reason = explain(&error);
            let unwatched = |path| Event::Unwatched(path, reason.clone());
            return error.paths.into_iter().map(unwatched).chain([Event::Lost]).collect();
        }
    };
    if event.need_rescan() {
        return vec![Event::Lost];
    }
    let directory = match event.kind {
        EventKind::Access(_) => return Vec::new(),
        EventKind::Create(CreateKind::File) => false,
        EventKind::Create(_) => true,
        EventKind::Modify(ModifyKind::Name(mode)) => mode != RenameMode::From,
        _ => false,
    };
    let event_at = |path: std::path::PathBuf| {
        if directory && path.is_dir() { Event::Directory(path) } else { Event::At(path) }
    };
    event.paths.into_iter().map(event_at).collect()
}

fn explain(error: &notify::Error) -> String {
    match error.kind {
        ErrorKind::MaxFilesWatch => NO_MORE.to_owned(),
        _ => format!("{error}."),
    }
}
