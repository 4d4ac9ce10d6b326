//! Reports which paths below some folders changed, with the events of the file system.
//!
//! This crate knows directories and events. It never knows what the files are for: the caller says
//! with [`WatchRules`] which names to ignore and which directories belong together.
//!
//! File system events are a hint and not a log. The system drops events when they come too fast,
//! has a limit of watches, and some file systems report nothing about changes made on other
//! machines. So a change is reported as a set of paths to look at again, or as
//! [`FolderChanges::Everything`], and [`WatchState`] says for each folder how much of it is watched
//! and whether the caller has to look by itself.
//!
//! ```
//! use std::sync::mpsc;
//!
//! use skillwire_watch::{FolderChanges, FolderWatcher, WatchRules};
//!
//! let folder = tempfile::tempdir()?;
//! let root = folder.path().canonicalize()?;
//! let (sender, changes) = mpsc::channel();
//! let rules = WatchRules::new("SKILL.md", |name| name == ".git");
//! let (_watcher, _state) = FolderWatcher::start(vec![root.clone()], rules, move |change| {
//!     let _ = sender.send(change);
//! });
//!
//! // The first report says that the watches exist.
//! assert_eq!(changes.recv()?, FolderChanges::Everything);
//! std::fs::write(root.join("notes.md"), "new")?;
//! assert_eq!(changes.recv()?, FolderChanges::Paths([root.join("notes.md")].into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

use parking_lot::Mutex;

use self::watch_loop::WatchLoop;

#[cfg_attr(target_os = "linux", path = "inotify.rs")]
#[cfg_attr(not(target_os = "linux"), path = "notify.rs")]
mod system_events;
mod watch_loop;

#[cfg(all(test, unix))]
mod tests;

/// What the watcher needs to know about the files in the folders.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WatchRules {
    /// The name of the file that makes a directory a unit, such as a skill or a project.
    ///
    /// If the system has fewer watches than there are directories, the folders around units get
    /// them first, then each unit's own directory, then the directories inside units. A unit that
    /// is not watched completely is reported as a whole from time to time instead.
    pub unit_marker: &'static str,
    /// Tells whether a file or directory of this name is ignored, with everything in it.
    pub is_ignored: fn(&str) -> bool,
}

impl WatchRules {
    /// Names the file that makes a directory a unit, and says which names are ignored.
    pub const fn new(unit_marker: &'static str, is_ignored: fn(&str) -> bool) -> Self {
        Self { unit_marker, is_ignored }
    }
}

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderChanges {
    /// These paths, and everything below them.
    Paths(BTreeSet<PathBuf>),
    /// Anything: events were lost, there were too many, or a folder came back.
    Everything,
}

/// How much of a folder is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchCoverage {
    /// The watches are still being set up.
    Pending,
    /// Every change is reported.
    Watched,
    /// Some directories have no watch. The units they are in are reported at intervals, whether or
    /// not they changed.
    Partial(PartialCoverage),
    /// Changes may go unreported, for this reason. The caller should scan the folder from time to
    /// time.
    Unwatched(String),
}

/// What of a folder is watched, and what is polled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialCoverage {
    /// The number of watched directories.
    pub watched: usize,
    /// The number of units that are polled.
    pub polled: usize,
    /// The time in which every polled unit is reported once.
    pub poll_interval: Duration,
    /// Why not everything is watched.
    pub reason: String,
}

/// The coverage of each folder, as it is now; clones share it.
#[derive(Debug, Clone, Default)]
pub struct WatchState(Arc<Mutex<Vec<(PathBuf, WatchCoverage)>>>);

impl WatchState {
    fn new(roots: &[PathBuf]) -> Self {
        let roots = roots.iter().map(|root| (root.clone(), WatchCoverage::Pending)).collect();
        Self(Arc::new(Mutex::new(roots)))
    }

    /// Each folder, and how much of it is watched.
    pub fn roots(&self) -> Vec<(PathBuf, WatchCoverage)> {
        self.0.lock().clone()
    }

    fn set(&self, index: usize, coverage: WatchCoverage) {
        if let Some((_, current)) = self.0.lock().get_mut(index) {
            *current = coverage;
        }
    }
}

/// Watches folders until it is dropped.
#[derive(Debug)]
pub struct FolderWatcher {
    events: mpsc::Sender<SystemEvent>,
}

impl FolderWatcher {
    /// Starts to watch folders, given as paths without symbolic links.
    ///
    /// Setting up the watches of a large folder takes a while, so a thread of the watcher's own
    /// does it and also calls `on_change`. The first call, after all watches exist, is
    /// [`FolderChanges::Everything`]: a caller that scans from then on misses nothing, because
    /// whatever changed earlier is in that scan and whatever changes later is reported.
    pub fn start(
        folders: Vec<PathBuf>,
        rules: WatchRules,
        on_change: impl FnMut(FolderChanges) + Send + 'static,
    ) -> (Self, WatchState) {
        Self::start_within(WatchLimits::DEFAULT, folders, rules, on_change)
    }

    fn start_within(
        limits: WatchLimits,
        folders: Vec<PathBuf>,
        rules: WatchRules,
        on_change: impl FnMut(FolderChanges) + Send + 'static,
    ) -> (Self, WatchState) {
        let state = WatchState::new(&folders);
        let (events, received) = mpsc::channel();
        let sender = events.clone();
        let loop_state = state.clone();
        let work = move || {
            let setup = WatchSetup { limits, rules, sender };
            WatchLoop::new(setup, folders, loop_state).run(&received, on_change);
        };
        if let Err(error) = std::thread::Builder::new().name("watch".to_owned()).spawn(work) {
            for index in 0..state.roots().len() {
                state.set(index, WatchCoverage::Unwatched(error.to_string()));
            }
        }
        (Self { events }, state)
    }
}

impl Drop for FolderWatcher {
    fn drop(&mut self) {
        let _already_stopped = self.events.send(SystemEvent::Stop);
    }
}

/// What one kind of file system events needs to start.
struct WatchSetup {
    limits: WatchLimits,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "of inotify alone"))]
    rules: WatchRules,
    sender: mpsc::Sender<SystemEvent>,
}

/// How many watches a watcher takes, and how it polls without them.
#[derive(Debug, Clone, Copy)]
struct WatchLimits {
    /// The most directories that are watched; the system may allow fewer.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "of inotify alone"))]
    max_watches: usize,
    /// The time between two reports of polled units.
    poll_tick: Duration,
    /// The number of ticks in which every polled unit is reported once.
    poll_ticks: usize,
}

impl WatchLimits {
    /// Some of the polled units are reported each second, all of them within two minutes.
    const DEFAULT: Self =
        Self { max_watches: usize::MAX, poll_tick: Duration::from_secs(1), poll_ticks: 120 };
}

/// What the operating system reports, in the terms that all systems share.
#[derive(Debug)]
enum SystemEvent {
    /// Something happened at a path.
    Changed(PathBuf),
    /// A directory appeared. Files may have been written into it before it was watched.
    DirectoryAppeared(PathBuf),
    /// Some events were lost.
    Lost,
    /// A directory cannot be watched, for this reason.
    Unwatched(PathBuf, String),
    /// No watch was left for something below a directory, so that it is polled.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "of inotify alone"))]
    Polled(PathBuf),
    /// The watcher was dropped.
    Stop,
}
