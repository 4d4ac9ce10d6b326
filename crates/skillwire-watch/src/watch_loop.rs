//! Collects system events and decides when to report what.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{
    FolderChanges, PartialCoverage, SystemEvent, WatchCoverage, WatchLimits, WatchSetup,
    WatchState,
    system_events::{NO_WATCH_LEFT, SystemEvents},
};

/// How long no event must come before a batch is reported, so that one save is one report.
pub(super) const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// The longest time that a batch waits while events keep coming.
pub(super) const MAX_DELAY: Duration = Duration::from_millis(200);

/// How often a folder that does not exist is looked for.
const MISSING_FOLDER_RETRY: Duration = Duration::from_secs(1);

/// The most paths in one report; with more, everything is reported.
pub(super) const MAX_REPORTED_PATHS: usize = 1_000;

/// The fewest polled units that one tick reports.
pub(super) const MIN_POLLED_PER_TICK: usize = 16;

/// Turns system events into reports. It runs on the thread of the watcher.
pub(super) struct WatchLoop {
    limits: WatchLimits,
    roots: Vec<PathBuf>,
    state: WatchState,
    events: Result<SystemEvents, String>,
    /// Roots that did not exist when they were last looked for.
    missing: Vec<usize>,
    batch: ChangeBatch,
    /// Directories that appeared since the last report.
    ///
    /// A file that was written into a new directory before its watch existed caused no event. Each
    /// of these directories is therefore reported twice: with the batch, and once more after it,
    /// when the watch surely exists.
    appeared: Vec<PathBuf>,
    next_poll: Instant,
    next_search: Instant,
    /// Whether events were lost, so that directories may have appeared without a watch.
    events_lost: bool,
}

impl WatchLoop {
    pub(super) fn new(setup: WatchSetup, roots: Vec<PathBuf>, state: WatchState) -> Self {
        let limits = setup.limits;
        let now = Instant::now();
        Self {
            limits,
            roots,
            state,
            events: SystemEvents::new(setup),
            missing: Vec::new(),
            batch: ChangeBatch::default(),
            appeared: Vec::new(),
            next_poll: now + limits.poll_tick,
            next_search: now + MISSING_FOLDER_RETRY,
            events_lost: false,
        }
    }

