//! The current snapshot, and how it is replaced.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use skillwire_core::SkillUri;
use skillwire_source::{PathPatterns, Skill, SkillContent, path_of};
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::{
    change::ViewChange,
    requested_skills::RequestedSkills,
    snapshot::{CatalogDelta, Snapshot, SnapshotOptions},
};

/// Swaps that a slow listener may fall behind; beyond that it learns only that it missed some.
const CHANGE_BACKLOG: usize = 64;

/// Reports of stale skills that may wait for the follower.
const STALE_BACKLOG: usize = 256;

/// Identifies a view: callers with the same rights share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ViewId(usize);

impl ViewId {
    /// The view of callers without restrictions.
    pub const EVERYTHING: Self = Self(0);
}

/// The skills that a view shows.
#[derive(Debug)]
enum ViewRule {
    Everything,
    Matching(PathPatterns),
    /// None; no caller has the view any more. Its number is never used again, because a request
    /// under way may still have it.
    Nothing,
}

impl ViewRule {
    fn shows(&self, path: impl FnOnce() -> String) -> bool {
        match self {
            Self::Everything => true,
            Self::Matching(patterns) => patterns.matches(&path()),
            Self::Nothing => false,
        }
    }
}

/// The snapshots of all views at one moment.
#[derive(Debug)]
struct Views(Vec<Arc<Snapshot>>);

/// The changes of one swap, for each view.
#[derive(Debug, Default)]
pub struct CatalogChanges(Vec<ViewChange>);

impl CatalogChanges {
    /// Returns the changes for one view.
    pub fn of(&self, view: ViewId) -> Option<&ViewChange> {
        self.0.get(view.0)
    }

    /// Tells whether nothing changed in any view.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(ViewChange::is_empty)
    }
}

/// Holds the snapshots that a server serves.
///
/// Readers take the current snapshot with one atomic load and may keep it as long as they like.
#[derive(Debug)]
pub struct Catalog {
    options: SnapshotOptions,
    /// What each view shows; the first view shows everything. A writer of `current` holds this
    /// lock, so that a view which is added while a delta is applied does not miss it.
    views: RwLock<Vec<ViewRule>>,
    current: ArcSwapOption<Views>,
    ready: watch::Sender<bool>,
    changes: broadcast::Sender<Arc<CatalogChanges>>,
    stale: mpsc::Sender<PathBuf>,
    stale_reports: Mutex<mpsc::Receiver<PathBuf>>,
    requested: RequestedSkills,
    generation: AtomicU64,
}

/// Reports to the catalogue's follower that a skill must be read again.
#[derive(Debug, Clone)]
pub struct StaleReporter {
    place: Option<PathBuf>,
    sender: mpsc::Sender<PathBuf>,
}

impl StaleReporter {
    /// Reports the skill; if the queue is full, enough skills are waiting already and the report is
    /// dropped.
    pub fn report(&self) {
        if let Some(place) = &self.place {
            let _ = self.sender.try_send(place.clone());
        }
    }
}

impl Catalog {
    /// Creates a catalogue without a snapshot; readers wait for the first one.
    pub fn new(options: SnapshotOptions) -> Self {
        let (stale, stale_reports) = mpsc::channel(STALE_BACKLOG);
        Self {
            options,
            views: RwLock::new(vec![ViewRule::Everything]),
            current: ArcSwapOption::empty(),
            ready: watch::Sender::new(false),
            changes: broadcast::Sender::new(CHANGE_BACKLOG),
            stale,
            stale_reports: Mutex::new(stale_reports),
            requested: RequestedSkills::default(),
            generation: AtomicU64::new(0),
        }
    }

    /// Adds a view that shows only the skills whose path matches, also while skills are served.
    pub fn restrict(&self, visible: PathPatterns) -> ViewId {
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        let rule = ViewRule::Matching(visible);
        if let Some(current) = self.current.load_full() {
            let mut snapshots = current.0.clone();
            let everything = &snapshots[ViewId::EVERYTHING.0];
            let skills = everything.all.iter().filter(|skill| rule.shows(|| skill.path())).cloned();
            let snapshot = Snapshot::new(skills.collect(), &self.options);
            snapshots.push(Arc::new(snapshot.of_generation(everything.generation())));
            self.current.store(Some(Arc::new(Views(snapshots))));
        }
        views.push(rule);
        ViewId(views.len() - 1)
    }

