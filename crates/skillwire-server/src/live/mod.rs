//! Keeps a running server up to date with its sources.

mod background_rescan;
mod notice;

use std::{
    collections::BTreeSet,
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use skillwire_catalog::{Catalog, Refreshed, Refresher, Snapshot, ViewId};
use skillwire_core::Strictness;
use skillwire_source::{
    ChangeCallback, FolderChanges, ScanRequest, WatchCoverage, WatchState, watch_skill_folders,
};
use tokio::{sync::mpsc, task::JoinError, time::sleep_until};

pub use self::notice::{Notice, Subject};
use self::{background_rescan::BackgroundRescan, notice::NoticeLog};
use skillwire_engine::Engine;

/// The shortest pause between two scans of everything.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The shortest pause while the system reports every change, as far as it knows.
const WATCHED_PAUSE: Duration = Duration::from_mins(1);

/// The shortest pause where the system reports some changes and the rest is scanned in turns.
const IN_TURNS_PAUSE: Duration = Duration::from_mins(10);

/// A scan of everything may take at most about one part in so many of the time.
const SHARE: u32 = 20;

/// How long after the start every file is read again, even if a stored index already described it.
const FIRST_READING: Duration = Duration::from_secs(30);

/// How often every file is read again, even if the file system reports no change.
const READING: Duration = Duration::from_hours(1);

/// The shortest pause between scans of skills that clients requested, where not every folder is
/// watched.
const ASKED_PAUSE: Duration = Duration::from_millis(100);

/// Idle time before background work (watches, cache warm-up) starts.
const IDLE_TIME: Duration = Duration::from_millis(50);

/// The most skills that one line of the log names.
const MOST_LOGGED: usize = 10;

/// The longest delay of background work.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Scans the sources repeatedly and reports what is new about them.
pub struct SourceFollower {
    engine: Arc<Engine>,
    strictness: Strictness,
    tell: Box<dyn Fn(&Notice) + Send + Sync>,
    state: Mutex<LiveState>,
}

struct LiveState {
    refresher: Refresher,
    notices: NoticeLog,
    /// How long the last scan of everything took, as a whole or in parts.
    took: Duration,
    /// The shortest pause between two scans of everything, which depends on how folders are
    /// watched.
    least: Duration,
}

impl fmt::Debug for SourceFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFollower")
            .field("strictness", &self.strictness)
            .finish_non_exhaustive()
    }
}

