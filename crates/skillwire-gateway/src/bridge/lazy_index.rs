//! An index that the first search builds, and that a later search builds again when the text of a
//! skill has come into the cache since.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use skillwire_search::SearchIndex;

/// An index, and the skills whose texts it lacks.
#[derive(Debug)]
pub(crate) struct BuiltIndex {
    pub(crate) index: SearchIndex,
    /// The positions of skills whose `SKILL.md` was not in the cache when the index was built, and
    /// may be once they are loaded.
    pub(crate) unread: BTreeSet<usize>,
}

/// The index of one list of skills.
#[derive(Debug, Default)]
pub(crate) struct LazyIndex {
    state: Mutex<IndexState>,
    /// Held while the index is built, so that concurrent searches do not build it twice.
    building: Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct IndexState {
    built: Option<Arc<BuiltIndex>>,
    /// How many texts have come into the cache.
    arrivals: u64,
}

impl LazyIndex {
    /// The index, which the first caller builds while other callers wait.
    pub(crate) fn get(&self, build: impl FnOnce() -> BuiltIndex) -> Arc<BuiltIndex> {
        if let Some(built) = self.state().built.clone() {
            return built;
        }
        let _building = self.building.lock();
        // Another caller may have built it while this one waited.
        let IndexState { built, arrivals } = self.state().clone();
        if let Some(built) = built {
            return built;
        }
        let new = Arc::new(build());
        let mut state = self.state();
        // A text may have come into the cache during the build, after the build looked for it. If
        // such an index were kept, no later search would find that text: `text_came_in` ran before
        // there was an index to drop. It answers this one search, and the next search builds
        // another.
        if state.arrivals == arrivals {
            state.built = Some(Arc::clone(&new));
        }
        new
    }

    /// Notes that the text of a skill may have come into the cache.
    ///
    /// If the index lacks that text and `is_cached` confirms that it is there, the next search
    /// builds the index again. A host without a cache never confirms it, and the index stays.
    pub(crate) fn text_came_in(&self, position: usize, is_cached: impl FnOnce() -> bool) {
        let mut state = self.state();
        state.arrivals += 1;
        let lacks = state.built.as_ref().is_some_and(|built| built.unread.contains(&position));
        if lacks && is_cached() {
            state.built = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn build() -> BuiltIndex {
        BuiltIndex { index: SearchIndex::default(), unread: [1].into() }
    }

    #[test]
    fn only_a_text_that_was_missing_and_is_here_has_the_index_made_anew() {
        let index = LazyIndex::default();
        let builds = Cell::new(0);
        let search = || {
            index.get(|| {
                builds.set(builds.get() + 1);
                build()
            });
            builds.get()
        };
        assert_eq!((search(), search()), (1, 1));
        index.text_came_in(0, || true);
        assert_eq!(search(), 1, "it was read before");
        index.text_came_in(1, || false);
        assert_eq!(search(), 1, "it is not cached");
        index.text_came_in(1, || true);
        assert_eq!((search(), search()), (2, 2));
    }

    #[test]
    fn an_index_that_a_text_came_in_beside_is_used_once() {
        let index = LazyIndex::default();
        let meanwhile = index.get(|| {
            index.text_came_in(1, || true);
            build()
        });
        let next = index.get(build);
        assert!(!Arc::ptr_eq(&meanwhile, &next));
        assert!(Arc::ptr_eq(&index.get(build), &next));
    }
}
