//! The changes from one snapshot to the next.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use skillwire_core::Digest;
use skillwire_source::{Skill, SkillContent};

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
