//! Being told when something below a folder changes.
//!
//! A file system that tells of changes saves looking at everything again and again. It may lose
//! some, and some file systems tell nothing: then the news is that everything may have changed, or
//! the state says that the caller has to look by itself.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::{Duration, Instant},
};

use self::post::Post;

#[cfg_attr(target_os = "linux", path = "inotify.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod events;
mod post;
#[cfg(all(test, unix))]
mod tests;

/// How long nothing must happen before news is told.
const QUIET: Duration = Duration::from_millis(50);

/// How long news may wait while things keep happening.
const PATIENCE: Duration = Duration::from_millis(200);

/// How often a folder that is gone is looked for.
const ABSENCE: Duration = Duration::from_secs(1);

/// The most paths that are told one by one.
const MANY: usize = 1_000;

/// What a watcher may take, and how often it looks where it may not.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The most directories that are watched; the system may have fewer.
    directories: usize,
    /// How often some of the places that are not watched have their turn.
    turn: Duration,
    /// In how many turns all of them have had theirs.
    turns: usize,
}

/// All places without a watch are looked at within two minutes, some of them each second.
const BOUNDS: Bounds = Bounds { directories: usize::MAX, turn: Duration::from_secs(1), turns: 120 };

/// The fewest places that have their turn at once.
const FEWEST: usize = 16;

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// These paths, and whatever is below them.
    Changed(BTreeSet<PathBuf>),
    /// Anything: changes were lost, there were too many, or a folder came back.
    Everything,
}

/// Whether a folder is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// Not yet.
    Pending,
    /// Every change is told.
    Watched,
    /// Some directories have no watch; the skills they are in are told in turns, changed or not.
    InTurns(Turns),
    /// Changes may go untold, for this reason; look at the folder from time to time.
    Unwatched(String),
}

/// What of a folder is watched, and what is told in turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    /// How many directories are watched.
    pub watched: usize,
    /// How many skills are told in turns.
    pub in_turns: usize,
    /// Within which time each of them has had its turn.
    pub round: Duration,
    /// Why not everything is watched.
    pub reason: String,
}

/// Which folders are watched, at any time.
#[derive(Debug, Clone, Default)]
pub struct WatchState(Arc<Mutex<Vec<(PathBuf, Watch)>>>);

impl WatchState {
    fn new(roots: &[PathBuf]) -> Self {
        let roots = roots.iter().map(|root| (root.clone(), Watch::Pending)).collect();
        Self(Arc::new(Mutex::new(roots)))
    }

    /// Each folder, and whether it is watched.
    pub fn roots(&self) -> Vec<(PathBuf, Watch)> {
        self.lock().clone()
    }

    fn set(&self, index: usize, watch: Watch) {
        if let Some(root) = self.lock().get_mut(index) {
            root.1 = watch;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, Watch)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the system tells.
#[derive(Debug)]
enum Event {
    /// Something happened at a path.
    At(PathBuf),
    /// A directory appeared; what is in it may have come before it was watched.
    Directory(PathBuf),
    /// Some events were lost.
    Lost,
    /// A directory cannot be watched, for this reason.
    Unwatched(PathBuf, String),
    /// There was no watch left for a directory, so that it is looked at in turns.
    InTurns(PathBuf),
    /// Nobody wants to know any more.
    Stop,
}

/// Watches folders until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    events: mpsc::Sender<Event>,
}

impl Watcher {
    /// Begins to watch folders, given as paths without symbolic links.
    ///
    /// Setting up takes a while for large folders, so it happens on a thread of its own; the first
    /// news, once it is done, is [`News::Everything`], so that nothing in between is lost. All
    /// news is told on that thread.
    pub fn start(
        roots: Vec<PathBuf>,
        on_news: impl FnMut(News) + Send + 'static,
    ) -> (Self, WatchState) {
        Self::start_within(BOUNDS, roots, on_news)
    }

    fn start_within(
        bounds: Bounds,
        roots: Vec<PathBuf>,
        on_news: impl FnMut(News) + Send + 'static,
    ) -> (Self, WatchState) {
        let state = WatchState::new(&roots);
        let (events, received) = mpsc::channel();
        let (sender, told) = (events.clone(), state.clone());
        let named = std::thread::Builder::new().name("watch".to_owned());
        let work = move || Post::new(bounds, roots, told, sender).run(&received, on_news);
        if let Err(error) = named.spawn(work) {
            for index in 0..state.roots().len() {
                state.set(index, Watch::Unwatched(error.to_string()));
            }
        }
        (Self { events }, state)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _already_stopped = self.events.send(Event::Stop);
    }
}

/// Gathers what happens until it is quiet for a moment.
#[derive(Debug, Default)]
struct Batch {
    paths: BTreeSet<PathBuf>,
    everything: bool,
    /// When the first and the last thing happened.
    times: Option<(Instant, Instant)>,
}

impl Batch {
    fn add(&mut self, path: PathBuf) {
        self.touch();
        if !self.everything {
            self.paths.insert(path);
            if self.paths.len() > MANY {
                self.add_everything();
            }
        }
    }

    fn add_everything(&mut self) {
        self.touch();
        self.everything = true;
        self.paths.clear();
    }

    fn touch(&mut self) {
        let now = Instant::now();
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }

    /// When it is to be told, unless something else happens.
    fn due(&self) -> Option<Instant> {
        self.times.map(|(first, last)| (last + QUIET).min(first + PATIENCE))
    }

    fn take(&mut self) -> News {
        let Self { paths, everything, .. } = std::mem::take(self);
        if everything { News::Everything } else { News::Changed(paths) }
    }
}