impl SourceFollower {
    /// Creates a follower of the engine's catalogue; `tell` gets each notice when it begins and when
    /// it ends.
    pub fn new(
        refresher: Refresher,
        engine: Arc<Engine>,
        strictness: Strictness,
        tell: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Self {
        let notices = NoticeLog::default();
        let state = LiveState { refresher, notices, took: Duration::ZERO, least: MIN_PAUSE };
        Self { engine, strictness, tell: Box::new(tell), state: Mutex::new(state) }
    }

    /// Scans the sources once; blocks while files are read.
    pub fn refresh(&self, look: &ScanRequest) -> Refreshed {
        let (refreshed, news) = {
            let mut state = self.state();
            let before = self.engine.catalog().now(ViewId::EVERYTHING);
            let started = Instant::now();
            let refreshed = state.refresher.refresh(look);
            if look.paths.is_none() && !look.force_read {
                state.took = started.elapsed();
            }
            if let Some(before) = before {
                log_changes(&before, self.engine.catalog(), &refreshed);
            }
            let news = state.notices.news(&refreshed, self.strictness);
            (refreshed, news)
        };
        self.count(&refreshed);
        // The lock is released by now. The callback is the program's own code and may call
        // `refresh`, which would deadlock if the lock were still held.
        self.tell(&news);
        refreshed
    }

    /// Scans the sources once, off the event loop.
    ///
    /// If the scan found something new, the files of a small catalogue are read into memory once
    /// the server is idle.
    pub async fn look(self: &Arc<Self>, look: ScanRequest) -> Result<Refreshed, JoinError> {
        let follower = Arc::clone(self);
        let refreshed = tokio::task::spawn_blocking(move || follower.refresh(&look)).await?;
        if !refreshed.sites.is_empty() {
            let engine = Arc::clone(&self.engine);
            self.when_idle(move || engine.warm());
        }
        Ok(refreshed)
    }

    /// Runs background work off the event loop, once no requests come in.
    pub fn when_idle(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        let follower = Arc::clone(self);
        tokio::spawn(async move {
            follower.idle().await;
            tokio::task::spawn_blocking(work);
        });
    }

    /// Waits until no requests come in, but not longer than [`MAX_DELAY`].
    ///
    /// The client that starts a server waits for its first answers. On a machine with few cores,
    /// background work would delay them.
    async fn idle(&self) {
        let end = Instant::now() + MAX_DELAY;
        loop {
            let before = self.answers();
            tokio::time::sleep(IDLE_TIME).await;
            if self.answers() == before || Instant::now() >= end {
                return;
            }
        }
    }

    /// Keeps up with the sources for ever; scans everything whenever `reload` completes.
    pub async fn follow(self: &Arc<Self>, mut reload: impl AsyncFnMut()) {
        let catalog = Arc::clone(self.engine.catalog());
        let (sender, mut news) = mpsc::unbounded_channel();
        self.state().refresher.on_change(&wake(&sender));
        self.idle().await;
        // The channel needs no bound: the watcher collects changes for a while before it reports
        // them.
        let start_watching = |folders: Vec<PathBuf>| {
            let sender = sender.clone();
            watch_skill_folders(folders, move |told| {
                let _ = sender.send(told);
            })
        };
        let mut watched = self.watched();
        let (mut _watcher, mut state) = start_watching(watched.clone());
        let mut next_look = Instant::now() + self.pause();
        let mut next_reading = Instant::now() + FIRST_READING;
        let mut next_asked = Instant::now();
        let mut rescan = BackgroundRescan::new(Vec::new(), false, 0);
        let mut begun = false;
        loop {
            let (mut look, hurry) = tokio::select! {
                () = sleep_until(next_look.into()), if rescan.is_over() => {
                    (ScanRequest::everything(), false)
                }
                () = sleep_until(next_reading.into()), if rescan.is_over() => {
                    (ScanRequest::everything().force_read(), false)
                }
                part = rescan.turn() => (part, false),
                places = catalog.stale() => (ScanRequest::paths(places).force_read(), true),
                places = asked(&catalog, next_asked) => {
                    next_asked = Instant::now() + ASKED_PAUSE;
                    (ScanRequest::paths(places), true)
                }
                Some(told) = news.recv() => match told {
                    FolderChanges::Paths(paths) => (ScanRequest::paths(paths), true),
                    // The watcher also sends this when it starts, as it does not know what changed
                    // before. That first scan need not hurry, so it may run in parts.
                    FolderChanges::Everything => (ScanRequest::everything(), std::mem::replace(&mut begun, true)),
                },
                () = reload() => (ScanRequest::everything(), true),
            };
            let whole = look.paths.is_none();
            if whole && look.force_read {
                next_reading = Instant::now() + READING;
            }
            if whole && !hurry {
                // The new rescan replaces one that has files left to read again; without this they
                // would wait for the next full reading.
                if rescan.is_close() {
                    look = look.force_read();
                }
                rescan = BackgroundRescan::new(self.parts().await, look.force_read, self.answers());
                if !rescan.is_over() {
                    continue;
                }
            }
            let started = Instant::now();
            if let Err(error) = self.look(look).await {
                tracing::error!("Reading skills broke: {error}.");
            }
            // A scan that finds a link to another directory has more to watch.
            let now = self.watched();
            if now != watched {
                watched = now;
                (_watcher, state) = start_watching(watched.clone());
                begun = false;
            }
            if !whole && !hurry {
                rescan.looked(Instant::now(), started.elapsed(), self.answers());
                if let Some(took) = rescan.took() {
                    self.state().took = took;
                }
            }
            if whole || (!hurry && rescan.is_over()) {
                self.tell_watches(&state);
                next_look = Instant::now() + self.pause();
            }
        }
    }

    /// Splits a scan of everything into parts; returns none if one scan would not take long.
    async fn parts(self: &Arc<Self>) -> Vec<BTreeSet<PathBuf>> {
        let follower = Arc::clone(self);
        let parts = tokio::task::spawn_blocking(move || follower.state().refresher.parts());
        // Without parts, everything is scanned at once.
        parts.await.unwrap_or_default()
    }

    fn answers(&self) -> u64 {
        self.engine.metrics().answers()
    }

    /// Reports the folders whose changes the system does not report, and adapts the pauses to them.
    fn tell_watches(&self, watches: &WatchState) {
        let roots = watches.roots();
        let news = {
            let mut state = self.state();
            let pause = |(_, watch): &(PathBuf, WatchCoverage)| match watch {
                WatchCoverage::Watched => WATCHED_PAUSE,
                WatchCoverage::Partial(_) => IN_TURNS_PAUSE,
                WatchCoverage::Pending | WatchCoverage::Unwatched(_) => MIN_PAUSE,
            };
            state.least = if roots.iter().any(|root| pause(root) == MIN_PAUSE) {
                MIN_PAUSE
            } else {
                roots.iter().map(pause).max().unwrap_or(WATCHED_PAUSE)
            };
            let in_turns =
                roots.iter().any(|(_, watch)| matches!(watch, WatchCoverage::Partial(_)));
            self.engine.catalog().track_requests(in_turns);
            let less = roots.into_iter().filter_map(|(root, watch)| match watch {
                WatchCoverage::Partial(turns) => Some(Subject::InTurns { root, turns }),
                WatchCoverage::Unwatched(reason) => Some(Subject::Unwatched { root, reason }),
                WatchCoverage::Pending | WatchCoverage::Watched => None,
            });
            state.notices.watches(less)
        };
        self.tell(&news);
    }

    fn tell(&self, news: &[Notice]) {
        for notice in news {
            (self.tell)(notice);
        }
    }

    fn watched(&self) -> Vec<PathBuf> {
        self.state().refresher.watched()
    }

    /// Returns how long to wait before scanning everything again.
    fn pause(&self) -> Duration {
        let state = self.state();
        state.least.max(state.took * SHARE)
    }

    fn count(&self, refreshed: &Refreshed) {
        let served = self.engine.catalog().now(ViewId::EVERYTHING);
        let served = served.map_or(0, |snapshot| snapshot.skill_count());
        self.engine.metrics().skills.set(i64::try_from(served).unwrap_or(i64::MAX));
        if !refreshed.changes.is_empty() {
            self.engine.metrics().snapshots.inc();
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock()
    }
}

/// Logs which skills came, changed and went since the snapshot before.
fn log_changes(before: &Snapshot, catalog: &Catalog, refreshed: &Refreshed) {
    let changes = refreshed.changes.of(ViewId::EVERYTHING).filter(|change| !change.is_empty());
    let (Some(changes), Some(now)) = (changes, catalog.now(ViewId::EVERYTHING)) else { return };
    let mut named: [Vec<String>; 3] = Default::default();
    for uri in changes.updated.named() {
        // Files that are not the `SKILL.md` of a skill are part of one that is named already.
        let kind = match (before.skill(&uri), now.skill(&uri)) {
            (None, Some(_)) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
            (None, None) => continue,
        };
        named[kind].push(uri.to_string());
    }
    let texts = ["skills are new", "skills changed", "skills are gone"];
    for (mut uris, text) in named.into_iter().zip(texts).filter(|(uris, _)| !uris.is_empty()) {
        let count = uris.len();
        uris.sort_unstable();
        uris.truncate(MOST_LOGGED);
        tracing::info!(count, skills = uris.join(" "), "{text}");
    }
}

/// Waits until `from`, and then for skills that clients request.
async fn asked(catalog: &Catalog, from: Instant) -> BTreeSet<PathBuf> {
    sleep_until(from.into()).await;
    catalog.requested().await
}

/// Creates the callback for sources that detect changes by themselves.
///
/// It reports an empty set of paths, which stands for content that has no path.
fn wake(sender: &mpsc::UnboundedSender<FolderChanges>) -> ChangeCallback {
    let sender = sender.clone();
    Arc::new(move || {
        let _ = sender.send(FolderChanges::Paths(BTreeSet::new()));
    })
}