    /// Empties a view that no caller has any more; the view of everything stays.
    pub fn retire(&self, view: ViewId) {
        if view == ViewId::EVERYTHING {
            return;
        }
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        let Some(rule) = views.get_mut(view.0) else { return };
        *rule = ViewRule::Nothing;
        if let Some(current) = self.current.load_full() {
            let mut snapshots = current.0.clone();
            if let Some(snapshot) = snapshots.get_mut(view.0) {
                *snapshot = Arc::new(Snapshot::new(Vec::new(), &self.options));
            }
            self.current.store(Some(Arc::new(Views(snapshots))));
        }
    }

    fn view_rules(&self) -> RwLockReadGuard<'_, Vec<ViewRule>> {
        self.views.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a delta to every view at once and returns what changed.
    ///
    /// Only one writer may publish at a time. Each snapshot is made from the one before, so of two
    /// concurrent writers one would lose its changes.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn publish(&self, delta: &CatalogDelta) -> Arc<CatalogChanges> {
        let rules = self.view_rules();
        let mut changes = Vec::new();
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let views: Vec<Snapshot> = match self.current.load_full() {
            None => rules.iter().map(|rule| self.first(rule, delta)).collect(),
            Some(old) => {
                let pairs = old.0.iter().zip(&*rules);
                pairs
                    .map(|(old, rule)| {
                        let (next, change) = self.next(old, rule, delta);
                        changes.push(change);
                        next
                    })
                    .collect()
            }
        };
        let views = views.into_iter().map(|view| Arc::new(view.of_generation(generation)));
        // The order matters: the snapshot is in place before waiting readers wake up and before
        // listeners are notified. A client that reads a file because it was notified would
        // otherwise get the old one, and no further notification.
        self.current.store(Some(Arc::new(Views(views.collect()))));
        drop(rules);
        self.ready.send_replace(true);
        let changes = Arc::new(CatalogChanges(changes));
        if !changes.is_empty() {
            // Without listeners there is nothing to do.
            let _ = self.changes.send(Arc::clone(&changes));
        }
        changes
    }

    fn first(&self, rule: &ViewRule, delta: &CatalogDelta) -> Snapshot {
        let skills = delta.placed.iter().filter(|skill| rule.shows(|| skill.path())).cloned();
        Snapshot::new(skills.collect(), &self.options)
    }

    fn next(
        &self,
        old: &Snapshot,
        rule: &ViewRule,
        delta: &CatalogDelta,
    ) -> (Snapshot, ViewChange) {
        let shown = delta.placed.iter().filter(|skill| rule.shows(|| skill.path()));
        let own = CatalogDelta { removed: delta.removed.clone(), placed: shown.cloned().collect() };
        old.next(&own, &self.options)
    }

    /// Returns the current snapshot of a view, or `None` before the first one is published.
    pub fn now(&self, view: ViewId) -> Option<Arc<Snapshot>> {
        let views = self.current.load();
        views.as_ref().and_then(|views| views.0.get(view.0)).map(Arc::clone)
    }

    /// Tells whether a view would show a skill at this URI, if there were one.
    pub fn would_show(&self, view: ViewId, uri: &SkillUri) -> bool {
        self.view_rules().get(view.0).is_some_and(|rule| rule.shows(|| path_of(uri)))
    }

    /// Waits for the first snapshot.
    pub async fn ready(&self) {
        if self.current.load().is_some() {
            return;
        }
        let mut ready = self.ready.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Creates a reporter for a skill whose files may no longer match what was published.
    pub fn stale_reporter(&self, skill: &Skill) -> StaleReporter {
        let place = match &skill.content {
            SkillContent::Files(tree) => tree.store.directory(),
            SkillContent::Generated(_) => None,
        };
        StaleReporter { place, sender: self.stale.clone() }
    }

    /// Waits for reports of stale skills and returns the directories of their files.
    ///
    /// Only one task should wait at a time: each report goes to one of them.
    pub async fn stale(&self) -> BTreeSet<PathBuf> {
        let mut reports = self.stale_reports.lock().await;
        let Some(first) = reports.recv().await else { return std::future::pending().await };
        let mut places = BTreeSet::from([first]);
        while let Ok(place) = reports.try_recv() {
            places.insert(place);
        }
        places
    }

    /// Sets whether the catalogue records which skills clients request.
    pub fn track_requests(&self, wanted: bool) {
        self.requested.want(wanted);
    }

    /// Records that a client requested a skill.
    pub fn note_request(&self, skill: &Skill) {
        self.requested.note(skill);
    }

    /// Waits until clients request skills and returns the directories of their files.
    ///
    /// Only one task should wait at a time: each request goes to one of them.
    pub async fn requested(&self) -> BTreeSet<PathBuf> {
        self.requested.next().await
    }

    /// Returns a receiver of the changes of every swap from now on.
    pub fn changes(&self) -> broadcast::Receiver<Arc<CatalogChanges>> {
        self.changes.subscribe()
    }
}
