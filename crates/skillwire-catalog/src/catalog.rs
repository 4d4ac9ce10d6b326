//! The current snapshot, and how it is replaced.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use skillwire_core::SkillUri;
use skillwire_source::{Skill, SkillContent};
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::{
    change::{ChangesBySight, ViewChange},
    requested_skills::RequestedSkills,
    snapshot::{CatalogDelta, Snapshot, SnapshotOptions},
    visible::VisibleSkills,
};

/// Swaps that a slow listener may fall behind; beyond that it learns only that it missed some.
const CHANGE_BACKLOG: usize = 64;

/// Reports of stale skills that may wait for the follower.
const STALE_BACKLOG: usize = 256;

/// Identifies a view: callers with the same rights share one.
///
/// The place of a retired view is given to a later one. The number of the tenure tells the two apart:
/// a request that is still under way with the retired view must not see what the later one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ViewId {
    place: u32,
    tenure: u32,
}

impl ViewId {
    /// The view of callers without restrictions.
    pub const EVERYTHING: Self = Self { place: 0, tenure: 0 };
}

/// A place for a view.
#[derive(Debug)]
struct ViewPlace {
    rule: ViewRule,
    tenure: u32,
}

/// The skills that a view shows.
#[derive(Debug)]
enum ViewRule {
    Visible(VisibleSkills),
    /// None: no caller has the view any more, and the next view takes its place.
    Nothing,
}

impl ViewRule {
    fn shows(&self, uri: &SkillUri) -> bool {
        match self {
            Self::Visible(visible) => visible.shows(uri),
            Self::Nothing => false,
        }
    }

    /// Tells whether the rule may answer otherwise than before.
    fn is_chosen(&self) -> bool {
        matches!(self, Self::Visible(VisibleSkills::Chosen(_)))
    }
}

/// One value for each view, by its place and with its tenure.
#[derive(Debug)]
struct ByView<T>(Vec<(u32, T)>);

impl<T> Default for ByView<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByView<T> {
    fn get(&self, view: ViewId) -> Option<&T> {
        let (tenure, value) = self.0.get(view.place as usize)?;
        (*tenure == view.tenure).then_some(value)
    }
}

/// The snapshots of all views at one moment.
type Views = ByView<Arc<Snapshot>>;

/// The changes of one swap, for each view.
#[derive(Debug, Default)]
pub struct CatalogChanges(ByView<Arc<ViewChange>>);

impl CatalogChanges {
    /// Returns the changes for one view.
    pub fn of(&self, view: ViewId) -> Option<&ViewChange> {
        self.0.get(view).map(|change| &**change)
    }

    /// Tells whether nothing changed in any view.
    pub fn is_empty(&self) -> bool {
        self.0.0.iter().all(|(_, change)| change.is_empty())
    }
}

