//! Sorted skills, in chunks that successive snapshots share.
//!
//! A change copies the chunk it falls into and the list of chunks, and nothing else. With a hundred
//! thousand skills that is a few kilobytes instead of the whole catalogue.

use std::{collections::HashMap, ops::Range, sync::Arc};

use skillwire_source::Skill;

use crate::number_set::NumberSet;

/// The most skills in one chunk; a larger chunk is split in two.
const CHUNK: usize = 256;

/// The sort key of a skill, which is unique.
pub(crate) type SortKey<'a> = (&'a str, &'a str);

/// A skill with its number, by which a view tells whether it shows the skill.
#[derive(Debug, Clone)]
pub(crate) struct Numbered {
    pub(crate) skill: Arc<Skill>,
    pub(crate) number: u32,
}

type Chunk = Arc<Vec<Numbered>>;

/// Skills sorted by a key that is part of them.
#[derive(Debug, Clone)]
pub(crate) struct SortedSkills {
    key: fn(&Skill) -> SortKey<'_>,
    chunks: Vec<Chunk>,
    len: usize,
}

/// The skills of an order that a view shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownSkills<'s> {
    order: &'s SortedSkills,
    /// The numbers that the view shows, and how many are in each chunk; none if it shows everything.
    only: Option<(&'s NumberSet, &'s ShownCounts)>,
}

/// How many skills of each chunk of an order a view shows, so that it skips those with none.
#[derive(Debug, Clone)]
pub(crate) struct ShownCounts {
    chunks: Vec<u16>,
    len: usize,
}

/// What became of the chunks of an order.
pub(crate) struct ChunkChanges(Vec<ChunkChange>);

enum ChunkChange {
    /// These chunks of the earlier order stayed.
    Kept(Range<usize>),
    /// The chunk with this place in the later order is another one.
    Other(usize),
}

impl ShownCounts {
    /// Counts the skills of a view in each chunk.
    pub(crate) fn of(order: &SortedSkills, shown: &NumberSet) -> Self {
        let chunks: Vec<u16> = order.chunks.iter().map(|chunk| count(chunk, shown)).collect();
        Self::from(chunks)
    }

    /// Counts again where chunks are other ones than before.
    pub(crate) fn next(
        &self,
        order: &SortedSkills,
        changes: &ChunkChanges,
        shown: &NumberSet,
    ) -> Self {
        let mut chunks = Vec::with_capacity(order.chunks.len());
        for change in &changes.0 {
            match change {
                ChunkChange::Kept(range) => chunks.extend_from_slice(&self.chunks[range.clone()]),
                ChunkChange::Other(at) => chunks.push(count(&order.chunks[*at], shown)),
            }
        }
        Self::from(chunks)
    }
}

impl From<Vec<u16>> for ShownCounts {
    fn from(chunks: Vec<u16>) -> Self {
        let len = chunks.iter().map(|count| usize::from(*count)).sum();
        Self { chunks, len }
    }
}

fn count(chunk: &Chunk, shown: &NumberSet) -> u16 {
    let count = chunk.iter().filter(|skill| shown.has(skill.number)).count();
    // A chunk never has more than `CHUNK`.
    u16::try_from(count).unwrap_or(u16::MAX)
}

impl<'s> ShownSkills<'s> {
    /// Returns the number of skills.
    pub(crate) fn len(self) -> usize {
        self.only.map_or(self.order.len, |(_, counts)| counts.len)
    }

