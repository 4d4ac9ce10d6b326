//! Entries that were requested after the listing was made.

use std::{collections::HashMap, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use skillwire_core::SkillUri;
use skillwire_trust::ListedSkill;

/// The most entries that are kept besides the listing.
const MOST: usize = 10_000;

/// An entry, and when it stops being fresh.
pub(super) type NamedEntry = (ListedSkill, Duration);

/// The latest entry of each skill that a caller named since the listing was made.
#[derive(Default)]
pub(super) struct NamedEntries(Mutex<HashMap<SkillUri, NamedEntry>>);

impl NamedEntries {
    pub(super) fn get(&self, uri: &SkillUri) -> Option<NamedEntry> {
        self.lock().get(uri).cloned()
    }

    /// Keeps an entry. At the limit it drops all others, since a server could supply an entry for
    /// every possible URI and fill the memory.
    pub(super) fn put(&self, uri: &SkillUri, listed: &ListedSkill, fresh_until: Duration) {
        let mut entries = self.lock();
        if entries.len() >= MOST && !entries.contains_key(uri) {
            entries.clear();
        }
        entries.insert(uri.clone(), (listed.clone(), fresh_until));
    }

    pub(super) fn uris(&self) -> Vec<SkillUri> {
        self.lock().keys().cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SkillUri, NamedEntry>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillwire_trust::Origin;

    fn uri(index: usize) -> SkillUri {
        SkillUri::parse(&format!("skill://s{index}/SKILL.md")).unwrap()
    }

    #[test]
    fn however_many_skills_are_named_no_more_are_kept_than_there_is_room_for_hst_111() {
        let origin = Origin::parse("acme").unwrap();
        let listed = crate::remote::getting::unlisted(&origin, &uri(0)).unwrap().passed_on();
        let entries = NamedEntries::default();
        let put = |index| entries.put(&uri(index), &listed, Duration::ZERO);
        (0..MOST).for_each(put);
        put(0);
        assert_eq!(entries.lock().len(), MOST, "one that is replaced takes no room");
        put(MOST);
        assert_eq!(entries.lock().len(), 1);
        assert!(entries.get(&uri(MOST)).is_some());
    }
}