    pub(super) fn run(
        mut self,
        received: &mpsc::Receiver<SystemEvent>,
        mut on_change: impl FnMut(FolderChanges),
    ) {
        self.watch_all();
        on_change(FolderChanges::Everything);
        loop {
            match self.next_event(received) {
                Ok(SystemEvent::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(event) => self.handle(event),
                Err(mpsc::RecvTimeoutError::Timeout) => self.do_what_is_due(&mut on_change),
            }
        }
    }

    /// Waits for an event, or until something is due.
    fn next_event(
        &self,
        received: &mpsc::Receiver<SystemEvent>,
    ) -> Result<SystemEvent, mpsc::RecvTimeoutError> {
        let search = (!self.missing.is_empty()).then_some(self.next_search);
        let polling = self.events.as_ref().is_ok_and(|events| events.polled_count() > 0);
        let poll = polling.then_some(self.next_poll);
        let next = self.batch.due().into_iter().chain(search).chain(poll).min();
        match next.map(|next| next.saturating_duration_since(Instant::now())) {
            // A steady stream of events must not put off what is due.
            Some(Duration::ZERO) => Err(mpsc::RecvTimeoutError::Timeout),
            Some(timeout) => received.recv_timeout(timeout),
            None => received.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        }
    }

    pub(super) fn do_what_is_due(&mut self, on_change: &mut impl FnMut(FolderChanges)) {
        self.report_batch(on_change);
        self.report_polled(on_change);
        self.look_for_missing();
    }

    fn report_batch(&mut self, on_change: &mut impl FnMut(FolderChanges)) {
        if self.batch.due().is_none_or(|due| due > Instant::now()) {
            return;
        }
        if std::mem::take(&mut self.events_lost) {
            // Directories may have appeared unseen, so the watches are made anew. This comes before
            // the report: a change after the caller's scan then finds its watch in place.
            tracing::debug!("File system events were lost; all folders are watched again.");
            self.watch_all();
        }
        on_change(self.batch.take());
        self.appeared.drain(..).for_each(|path| self.batch.add(path));
    }

    /// Reports the next few polled units, so that all of them are reported within one interval.
    fn report_polled(&mut self, on_change: &mut impl FnMut(FolderChanges)) {
        let Ok(events) = &mut self.events else { return };
        if self.next_poll > Instant::now() {
            return;
        }
        self.next_poll = Instant::now() + self.limits.poll_tick;
        let count = events.polled_count().div_ceil(self.limits.poll_ticks);
        let units = events.next_polled(count.max(MIN_POLLED_PER_TICK));
        if !units.is_empty() {
            on_change(FolderChanges::Paths(units));
        }
    }

    pub(super) fn handle(&mut self, event: SystemEvent) {
        match event {
            SystemEvent::Changed(path) => self.changed(path),
            SystemEvent::DirectoryAppeared(path) => {
                let inside = self.roots.iter().any(|root| path.starts_with(root) && path != *root);
                self.appeared.extend(inside.then(|| path.clone()));
                self.changed(path);
            }
            SystemEvent::Lost => {
                self.events_lost = true;
                self.batch.add_everything();
            }
            SystemEvent::Unwatched(path, reason) => {
                for (index, root) in self.roots.iter().enumerate() {
                    if path.starts_with(root) {
                        self.state.set(index, WatchCoverage::Unwatched(reason.clone()));
                    }
                }
            }
            SystemEvent::Polled(path) => {
                for index in 0..self.roots.len() {
                    if path.starts_with(&self.roots[index]) {
                        self.update_coverage(index);
                    }
                }
            }
            SystemEvent::Stop => {}
        }
    }

    fn changed(&mut self, path: PathBuf) {
        if let Some(index) = self.roots.iter().position(|root| *root == path) {
            // The root itself appeared or vanished: the watches belong to another directory.
            self.watch(index);
            self.batch.add_everything();
        } else if self.roots.iter().any(|root| path.starts_with(root)) {
            self.batch.add(path);
        }
    }

    fn look_for_missing(&mut self) {
        if self.next_search > Instant::now() {
            return;
        }
        self.next_search = Instant::now() + MISSING_FOLDER_RETRY;
        for index in std::mem::take(&mut self.missing) {
            if self.roots[index].is_dir() {
                self.watch(index);
                self.batch.add_everything();
            } else {
                self.missing.push(index);
            }
        }
    }

    fn watch_all(&mut self) {
        (0..self.roots.len()).for_each(|index| self.watch(index));
    }

    /// Watches a root with everything below, and the names in the directory around it.
    ///
    /// The directory around it reports when the root itself is created, renamed or deleted.
    #[tracing::instrument(level = "debug", skip_all, fields(folder = %self.roots[index].display()))]
    fn watch(&mut self, index: usize) {
        let root = &self.roots[index];
        self.missing.retain(|missing| *missing != index);
        let coverage = match &mut self.events {
            Err(reason) => WatchCoverage::Unwatched(reason.clone()),
            Ok(events) => {
                events.forget(root);
                if let Some(parent) = root.parent() {
                    // If this fails, `look_for_missing` still finds a root that comes back.
                    let _not_watched = events.watch_names(parent);
                }
                if root.is_dir() {
                    match events.watch(root) {
                        Ok(()) => return self.update_coverage(index),
                        Err(reason) => WatchCoverage::Unwatched(reason),
                    }
                } else {
                    self.missing.push(index);
                    WatchCoverage::Unwatched("The folder is gone.".to_owned())
                }
            }
        };
        self.state.set(index, coverage);
    }

    /// Publishes how much of a root is watched.
    fn update_coverage(&mut self, index: usize) {
        let Ok(events) = &self.events else { return };
        let (watched, polled) = events.coverage(&self.roots[index]);
        let coverage = if polled == 0 {
            WatchCoverage::Watched
        } else {
            let ticks = u32::try_from(self.limits.poll_ticks).unwrap_or(u32::MAX);
            WatchCoverage::Partial(PartialCoverage {
                watched,
                polled,
                poll_interval: self.limits.poll_tick.saturating_mul(ticks),
                reason: NO_WATCH_LEFT.to_owned(),
            })
        };
        self.state.set(index, coverage);
    }
}

/// Changes that are not reported yet.
#[derive(Debug, Default)]
pub(super) struct ChangeBatch {
    paths: BTreeSet<PathBuf>,
    everything: bool,
    /// When the first and the last event came.
    pub(super) times: Option<(Instant, Instant)>,
}

impl ChangeBatch {
    pub(super) fn add(&mut self, path: PathBuf) {
        self.touch();
        if !self.everything {
            self.paths.insert(path);
            if self.paths.len() > MAX_REPORTED_PATHS {
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

    /// When the batch is to be reported, unless another event comes.
    pub(super) fn due(&self) -> Option<Instant> {
        self.times.map(|(first, last)| (last + QUIET_PERIOD).min(first + MAX_DELAY))
    }

    pub(super) fn take(&mut self) -> FolderChanges {
        let Self { paths, everything, .. } = std::mem::take(self);
        if everything { FolderChanges::Everything } else { FolderChanges::Paths(paths) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::tests::RULES;

    /// A loop whose events no thread handles.
    fn watch_loop(roots: &[PathBuf]) -> WatchLoop {
        let (sender, _received) = mpsc::channel();
        let setup = WatchSetup { limits: WatchLimits::DEFAULT, rules: RULES, sender };
        let mut watch_loop = WatchLoop::new(setup, roots.to_vec(), WatchState::new(roots));
        watch_loop.watch_all();
        watch_loop
    }

    /// Handles an event, and returns what is reported after the quiet period.
    fn reports(watch_loop: &mut WatchLoop, event: SystemEvent) -> Vec<FolderChanges> {
        watch_loop.handle(event);
        watch_loop.batch.times = Instant::now().checked_sub(MAX_DELAY).map(|then| (then, then));
        let mut reports = Vec::new();
        watch_loop.do_what_is_due(&mut |change| reports.push(change));
        reports
    }

    #[test]
    fn directories_that_came_while_events_were_lost_are_watched_v_60() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let skill = root.join("skill");
        fs::create_dir(&skill).unwrap();
        let mut watch_loop = watch_loop(std::slice::from_ref(&root));
        // As if the event that created it had been lost.
        watch_loop.events.as_mut().unwrap().forget(&skill);
        assert_eq!(watch_loop.events.as_ref().unwrap().coverage(&root), (1, 0));
        assert_eq!(reports(&mut watch_loop, SystemEvent::Lost), [FolderChanges::Everything]);
        assert_eq!(watch_loop.events.as_ref().unwrap().coverage(&root), (2, 0));
        assert!(!watch_loop.events_lost, "it is done once");
    }

    #[test]
    fn a_folder_that_is_gone_is_looked_for_however_much_happens_in_another_v_64() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let busy = folder.join("busy");
        let missing = folder.join("missing");
        fs::create_dir(&busy).unwrap();
        let mut watch_loop = watch_loop(&[busy.clone(), missing.clone()]);
        fs::create_dir(&missing).unwrap();
        watch_loop.next_search = Instant::now();
        assert_eq!(reports(&mut watch_loop, SystemEvent::Changed(busy.join("a"))).len(), 1);
        assert!(watch_loop.missing.is_empty());
    }
}
