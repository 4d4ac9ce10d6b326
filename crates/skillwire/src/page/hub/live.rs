//! Marks of what a reader sees, which change if and only if that changes.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use skillwire_catalog::{Snapshot, ViewId};

use super::shown::ShownContent;

/// The most views whose marks are kept.
const MAX_MARKS: usize = 64;

/// Scripts count exactly up to here.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The marks of the snapshots that were looked at last: making one takes a look at every skill.
#[derive(Debug, Default)]
pub(super) struct SeenSkills(Mutex<Vec<SeenView>>);

#[derive(Debug)]
struct SeenView {
    view: ViewId,
    generation: u64,
    mark: u64,
}

impl SeenSkills {
    /// Returns the mark of the skills in a snapshot of a view.
    pub(super) fn mark(&self, view: ViewId, snapshot: &Arc<Snapshot>) -> u64 {
        let generation = snapshot.generation();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find(|seen| seen.view == view && seen.generation == generation);
        if let Some(seen) = known {
            return seen.mark;
        }
        let skills = snapshot.all().map(|skill| (skill.uri.as_str(), skill.entry.text()));
        let mark = mark_of(skills.collect::<Vec<_>>());
        kept.retain(|seen| seen.view != view);
        kept.push(SeenView { view, generation, mark });
        if kept.len() > MAX_MARKS {
            kept.remove(0);
        }
        mark
    }
}

/// What tells one waiting content from another.
pub(super) fn waiting_mark(shown: &ShownContent) -> (String, String) {
    (shown.key().as_str().to_owned(), shown.content().to_string())
}

/// Returns a number for something. The key of the hash is secret, so that a mark tells nothing else.
pub(super) fn mark_of(of: impl Hash) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(of) & MAX_NUMBER
}
