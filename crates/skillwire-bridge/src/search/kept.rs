//! An index that is made when somebody first searches, and again when a text came in since.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Index, SearchError};

/// An index, and what it does not know.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) index: Index,
    /// The places of skills whose text may be cached once they are loaded, and was not.
    pub(crate) unread: BTreeSet<usize>,
}

/// The index of one list of skills.
#[derive(Debug, Default)]
pub(crate) struct KeptIndex {
    now: Mutex<Now>,
    /// Held by whoever makes the index, so that it is not made twice at a time.
    making: Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct Now {
    made: Option<Arc<Made>>,
    /// How many texts came in.
    arrivals: u64,
}

impl KeptIndex {
    /// The index, made by whoever asks first; whoever asks meanwhile waits for it.
    pub(crate) fn get(
        &self,
        make: impl FnOnce() -> Result<Made, SearchError>,
    ) -> Result<Arc<Made>, SearchError> {
        if let Some(kept) = self.now().made.clone() {
            return Ok(kept);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have made it meanwhile.
        let Now { made: kept, arrivals } = self.now().clone();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let new = Arc::new(make()?);
        let mut now = self.now();
        // What came in meanwhile may have been looked for before it was there.
        if now.arrivals == arrivals {
            now.made = Some(Arc::clone(&new));
        }
        Ok(new)
    }

    /// Has the next search make the index anew if it was made without a text that is here now.
    pub(crate) fn text_came_in(&self, place: usize, is_here: impl FnOnce() -> bool) {
        let mut now = self.now();
        now.arrivals += 1;
        // Where nothing is cached, no text is ever here, and the index stays what it is.
        if now.made.as_ref().is_some_and(|made| made.unread.contains(&place)) && is_here() {
            now.made = None;
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn made() -> Result<Made, SearchError> {
        Ok(Made { index: Index::new([])?, unread: [1].into() })
    }

    #[test]
    fn only_a_text_that_was_missing_and_is_here_has_the_index_made_anew() {
        let (kept, count) = (KeptIndex::default(), Cell::new(0));
        let search = || {
            let make = || {
                count.set(count.get() + 1);
                made()
            };
            kept.get(make).expect("memory can be indexed");
            count.get()
        };
        assert_eq!((search(), search()), (1, 1));
        kept.text_came_in(0, || true);
        assert_eq!(search(), 1, "it was read before");
        kept.text_came_in(1, || false);
        assert_eq!(search(), 1, "it is not cached");
        kept.text_came_in(1, || true);
        assert_eq!((search(), search()), (2, 2));
    }

    #[test]
    fn an_index_that_a_text_came_in_beside_is_used_once() {
        let kept = KeptIndex::default();
        let meanwhile = kept.get(|| {
            kept.text_came_in(1, || true);
            made()
        });
        let next = kept.get(made).expect("memory can be indexed");
        assert!(!Arc::ptr_eq(&meanwhile.expect("memory can be indexed"), &next));
        assert!(Arc::ptr_eq(&kept.get(made).expect("memory can be indexed"), &next));
    }
}