/// Holds the snapshots that a server serves.
///
/// Readers take the current snapshot with one atomic load and may keep it as long as they like.
#[derive(Debug)]
pub struct Catalog {
    options: SnapshotOptions,
    /// What each view shows; the first view shows everything.
    views: RwLock<Vec<ViewPlace>>,
    /// Held by writers of `current` and `views`, so that a view which is added while a delta is applied does
    /// not miss it. Filters are asked about a hundred thousand skills meanwhile, and readers of `views` go on.
    writing: std::sync::Mutex<()>,
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
            views: RwLock::new(vec![ViewPlace {
                rule: ViewRule::Visible(VisibleSkills::Everything),
                tenure: 0,
            }]),
            writing: std::sync::Mutex::default(),
            current: ArcSwapOption::empty(),
            ready: watch::Sender::new(false),
            changes: broadcast::Sender::new(CHANGE_BACKLOG),
            stale,
            stale_reports: Mutex::new(stale_reports),
            requested: RequestedSkills::default(),
            // A view that shows nothing has none of these numbers, and answers no request from what was kept for one.
            generation: AtomicU64::new(1),
        }
    }

    /// Adds a view that shows only some skills, also while skills are served.
    pub fn restrict(&self, visible: impl Into<VisibleSkills>) -> ViewId {
        let rule = ViewRule::Visible(visible.into());
        let _writing = self.writing();
        let (place, tenure) = {
            let views = self.view_rules();
            let free = views.iter().position(|view| matches!(view.rule, ViewRule::Nothing));
            let tenure = free.map_or(0, |free| views[free].tenure.wrapping_add(1));
            (free.unwrap_or(views.len()), tenure)
        };
        if let Some(current) = self.current.load_full() {
            let mut snapshots = current.0.clone();
            let snapshot = self.of_rule(&snapshots[0].1, &rule);
            put(&mut snapshots, place, (tenure, snapshot));
            self.current.store(Some(Arc::new(ByView(snapshots))));
        }
        put(&mut self.views_mut(), place, ViewPlace { rule, tenure });
        ViewId { place: u32::try_from(place).unwrap_or(u32::MAX), tenure }
    }

    /// Empties a view that no caller has any more, so that another may take its place; the view of
    /// everything stays.
    pub fn retire(&self, view: ViewId) {
        if view == ViewId::EVERYTHING {
            return;
        }
        let _writing = self.writing();
        let mut views = self.views_mut();
        let Some(place) = views.get_mut(view.place as usize) else { return };
        if place.tenure != view.tenure {
            return;
        }
        place.rule = ViewRule::Nothing;
        if let Some(current) = self.current.load_full() {
            let mut snapshots = current.0.clone();
            if let Some((_, snapshot)) = snapshots.get_mut(view.place as usize) {
                *snapshot = Arc::new(Snapshot::new(Vec::new(), &self.options));
            }
            self.current.store(Some(Arc::new(ByView(snapshots))));
        }
    }

    /// Counts the views for which snapshots are kept, the one of everything included.
    pub fn view_count(&self) -> usize {
        self.view_rules().len()
    }

    /// Tells whether a view was not retired.
    pub fn has_view(&self, view: ViewId) -> bool {
        let rules = self.view_rules();
        let found = rules.get(view.place as usize).filter(|found| found.tenure == view.tenure);
        found.is_some_and(|found| !matches!(found.rule, ViewRule::Nothing))
    }

    /// Makes the snapshots of all views again whose filters may answer otherwise than before, swaps them
    /// at once and returns what changed.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn refilter(&self) -> Arc<CatalogChanges> {
        let writing = self.writing();
        let rules = self.view_rules();
        let mut changes = Vec::new();
        if let Some(current) = self.current.load_full() {
            let generation = self.generation.fetch_add(1, Ordering::Relaxed);
            let everything = &current.0[0].1;
            let mut next = Vec::with_capacity(current.0.len());
            for ((tenure, old), view) in current.0.iter().zip(&*rules) {
                let (mut snapshot, mut change) = (Arc::clone(old), ViewChange::default());
                if view.rule.is_chosen() {
                    let again = everything.restricted(|uri| view.rule.shows(uri));
                    let again = Arc::new(again.of_generation(generation));
                    change = ViewChange::between(old, &again);
                    if !change.is_empty() {
                        snapshot = again;
                    }
                }
                next.push((*tenure, snapshot));
                changes.push((*tenure, Arc::new(change)));
            }
            self.current.store(Some(Arc::new(ByView(next))));
        }
        drop((rules, writing));
        let changes = Arc::new(CatalogChanges(ByView(changes)));
        if !changes.is_empty() {
            // Without listeners there is nothing to do.
            let _ = self.changes.send(Arc::clone(&changes));
        }
        changes
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn views_mut(&self) -> RwLockWriteGuard<'_, Vec<ViewPlace>> {
        self.views.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn view_rules(&self) -> RwLockReadGuard<'_, Vec<ViewPlace>> {
        self.views.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a delta to every view at once and returns what changed.
    ///
    /// Writers wait for each other, as each snapshot is made from the one before.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn publish(&self, delta: &CatalogDelta) -> Arc<CatalogChanges> {
        let writing = self.writing();
        let rules = self.view_rules();
        let mut changes = Vec::new();
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let views = match self.current.load_full() {
            None => {
                let everything = Snapshot::new(delta.placed.clone(), &self.options);
                let everything = Arc::new(everything.of_generation(generation));
                let of = |view: &ViewPlace| (view.tenure, self.of_rule(&everything, &view.rule));
                rules.iter().map(of).collect()
            }
            Some(old) => {
                // The first view shows everything.
                let (whole, applied) = old.0[0].1.whole_after(delta, &self.options);
                let mut noted = ChangesBySight::new(&applied);
                let mut next = Vec::with_capacity(old.0.len());
                for ((_, old), view) in old.0.iter().zip(&*rules) {
                    let (snapshot, change) = match &view.rule {
                        ViewRule::Nothing => (Arc::clone(old), Arc::default()),
                        ViewRule::Visible(visible) => {
                            let shows = |uri: &SkillUri| visible.shows(uri);
                            old.next(&whole, &applied, shows, &mut noted, generation)
                        }
                    };
                    next.push((view.tenure, snapshot));
                    changes.push((view.tenure, change));
                }
                next
            }
        };
        let views = ByView(views);
        // The order matters: the snapshot is in place before waiting readers wake up and before
        // listeners are notified. A client that reads a file because it was notified would
        // otherwise get the old one, and no further notification.
        self.current.store(Some(Arc::new(views)));
        drop((rules, writing));
        self.ready.send_replace(true);
        let changes = Arc::new(CatalogChanges(ByView(changes)));
        if !changes.is_empty() {
            // Without listeners there is nothing to do.
            let _ = self.changes.send(Arc::clone(&changes));
        }
        changes
    }

    /// The snapshot of a view, given that of everything.
    fn of_rule(&self, everything: &Arc<Snapshot>, rule: &ViewRule) -> Arc<Snapshot> {
        match rule {
            ViewRule::Visible(VisibleSkills::Everything) => Arc::clone(everything),
            ViewRule::Visible(_) => Arc::new(everything.restricted(|uri| rule.shows(uri))),
            ViewRule::Nothing => Arc::new(Snapshot::new(Vec::new(), &self.options)),
        }
    }

    /// Returns the current snapshot of a view, or `None` before the first one is published.
    ///
    /// A view that was retired shows nothing, also to requests that began before.
    pub fn now(&self, view: ViewId) -> Option<Arc<Snapshot>> {
        let views = self.current.load();
        let views = views.as_ref()?;
        let empty = || Arc::new(Snapshot::new(Vec::new(), &self.options));
        Some(views.get(view).map_or_else(empty, Arc::clone))
    }

    /// Tells whether a view would show a skill at this URI, if there were one.
    pub fn would_show(&self, view: ViewId, uri: &SkillUri) -> bool {
        let rules = self.view_rules();
        let found = rules.get(view.place as usize).filter(|found| found.tenure == view.tenure);
        found.is_some_and(|found| found.rule.shows(uri))
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

/// Puts a value at a place, which may be the one after the last.
fn put<T>(values: &mut Vec<T>, place: usize, value: T) {
    match values.get_mut(place) {
        Some(old) => *old = value,
        None => values.push(value),
    }
}

#[cfg(test)]
mod tests {
    use skillwire_source::PathPatterns;

    use super::*;

    fn patterns(text: &str) -> PathPatterns {
        PathPatterns::parse([text]).unwrap()
    }

    #[test]
    fn a_retired_view_makes_room_for_another_and_shows_nothing_to_late_requests() {
        let catalog = Catalog::new(SnapshotOptions::default());
        catalog.publish(&CatalogDelta::default());
        let uri = SkillUri::parse("skill://acme/refunds/SKILL.md").unwrap();
        let first = catalog.restrict(patterns("acme/**"));
        assert!(catalog.would_show(first, &uri));
        let generation = |view: ViewId| catalog.now(view).unwrap().generation();
        let shown = generation(first);
        catalog.retire(first);
        assert_ne!(generation(first), shown, "what was kept for the view must not answer for it");
        for _ in 0..1_000 {
            let next = catalog.restrict(patterns("acme/**"));
            assert!(next != first && catalog.has_view(next) && catalog.would_show(next, &uri));
            assert!(!catalog.has_view(first) && !catalog.would_show(first, &uri));
            let changes = catalog.publish(&CatalogDelta::default());
            assert!(changes.of(next).is_some() && changes.of(first).is_none());
            assert_eq!(catalog.now(first).unwrap().listed_count(), 0);
            // A second retirement of the first view leaves the one in its place alone.
            catalog.retire(first);
            assert!(catalog.has_view(next));
            catalog.retire(next);
        }
        assert_eq!(catalog.view_count(), 2);
    }
}
