//! The current snapshot, and how it is replaced.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwapOption;
use skillwire_source::skill::Skill;
use tokio::sync::{broadcast, watch};

use crate::{
    change::Change,
    patterns::PathPatterns,
    snapshot::{Published, Snapshot, SnapshotOptions},
};

/// Swaps a slow listener may fall behind before it is told only that something changed.
const CHANGE_BACKLOG: usize = 64;

/// Who sees what: callers with the same rights share a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ViewId(usize);

impl ViewId {
    /// The view of callers without restrictions.
    pub const EVERYTHING: Self = Self(0);
}

/// All views of one moment.
#[derive(Debug)]
struct Views(Vec<Arc<Snapshot>>);

/// What one swap changed, for each view.
#[derive(Debug, Default)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// What changed for one view.
    pub fn of(&self, view: ViewId) -> Option<&Change> {
        self.0.get(view.0)
    }
}

/// The catalogue a server serves.
///
/// Readers take the current snapshot with one atomic load and keep it as long as they like.
#[derive(Debug)]
pub struct Catalog {
    options: SnapshotOptions,
    restrictions: Vec<PathPatterns>,
    current: ArcSwapOption<Views>,
    ready: watch::Sender<bool>,
    changes: broadcast::Sender<Arc<Changes>>,
}

impl Catalog {
    /// Makes a catalogue without a first snapshot; readers wait for it.
    pub fn new(options: SnapshotOptions) -> Self {
        Self {
            options,
            restrictions: Vec::new(),
            current: ArcSwapOption::empty(),
            ready: watch::Sender::new(false),
            changes: broadcast::Sender::new(CHANGE_BACKLOG),
        }
    }

    /// Adds a view that shows only the skills whose path matches.
    pub fn restrict(&mut self, visible: PathPatterns) -> ViewId {
        self.restrictions.push(visible);
        ViewId(self.restrictions.len())
    }

    /// Replaces everything at once and returns what changed.
    pub fn publish(&self, skills: Vec<Skill>) -> Arc<Changes> {
        let old = self.current.load_full();
        let known: HashMap<&str, &Arc<Published>> = old
            .as_ref()
            .map(|views| views.0[0].skills().iter().map(|(k, v)| (&**k, v)).collect())
            .unwrap_or_default();
        let published: Vec<Arc<Published>> = skills
            .into_iter()
            .map(|skill| {
                let new = Published::new(skill);
                match known.get(new.skill.uri.as_str()) {
                    // An unchanged skill keeps its place in memory.
                    Some(same) if same.same_as(&new) => Arc::clone(same),
                    _ => Arc::new(new),
                }
            })
            .collect();
        let mut views = vec![Arc::new(Snapshot::build(&published, &self.options))];
        for visible in &self.restrictions {
            let some: Vec<_> = published
                .iter()
                .filter(|published| visible.matches(&published.skill.path.to_string()))
                .cloned()
                .collect();
            views.push(Arc::new(Snapshot::build(&some, &self.options)));
        }
        let changes = Arc::new(Changes(match &old {
            Some(old) => old.0.iter().zip(&views).map(|(a, b)| Change::between(a, b)).collect(),
            None => Vec::new(),
        }));
        self.current.store(Some(Arc::new(Views(views))));
        self.ready.send_replace(true);
        if changes.0.iter().any(|change| !change.is_empty()) {
            // Nobody listening is fine.
            let _ = self.changes.send(Arc::clone(&changes));
        }
        changes
    }

    /// The current snapshot, when the first one is there.
    pub fn now(&self, view: ViewId) -> Option<Arc<Snapshot>> {
        let views = self.current.load();
        views.as_ref().and_then(|views| views.0.get(view.0)).map(Arc::clone)
    }

    /// Waits for the first snapshot.
    pub async fn ready(&self) {
        let mut ready = self.ready.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Listens to swaps from now on.
    pub fn changes(&self) -> broadcast::Receiver<Arc<Changes>> {
        self.changes.subscribe()
    }
}
