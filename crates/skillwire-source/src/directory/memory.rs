//! What a source remembers of its folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

use skillwire_core::{Code, Finding};

use super::inspect::Remembered;

/// What a source knows of its folder between scans; all paths are below the root.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The outermost skills.
    pub(super) skills: BTreeMap<Arc<str>, Remembered>,
    /// Directories that tried to be skills, and what was said about each.
    pub(super) odd: BTreeMap<String, Vec<Finding>>,
    /// What belongs to no skill.
    pub(super) between: BTreeMap<String, Vec<Finding>>,
    /// Whether everything has been looked at; until then there is no telling what is new.
    pub(super) complete: bool,
    /// Skills that are not in the index as they are.
    pub(super) unwritten: BTreeSet<Arc<str>>,
    /// Whether there are skills in the index that are no longer there.
    pub(super) stale: bool,
}

impl Memory {
    /// Everything that belongs to no skill.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.between.values().flatten().cloned().collect()
    }

    /// Tells whether a path is looked at whole or not at all.
    pub(super) fn is_whole(&self, path: &str) -> bool {
        let too_many = |finding: &Finding| finding.code == Code::TooManyFiles;
        self.skills.contains_key(path)
            || self.between.get(path).is_some_and(|findings| findings.iter().any(too_many))
    }
}

/// The keys of a map that are a path or lie inside it.
pub(super) fn inside<K: Ord + Clone + std::borrow::Borrow<str>, V>(
    map: &BTreeMap<K, V>,
    path: &str,
) -> Vec<K> {
    if path.is_empty() {
        return map.keys().cloned().collect();
    }
    // `0` follows `/` in ASCII, so this range is exactly the paths that begin with `path/`.
    let (from, to) = (format!("{path}/"), format!("{path}0"));
    let bounds = (Bound::Included(from.as_str()), Bound::Excluded(to.as_str()));
    let below = map.range::<str, _>(bounds);
    map.get_key_value(path).into_iter().chain(below).map(|(key, _)| key.clone()).collect()
}
