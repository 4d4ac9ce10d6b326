//! Between the system's events and the news: which folders they concern, and when to tell.

use std::{
    path::PathBuf,
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{
    ABSENCE, Batch, Bounds, Event, FEWEST, News, Turns, Watch, WatchState,
    events::{Events, NO_MORE},
};

/// Turns events into news.
pub(super) struct Post {
    bounds: Bounds,
    roots: Vec<PathBuf>,
    state: WatchState,
    events: Result<Events, String>,
    /// Folders that were not there when they were last looked for.
    absent: Vec<usize>,
    batch: Batch,
    /// Directories that appeared; they are told once more, when they are surely watched.
    appeared: Vec<PathBuf>,
    /// When places that are not watched have their next turn.
    next_turn: Instant,
}

impl Post {
    pub(super) fn new(
        bounds: Bounds,
        roots: Vec<PathBuf>,
        state: WatchState,
        sender: mpsc::Sender<Event>,
    ) -> Self {
        let events = Events::new(bounds, sender);
        let (absent, appeared, batch) = (Vec::new(), Vec::new(), Batch::default());
        let next_turn = Instant::now() + bounds.turn;
        Self { bounds, roots, state, events, absent, batch, appeared, next_turn }
    }

    pub(super) fn run(mut self, received: &mpsc::Receiver<Event>, mut tell: impl FnMut(News)) {
        for index in 0..self.roots.len() {
            self.watch(index);
        }
        tell(News::Everything);
        loop {
            match self.next(received) {
                Ok(Event::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(event) => self.hear(event),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if self.batch.due().is_some_and(|due| due <= Instant::now()) {
                        tell(self.batch.take());
                        self.appeared.drain(..).for_each(|path| self.batch.add(path));
                    } else {
                        self.turn(&mut tell);
                        self.look_for_absent();
                    }
                }
            }
        }
    }

    fn next(&self, received: &mpsc::Receiver<Event>) -> Result<Event, mpsc::RecvTimeoutError> {
        let due = self.batch.due().map(|due| due.saturating_duration_since(Instant::now()));
        let absence = (!self.absent.is_empty()).then_some(ABSENCE);
        let turn = self.events.as_ref().is_ok_and(|events| events.in_turns() > 0);
        let turn = turn.then(|| self.next_turn.saturating_duration_since(Instant::now()));
        match due.into_iter().chain(absence).chain(turn).min() {
            // What is due is told even while more keeps coming.
            Some(Duration::ZERO) => Err(mpsc::RecvTimeoutError::Timeout),
            Some(timeout) => received.recv_timeout(timeout),
            None => received.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        }
    }

    /// When it is time, tells some of the places that are not watched; all are told in one round.
    fn turn(&mut self, tell: &mut impl FnMut(News)) {
        let Ok(events) = &mut self.events else { return };
        if self.next_turn > Instant::now() {
            return;
        }
        self.next_turn = Instant::now() + self.bounds.turn;
        let places = events.turn(events.in_turns().div_ceil(self.bounds.turns).max(FEWEST));
        if !places.is_empty() {
            tell(News::Changed(places));
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::At(path) => self.at(path),
            Event::Directory(path) => {
                let inside = self.roots.iter().any(|root| path.starts_with(root) && path != *root);
                self.appeared.extend(inside.then(|| path.clone()));
                self.at(path);
            }
            Event::Lost => self.batch.add_everything(),
            Event::Unwatched(path, reason) => {
                for (index, root) in self.roots.iter().enumerate() {
                    if path.starts_with(root) {
                        self.state.set(index, Watch::Unwatched(reason.clone()));
                    }
                }
            }
            Event::InTurns(path) => {
                for index in 0..self.roots.len() {
                    if path.starts_with(&self.roots[index]) {
                        self.cover(index);
                    }
                }
            }
            Event::Stop => {}
        }
    }

    fn at(&mut self, path: PathBuf) {
        if let Some(index) = self.roots.iter().position(|root| *root == path) {
            // The folder itself came or went: whatever was watched before is another folder.
            self.watch(index);
            self.batch.add_everything();
        } else if self.roots.iter().any(|root| path.starts_with(root)) {
            self.batch.add(path);
        }
    }

    fn look_for_absent(&mut self) {
        for index in std::mem::take(&mut self.absent) {
            if self.roots[index].is_dir() {
                self.watch(index);
                self.batch.add_everything();
            } else {
                self.absent.push(index);
            }
        }
    }

    /// Watches a folder, and the one around it, so that its own coming and going is told.
    fn watch(&mut self, index: usize) {
        let root = &self.roots[index];
        self.absent.retain(|absent| *absent != index);
        let watch = match &mut self.events {
            Err(reason) => Watch::Unwatched(reason.clone()),
            Ok(events) => {
                events.forget(root);
                if let Some(above) = root.parent() {
                    // Without it the folder is still looked for when it is gone.
                    let _not_watched = events.watch_names(above);
                }
                if root.is_dir() {
                    match events.watch(root) {
                        Ok(()) => return self.cover(index),
                        Err(reason) => Watch::Unwatched(reason),
                    }
                } else {
                    self.absent.push(index);
                    Watch::Unwatched("The folder is gone.".to_owned())
                }
            }
        };
        self.state.set(index, watch);
    }

    /// Says how much of a folder is watched, now that it is.
    fn cover(&mut self, index: usize) {
        let Ok(events) = &self.events else { return };
        let watch = match events.coverage(&self.roots[index]) {
            (_, 0) => Watch::Watched,
            (watched, in_turns) => {
                let turns = u32::try_from(self.bounds.turns).unwrap_or(u32::MAX);
                let round = self.bounds.turn.saturating_mul(turns);
                Watch::InTurns(Turns { watched, in_turns, round, reason: NO_MORE.to_owned() })
            }
        };
        self.state.set(index, watch);
    }
}
