//! Sorted skills, in chunks that successive snapshots share.
//!
//! A change copies the chunk it falls into and the list of chunks, and nothing else. With a hundred
//! thousand skills that is a few kilobytes instead of the whole catalogue.

use std::sync::Arc;

use skillwire_source::Skill;

/// The most skills in one chunk; a larger chunk is split in two.
const CHUNK: usize = 256;

/// The sort key of a skill, which is unique.
pub(crate) type SortKey<'a> = (&'a str, &'a str);

/// Skills sorted by a key that is part of them.
#[derive(Debug, Clone)]
pub(crate) struct SortedSkills {
    key: fn(&Skill) -> SortKey<'_>,
    chunks: Vec<Arc<Vec<Arc<Skill>>>>,
    len: usize,
}

impl SortedSkills {
    /// Sorts skills by `key`.
    pub(crate) fn new(key: fn(&Skill) -> SortKey<'_>, mut skills: Vec<Arc<Skill>>) -> Self {
        skills.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let len = skills.len();
        let chunks = skills.chunks(CHUNK / 2).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Self { key, chunks, len }
    }

    /// Returns the skills that `kept` keeps, in the same order. A chunk that is kept whole is shared.
    pub(crate) fn filtered(&self, kept: impl Fn(&Arc<Skill>) -> bool) -> Self {
        let mut chunks = Vec::with_capacity(self.chunks.len());
        let mut len = 0;
        for chunk in &self.chunks {
            let count = chunk.iter().filter(|skill| kept(skill)).count();
            len += count;
            if count == chunk.len() {
                chunks.push(Arc::clone(chunk));
            } else if count > 0 {
                chunks.push(Arc::new(chunk.iter().filter(|skill| kept(skill)).cloned().collect()));
            }
        }
        Self { key: self.key, chunks, len }
    }

    /// Returns the number of skills.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the skill with exactly this key.
    pub(crate) fn get(&self, key: SortKey<'_>) -> Option<&Arc<Skill>> {
        self.from(key, false).next().filter(|found| (self.key)(found) == key)
    }

    /// Iterates over the skills from `key` on, or after it.
    pub(crate) fn from<'s>(
        &'s self,
        key: SortKey<'_>,
        after: bool,
    ) -> impl Iterator<Item = &'s Arc<Skill>> + use<'s> {
        let is_before = |skill: &Arc<Skill>| {
            let this = (self.key)(skill);
            this < key || (after && this == key)
        };
        let first = self.chunks.partition_point(|chunk| chunk.last().is_some_and(is_before));
        let (head, tail) = match self.chunks.get(first) {
            Some(chunk) => (&chunk[chunk.partition_point(is_before)..], &self.chunks[first + 1..]),
            None => (&[][..], &[][..]),
        };
        head.iter().chain(tail.iter().flat_map(|chunk| chunk.iter()))
    }

    /// Iterates over all skills in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Inserts a skill, or replaces the one with the same key.
    pub(crate) fn insert(&mut self, skill: Arc<Skill>) {
        let key = (self.key)(&skill);
        let last = self.chunks.len().saturating_sub(1);
        let at = self
            .chunks
            .partition_point(|chunk| chunk.last().is_some_and(|last| (self.key)(last) < key))
            .min(last);
        let Some(shared) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![skill]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(shared);
        match chunk.binary_search_by(|other| (self.key)(other).cmp(&key)) {
            Ok(place) => chunk[place] = skill,
            Err(place) => {
                chunk.insert(place, skill);
                self.len += 1;
            }
        }
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(chunk.len() / 2);
            self.chunks.insert(at + 1, Arc::new(upper));
        }
    }

    /// Removes the skill with this key.
    pub(crate) fn remove(&mut self, key: SortKey<'_>) {
        let at = self
            .chunks
            .partition_point(|chunk| chunk.last().is_some_and(|last| (self.key)(last) < key));
        let Some(shared) = self.chunks.get_mut(at) else { return };
        let Ok(place) = shared.binary_search_by(|other| (self.key)(other).cmp(&key)) else {
            return;
        };
        if shared.len() == 1 {
            self.chunks.remove(at);
        } else {
            Arc::make_mut(shared).remove(place);
        }
        self.len -= 1;
    }
}
