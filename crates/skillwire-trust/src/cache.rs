//! A cache of verified content. It is never a source of trust.

use bytes::Bytes;
use skillwire_core::SkillResource;

use crate::{
    origin::{Origin, SkillId},
    record::StoreError,
    verified::VerifiedFile,
};

/// A cache of skill files, separated by origin and skill.
pub trait Cache: Send + Sync {
    /// Returns the bytes cached for a file, if any; the caller must compare them with the entry.
    fn get(&self, skill: &SkillId, file: &SkillResource) -> Option<Bytes>;

    /// Stores a file.
    fn put(&self, file: &VerifiedFile) -> Result<(), StoreError>;

    /// Removes every file of an origin and returns how many there were.
    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError>;
}

/// A cache that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

impl Cache for NoCache {
    fn get(&self, _: &SkillId, _: &SkillResource) -> Option<Bytes> {
        None
    }

    fn put(&self, _: &VerifiedFile) -> Result<(), StoreError> {
        Ok(())
    }

    fn remove_origin(&self, _: &Origin) -> Result<usize, StoreError> {
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, listed, verified};

    #[test]
    fn no_cache_gives_back_nothing_and_removes_nothing_hst_92() {
        let skill = id("acme", "skill://a/SKILL.md");
        NoCache.put(&verified(&skill, "empty", b"")).unwrap();
        assert_eq!(NoCache.get(&skill, &listed(&skill, "empty", b"")), None);
        assert_eq!(NoCache.remove_origin(&skill.origin), Ok(0));
    }
}
