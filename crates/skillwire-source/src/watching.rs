//! Watches folders with the rules of skills.

use std::path::PathBuf;

use skillwire_core::{SKILL_FILE, is_ignored};
use skillwire_watch::{FolderChanges, FolderWatcher, WatchRules, WatchState};

/// Watches folders of skills, given as paths without symbolic links, until the watcher is dropped.
///
/// Directories that scans ignore get no watch. If the system has too few watches, each skill's own
/// directory is watched before those inside skills. `on_change` runs on the watcher's thread; the
/// first call, once the watches exist, is [`FolderChanges::Everything`].
pub fn watch_skill_folders(
    folders: Vec<PathBuf>,
    on_change: impl FnMut(FolderChanges) + Send + 'static,
) -> (FolderWatcher, WatchState) {
    FolderWatcher::start(folders, WatchRules::new(SKILL_FILE, is_ignored), on_change)
}
