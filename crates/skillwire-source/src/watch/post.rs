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
    /// When folders that were not there are looked for again.
    next_search: Instant,
    /// Whether events were lost, so that directories may have come and gone unseen.
    lost: bool,
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
        let now = Instant::now();
        let (next_turn, next_search) = (now + bounds.turn, now + ABSENCE);
        Self {
            bounds,
            roots,
            state,
            events,
            absent,
            batch,
            appeared,
            next_turn,
            next_search,
            lost: false,
        }
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
                Err(mpsc::RecvTimeoutError::Timeout) => self.do_what_is_due(&mut tell),
            }
        }
    }

    fn do_what_is_due(&mut self, tell: &mut impl FnMut(News)) {
        self.tell_batch(tell);
        self.turn(tell);
        self.look_for_absent();
    }

    /// When it is time, tells what happened.
    fn tell_batch(&mut self, tell: &mut impl FnMut(News)) {
        if self.batch.due().is_none_or(|due| due > Instant::now()) {
            return;
        }
        if std::mem::take(&mut self.lost) {
            // Before anything is told, so that whatever happens from now on is.
            (0..self.roots.len()).for_each(|index| self.watch(index));
        }
        tell(self.batch.take());
        self.appeared.drain(..).for_each(|path| self.batch.add(path));
    }

    fn next(&self, received: &mpsc::Receiver<Event>) -> Result<Event, mpsc::RecvTimeoutError> {
        let search = (!self.absent.is_empty()).then_some(self.next_search);
        let turn = self.events.as_ref().is_ok_and(|events| events.in_turns() > 0);
        let turn = turn.then_some(self.next_turn);
        let next = self.batch.due().into_iter().chain(search).chain(turn).min();
        match next.map(|next| next.saturating_duration_since(Instant::now())) {
            // What is due is done even while more keeps coming.
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
            Event::Lost => {
                self.lost = true;
                self.batch.add_everything();
            }
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
        if self.next_search > Instant::now() {
            return;
        }
        self.next_search = Instant::now() + ABSENCE;
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::{
        super::{BOUNDS, PATIENCE},
        *,
    };

    /// What watches folders that no thread serves.
    fn post(roots: &[PathBuf]) -> Post {
        let (sender, _received) = mpsc::channel();
        let mut post = Post::new(BOUNDS, roots.to_vec(), WatchState::new(roots), sender);
        (0..roots.len()).for_each(|index| post.watch(index));
        post
    }

    /// Hears an event, and returns the news when it has been quiet for long enough.
    fn news(post: &mut Post, event: Event) -> Vec<News> {
        post.hear(event);
        post.batch.times = Instant::now().checked_sub(PATIENCE).map(|then| (then, then));
        let mut news = Vec::new();
        post.do_what_is_due(&mut |told| news.push(told));
        news
    }

    #[test]
    fn directories_that_came_while_events_were_lost_are_watched_v_60() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let skill = root.join("skill");
        fs::create_dir(&skill).unwrap();
        let mut post = post(std::slice::from_ref(&root));
        // As if its coming had been lost.
        post.events.as_mut().unwrap().forget(&skill);
        assert_eq!(post.events.as_ref().unwrap().coverage(&root), (1, 0));
        assert_eq!(news(&mut post, Event::Lost), [News::Everything]);
        assert_eq!(post.events.as_ref().unwrap().coverage(&root), (2, 0));
        assert!(!post.lost, "it is done once");
    }

    #[test]
    fn a_folder_that_is_gone_is_looked_for_however_much_happens_in_another_v_64() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (busy, absent) = (folder.join("busy"), folder.join("absent"));
        fs::create_dir(&busy).unwrap();
        let mut post = post(&[busy.clone(), absent.clone()]);
        fs::create_dir(&absent).unwrap();
        post.next_search = Instant::now();
        assert_eq!(news(&mut post, Event::At(busy.join("a"))).len(), 1);
        assert!(post.absent.is_empty());
    }
}
