//! Follows the skill folders of this machine, and the directories that links in them lead to.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use skillwire_gateway::Bridge;
use skillwire_source::{FolderWatcher, watch_skill_folders};

use crate::session::SkillFolders;

/// Reads the skill folders for a bridge whenever something in them, or behind a link in them,
/// changes. It stops when it is dropped.
pub(super) struct FollowedSkillFolders {
    _state: Arc<FolderState>,
    _watcher: FolderWatcher,
}

struct FolderState {
    bridge: Bridge,
    folders: SkillFolders,
    roots: Vec<PathBuf>,
    /// Held while the folders are read, so that the last read is the one that the bridge shows.
    behind_links: Mutex<BehindLinks>,
}

/// The directories behind links, outside the folders, and their watcher.
#[derive(Default)]
struct BehindLinks {
    directories: BTreeSet<PathBuf>,
    _watcher: Option<FolderWatcher>,
}

impl FollowedSkillFolders {
    /// Begins to follow the folders.
    pub(super) fn start(bridge: Bridge, folders: SkillFolders) -> Self {
        let roots = folders.roots();
        let to_watch = roots.clone();
        let behind_links = Mutex::default();
        let state = Arc::new(FolderState { bridge, folders, roots, behind_links });
        let on_news = state.read_again_later();
        // A watcher reports a change of everything when it starts, so this reads the folders, too.
        let watcher = watch_skill_folders(to_watch, move |_| on_news()).0;
        Self { _state: state, _watcher: watcher }
    }
}

impl FolderState {
    /// A callback for watchers. It does not keep the state alive, which owns one of them.
    fn read_again_later(self: &Arc<Self>) -> impl Fn() + Send + Sync + 'static {
        let state: Weak<Self> = Arc::downgrade(self);
        move || {
            if let Some(state) = state.upgrade() {
                state.read_again();
            }
        }
    }

    fn read_again(self: &Arc<Self>) {
        let mut behind_links = self.behind_links.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.folders.read();
        let is_watched = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
        let outside: BTreeSet<PathBuf> =
            found.behind_links.iter().filter(|path| !is_watched(path)).cloned().collect();
        self.bridge.set_folders(found);
        if outside != behind_links.directories {
            let on_news = self.read_again_later();
            let watcher = (!outside.is_empty()).then(|| {
                watch_skill_folders(outside.iter().cloned().collect(), move |_| on_news()).0
            });
            *behind_links = BehindLinks { directories: outside, _watcher: watcher };
        }
    }
}
