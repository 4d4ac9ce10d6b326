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

/// Hashes and skills in one allocation, so that a lookup follows one pointer.
type UriBucket = Arc<[(u64, Arc<Skill>)]>;

/// Skills in buckets that successive snapshots share; a change copies one bucket.
#[derive(Debug, Clone)]
pub(crate) struct UriIndex {
    hasher: RandomState,
    /// The buckets; their number is a power of two.
    buckets: Vec<UriBucket>,
    len: usize,
}

impl UriIndex {
    pub(crate) fn new<'a>(skills: impl ExactSizeIterator<Item = &'a Arc<Skill>>) -> Self {
        let count = (skills.len() / BUCKET).next_power_of_two();
        let hasher = RandomState::default();
        let mut buckets = vec![Vec::new(); count];
        let len = skills.len();
        for skill in skills {
            let hash = hasher.hash_one(skill.uri.as_str());
            buckets[place(hash, count)].push((hash, Arc::clone(skill)));
        }
        Self { hasher, buckets: buckets.into_iter().map(UriBucket::from).collect(), len }
    }

    /// Returns the skills that `kept` keeps, in the same buckets. A bucket that is kept whole is shared.
    pub(crate) fn filtered(&self, kept: impl Fn(&Arc<Skill>) -> bool) -> Self {
        let mut len = 0;
        let bucket = |bucket: &UriBucket| {
            let count = bucket.iter().filter(|(_, skill)| kept(skill)).count();
            len += count;
            if count == bucket.len() {
                return Arc::clone(bucket);
            }
            bucket.iter().filter(|(_, skill)| kept(skill)).cloned().collect()
        };
        let buckets = self.buckets.iter().map(bucket).collect();
        Self { hasher: self.hasher.clone(), buckets, len }
    }

    /// Returns the skill with exactly this URI.
    pub(crate) fn get(&self, uri: &str) -> Option<&Arc<Skill>> {
        let hash = self.hasher.hash_one(uri);
        let bucket = self.buckets.get(place(hash, self.buckets.len()))?;
        bucket.iter().find(|entry| is(entry, hash, uri)).map(|(_, skill)| skill)
    }

    /// Inserts a skill, or replaces the one with the same URI.
    pub(crate) fn insert(&mut self, skill: Arc<Skill>) {
        self.remove(skill.uri.as_str());
        if self.len >= CROWDED * self.buckets.len() {
            let all: Vec<_> = self.buckets.iter().flat_map(|bucket| bucket.iter()).collect();
            *self = Self::new(all.iter().map(|(_, skill)| skill));
        }
        let hash = self.hasher.hash_one(skill.uri.as_str());
        let at = place(hash, self.buckets.len());
        let others = self.buckets[at].iter().cloned();
        self.buckets[at] = others.chain([(hash, skill)]).collect();
        self.len += 1;
    }

    /// Removes the skill with this URI.
    pub(crate) fn remove(&mut self, uri: &str) {
        let hash = self.hasher.hash_one(uri);
        let at = place(hash, self.buckets.len());
        let bucket = &mut self.buckets[at];
        if bucket.iter().any(|entry| is(entry, hash, uri)) {
            *bucket = bucket.iter().filter(|entry| !is(entry, hash, uri)).cloned().collect();
            self.len -= 1;
        }
    }
}

fn is((hash, skill): &(u64, Arc<Skill>), wanted: u64, uri: &str) -> bool {
    *hash == wanted && skill.uri.as_str() == uri
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
        let mut all = UriIndex::new(first.iter());
        assert_eq!(all.buckets.len(), 1);
        for skill in later {
            all.insert(Arc::clone(skill));
        }
        assert!(all.buckets.len() > 1 && all.len <= CROWDED * all.buckets.len());
        let before = all.clone();
        for skill in skills.iter().step_by(2) {
            all.remove(skill.uri.as_str());
            all.remove(skill.uri.as_str());
        }
        // Replaces the equal skill, so that there is only one.
        all.insert(Arc::clone(&skills[1]));
        assert_eq!(all.len, skills.len() / 2);
        for (number, skill) in skills.iter().enumerate() {
            let uri = skill.uri.as_str();
            assert!(before.get(uri).is_some_and(|found| Arc::ptr_eq(found, skill)), "{uri}");
            assert_eq!(all.get(uri).is_some(), number % 2 == 1, "{uri}");
        }
        assert!(all.get("skill://s1").is_none());
    }
}