    /// Returns the skill with exactly this key.
    pub(crate) fn get(self, key: SortKey<'_>) -> Option<&'s Arc<Skill>> {
        let found = self.order.from(key, false).next()?;
        let is_shown = self.only.is_none_or(|(shown, _)| shown.has(found.number));
        (is_shown && (self.order.key)(&found.skill) == key).then_some(&found.skill)
    }

    /// Iterates over the skills from `key` on, or after it.
    pub(crate) fn from(
        self,
        key: SortKey<'_>,
        after: bool,
    ) -> impl Iterator<Item = &'s Arc<Skill>> + use<'s> {
        let (head, tail) = self.order.split(key, after);
        let skipped = self.order.chunks.len() - tail.len();
        let has_any = move |(at, _): &(usize, &Chunk)| {
            self.only.is_none_or(|(_, counts)| counts.chunks[skipped + at] > 0)
        };
        let tail = tail.iter().enumerate().filter(has_any).flat_map(|(_, chunk)| chunk.iter());
        let all = head.iter().chain(tail);
        all.filter(move |skill| self.only.is_none_or(|(shown, _)| shown.has(skill.number)))
            .map(|skill| &skill.skill)
    }

    /// Iterates over all skills in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'s Arc<Skill>> + use<'s> {
        self.from(("", ""), false)
    }
}

impl SortedSkills {
    /// Sorts skills by `key`.
    pub(crate) fn new(key: fn(&Skill) -> SortKey<'_>, mut skills: Vec<Numbered>) -> Self {
        skills.sort_unstable_by(|a, b| key(&a.skill).cmp(&key(&b.skill)));
        let len = skills.len();
        let chunks = skills.chunks(CHUNK / 2).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Self { key, chunks, len }
    }

    /// Returns the skills of this order that a view shows; it has counts of this very order.
    pub(crate) fn shown<'s>(
        &'s self,
        only: Option<(&'s NumberSet, &'s ShownCounts)>,
    ) -> ShownSkills<'s> {
        ShownSkills { order: self, only }
    }

    /// Compares the chunks with those of an earlier order.
    pub(crate) fn since(&self, earlier: &Self) -> ChunkChanges {
        let places: HashMap<_, _> = earlier.chunks.iter().map(Arc::as_ptr).zip(0_usize..).collect();
        let mut changes = Vec::new();
        for (at, chunk) in self.chunks.iter().enumerate() {
            match (places.get(&Arc::as_ptr(chunk)), changes.last_mut()) {
                (None, _) => changes.push(ChunkChange::Other(at)),
                (Some(place), Some(ChunkChange::Kept(range))) if range.end == *place => {
                    range.end += 1;
                }
                (Some(place), _) => changes.push(ChunkChange::Kept(*place..place + 1)),
            }
        }
        ChunkChanges(changes)
    }

    /// Returns the part of a chunk from `key` on, or after it, and the chunks behind it.
    fn split(&self, key: SortKey<'_>, after: bool) -> (&[Numbered], &[Chunk]) {
        let is_before = |skill: &Numbered| {
            let this = (self.key)(&skill.skill);
            this < key || (after && this == key)
        };
        let first = self.chunks.partition_point(|chunk| chunk.last().is_some_and(is_before));
        match self.chunks.get(first) {
            Some(chunk) => (&chunk[chunk.partition_point(is_before)..], &self.chunks[first + 1..]),
            None => (&[], &[]),
        }
    }

    fn from(&self, key: SortKey<'_>, after: bool) -> impl Iterator<Item = &Numbered> {
        let (head, tail) = self.split(key, after);
        head.iter().chain(tail.iter().flat_map(|chunk| chunk.iter()))
    }

    /// Iterates over all skills in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Numbered> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Inserts a skill, or replaces the one with the same key.
    pub(crate) fn insert(&mut self, skill: Numbered) {
        let key = (self.key)(&skill.skill);
        let last = self.chunks.len().saturating_sub(1);
        let at = self
            .chunks
            .partition_point(|chunk| chunk.last().is_some_and(|last| (self.key)(&last.skill) < key))
            .min(last);
        let Some(shared) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![skill]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(shared);
        match chunk.binary_search_by(|other| (self.key)(&other.skill).cmp(&key)) {
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
        let at = self.chunks.partition_point(|chunk| {
            chunk.last().is_some_and(|last| (self.key)(&last.skill) < key)
        });
        let Some(shared) = self.chunks.get_mut(at) else { return };
        let Ok(place) = shared.binary_search_by(|other| (self.key)(&other.skill).cmp(&key)) else {
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
