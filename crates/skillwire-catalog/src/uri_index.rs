//! Skills by the URI of their `SKILL.md`, found without a search.
//!
//! A binary search among sorted skills touches a dozen of them, and a read needs several searches:
//! one for each directory that might be a skill. Here each lookup inspects one bucket.

use std::{hash::BuildHasher as _, sync::Arc};

use foldhash::quality::RandomState;
use skillwire_source::Skill;

/// The intended number of skills per bucket when the buckets are laid out.
const BUCKET: usize = 16;

/// Average number of skills per bucket beyond which more buckets are made.
const CROWDED: usize = 4 * BUCKET;

/// Buckets that are copied together; a power of two.
const GROUP: usize = 64;

/// A skill in a bucket.
#[derive(Debug, Clone)]
struct Indexed {
    /// The half of the hash that does not choose the bucket.
    hash: u32,
    number: u32,
    skill: Arc<Skill>,
}

/// Hashes and skills in one allocation, so that a lookup follows one pointer.
type UriBucket = Arc<[Indexed]>;

/// Skills in buckets that successive snapshots share; a change copies one bucket, and the list of one group.
#[derive(Debug, Clone)]
pub(crate) struct UriIndex {
    hasher: RandomState,
    /// The buckets, in groups.
    groups: Vec<Arc<[UriBucket]>>,
    /// How many buckets there are, a power of two.
    buckets: usize,
    len: usize,
}

impl UriIndex {
    pub(crate) fn new<'a>(len: usize, skills: impl Iterator<Item = (&'a Arc<Skill>, u32)>) -> Self {
        let count = (len / BUCKET).next_power_of_two();
        let hasher = RandomState::default();
        let mut buckets = vec![Vec::new(); count];
        for (skill, number) in skills {
            let hash = hasher.hash_one(skill.uri.as_str());
            let skill = Arc::clone(skill);
            buckets[place(hash, count)].push(Indexed { hash: kept(hash), number, skill });
        }
        let buckets: Vec<UriBucket> = buckets.into_iter().map(UriBucket::from).collect();
        let groups = buckets.chunks(GROUP).map(Arc::from).collect();
        Self { hasher, groups, buckets: count, len }
    }

    /// Returns the skill with exactly this URI, and its number.
    pub(crate) fn get(&self, uri: &str) -> Option<(&Arc<Skill>, u32)> {
        let hash = self.hasher.hash_one(uri);
        let at = place(hash, self.buckets);
        let bucket = self.groups.get(at / GROUP)?.get(at % GROUP)?;
        let found = bucket.iter().find(|entry| entry.is(hash, uri))?;
        Some((&found.skill, found.number))
    }

    /// Inserts a skill, or replaces the one with the same URI.
    pub(crate) fn insert(&mut self, skill: Arc<Skill>, number: u32) {
        self.remove(skill.uri.as_str());
        if self.len >= CROWDED * self.buckets {
            let all: Vec<_> = self.entries().collect();
            *self = Self::new(all.len(), all.iter().map(|entry| (&entry.skill, entry.number)));
        }
        let hash = self.hasher.hash_one(skill.uri.as_str());
        let bucket = self.bucket(hash);
        let others = bucket.iter().cloned();
        *bucket = others.chain([Indexed { hash: kept(hash), number, skill }]).collect();
        self.len += 1;
    }

    /// Removes the skill with this URI.
    pub(crate) fn remove(&mut self, uri: &str) {
        if self.get(uri).is_none() {
            return;
        }
        let hash = self.hasher.hash_one(uri);
        let bucket = self.bucket(hash);
        *bucket = bucket.iter().filter(|entry| !entry.is(hash, uri)).cloned().collect();
        self.len -= 1;
    }

    fn bucket(&mut self, hash: u64) -> &mut UriBucket {
        let at = place(hash, self.buckets);
        &mut Arc::make_mut(&mut self.groups[at / GROUP])[at % GROUP]
    }

    fn entries(&self) -> impl Iterator<Item = &Indexed> {
        self.groups.iter().flat_map(|group| group.iter()).flat_map(|bucket| bucket.iter())
    }
}

impl Indexed {
    fn is(&self, wanted: u64, uri: &str) -> bool {
        self.hash == kept(wanted) && self.skill.uri.as_str() == uri
    }
}

/// Returns the half of a hash that does not choose the bucket.
fn kept(hash: u64) -> u32 {
    u32::try_from(hash >> u32::BITS).unwrap_or_default()
}

/// Returns the index of a hash's bucket among `count`, a power of two.
fn place(hash: u64, count: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
    let low = hash as usize;
    low & (count - 1)
}

#[cfg(test)]
mod tests {
    use skillwire_core::{RelPath, SkillPath};
    use skillwire_source::{MemorySource, ScanRequest, SkillSource as _, SourceChange};

    use super::*;

    /// Creates the skills `s0`, `s1` and so on.
    fn skills(count: usize) -> Vec<Arc<Skill>> {
        let mut source = MemorySource::new("memory");
        for number in 0..count {
            let text = format!("---\nname: s{number}\ndescription: Use when needed.\n---\n");
            let path = SkillPath::parse(&format!("s{number}")).unwrap();
            source.add(&path, [(RelPath::skill_file(), text.into())]).unwrap();
        }
        let mut skills = Vec::new();
        let mut take = |report| {
            let SourceChange::Updated(_, inspected) = report else { return };
            skills.extend(inspected.into_iter().filter_map(|inspected| inspected.skill));
        };
        source.scan(&ScanRequest::everything(), &mut take).unwrap();
        assert_eq!(skills.len(), count);
        skills
    }

    #[test]
    fn skills_are_found_however_many_there_come_to_be_srv_47() {
        let skills = skills(10 * CROWDED);
        let (first, later) = skills.split_at(3);
        let mut all = UriIndex::new(first.len(), first.iter().zip(0..));
        assert_eq!(all.buckets, 1);
        for (skill, number) in later.iter().zip(3..) {
            all.insert(Arc::clone(skill), number);
        }
        assert!(all.buckets > 1 && all.len <= CROWDED * all.buckets);
        let before = all.clone();
        for skill in skills.iter().step_by(2) {
            all.remove(skill.uri.as_str());
            all.remove(skill.uri.as_str());
        }
        // Replaces the equal skill, so that there is only one.
        all.insert(Arc::clone(&skills[1]), 1);
        assert_eq!(all.len, skills.len() / 2);
        for (number, skill) in skills.iter().enumerate() {
            let uri = skill.uri.as_str();
            let (found, its) = before.get(uri).unwrap();
            assert!(Arc::ptr_eq(found, skill) && its as usize == number, "{uri}");
            assert_eq!(all.get(uri).is_some(), number % 2 == 1, "{uri}");
        }
        assert!(all.get("skill://s1").is_none());
    }
}
