//! What changed from one snapshot to the next.

use std::{collections::HashSet, sync::Arc};

use crate::{listing::Listing, snapshot::Snapshot};

/// What a listener needs to know about a swap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The listings differ: a skill came, went, or has another entry.
    pub list: bool,
    /// Files whose bytes changed or that are gone, and the `SKILL.md` of every changed skill.
    pub updated: HashSet<Arc<str>>,
}

impl Change {
    /// Compares two snapshots.
    pub fn between(old: &Snapshot, new: &Snapshot) -> Self {
        let list = differ(old.listed_skills(), new.listed_skills())
            || differ(old.listed_resources(), new.listed_resources());
        let mut updated: HashSet<Arc<str>> = HashSet::new();
        let digests: std::collections::HashMap<_, _> =
            new.stored_files().map(|(uri, file)| (uri, file.digest)).collect();
        for (uri, file) in old.stored_files() {
            if digests.get(uri) != Some(&file.digest) {
                updated.insert(Arc::clone(uri));
            }
        }
        for (uri, published) in old.skills() {
            if new.skills().get(uri).is_none_or(|now| now.entry != published.entry) {
                updated.insert(Arc::clone(uri));
            }
        }
        Self { list, updated }
    }

    /// Tells whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        !self.list && self.updated.is_empty()
    }
}

fn differ(old: &Listing, new: &Listing) -> bool {
    old.items().len() != new.items().len()
        || old.items().iter().zip(new.items()).any(|(a, b)| a.key != b.key || a.json != b.json)
}
