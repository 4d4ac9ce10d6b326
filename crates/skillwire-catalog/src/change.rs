//! The changes from one snapshot to the next.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use skillwire_core::Digest;
use skillwire_source::{Skill, SkillContent};

use crate::snapshot::Snapshot;

/// The most skills whose files are all named as updated when a filter changes.
const FEW: usize = 100;

/// Describes what a swap changed in one view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewChange {
    /// Whether the listings differ: a skill came, went, or has another entry.
    pub list: bool,
    /// Files that are new, changed or gone, and the `SKILL.md` of every changed skill.
    pub updated: HashSet<Arc<str>>,
}

impl ViewChange {
    /// Adds the change of one skill.
    pub(crate) fn note(
        &mut self,
        old: Option<&Arc<Skill>>,
        new: Option<&Arc<Skill>>,
        listed: bool,
    ) {
        let same_entry = old
            .zip(new)
            .is_some_and(|(old, new)| old.entry == new.entry && old.listed == new.listed);
        if same_entry && matches!(new.map(|new| &new.content), Some(SkillContent::Files(_))) {
            return;
        }
        self.list |= listed;
        let (before, now) = (old.map(|s| digests(s)), new.map(|s| digests(s)));
        let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
        for (uri, digest) in &before {
            if now.get(uri) != Some(digest) {
                self.updated.insert(Arc::clone(uri));
            }
        }
        self.updated.extend(now.into_keys().filter(|uri| !before.contains_key(uri)));
        // Clients know the entry of a skill by the URI of its `SKILL.md`.
        self.updated.extend(old.or(new).map(|skill| skill.uri.file().shared()));
    }

    /// Compares two snapshots of one view, of which the filter alone changed.
    ///
    /// Of many skills only `SKILL.md` counts as updated: rules that hide half of a large catalogue would
    /// otherwise cost more memory for the notice than for the catalogue.
    pub(crate) fn between(old: &Snapshot, new: &Snapshot) -> Self {
        let missing = |one: &Snapshot, other: &Snapshot| -> Vec<Arc<Skill>> {
            let all = one.all().filter(|skill| other.skill(skill.uri.as_str()).is_none());
            all.cloned().collect()
        };
        let (gone, come) = (missing(old, new), missing(new, old));
        let mut change = Self::default();
        if gone.len() + come.len() <= FEW {
            for skill in &gone {
                change.note(Some(skill), None, old.is_shown(skill));
            }
            for skill in &come {
                change.note(None, Some(skill), new.is_shown(skill));
            }
        } else {
            change.list = true;
            let all = gone.iter().chain(&come);
            change.updated.extend(all.map(|skill| skill.uri.file().shared()));
        }
        change
    }

    /// Tells whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.list && self.updated.is_empty()
    }
}

fn digests(skill: &Skill) -> HashMap<Arc<str>, Digest> {
    match &skill.content {
        SkillContent::Generated(_) => HashMap::new(),
        SkillContent::Files(tree) => tree
            .files
            .iter()
            .map(|file| (skill.uri.root().child(&file.path).shared(), file.digest))
            .collect(),
    }
}
