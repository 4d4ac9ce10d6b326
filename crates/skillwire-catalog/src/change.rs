//! What changed from one snapshot to the next.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use skillwire_core::digest::Digest;
use skillwire_source::skill::{Content, Skill};

/// What a listener needs to know about a swap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The listings differ: a skill came, went, or has another entry.
    pub list: bool,
    /// Files whose bytes changed or that are gone, and the `SKILL.md` of every changed skill.
    pub updated: HashSet<Arc<str>>,
}

impl Change {
    /// Adds what becomes of one skill.
    pub(crate) fn note(
        &mut self,
        old: Option<&Arc<Skill>>,
        new: Option<&Arc<Skill>>,
        listed: bool,
    ) {
        let same_entry = old.zip(new).is_some_and(|(old, new)| old.entry == new.entry);
        if same_entry && matches!(new.map(|new| &new.content), Some(Content::Files(_))) {
            return;
        }
        self.list |= listed;
        let Some(old) = old else { return };
        self.updated.insert(old.uri.file().shared());
        let now = new.map(|new| digests(new)).unwrap_or_default();
        for (uri, digest) in digests(old) {
            if now.get(&uri) != Some(&digest) {
                self.updated.insert(uri);
            }
        }
    }

    /// Tells whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        !self.list && self.updated.is_empty()
    }
}

fn digests(skill: &Skill) -> HashMap<Arc<str>, Digest> {
    match &skill.content {
        Content::Generated(_) => HashMap::new(),
        Content::Files(tree) => tree
            .files
            .iter()
            .map(|file| (skill.uri.root().child(&file.path).shared(), file.digest))
            .collect(),
    }
}
