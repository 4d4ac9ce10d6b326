//! Verified content kept for later; never a source of trust.

use bytes::Bytes;
use skillwire_core::SkillResource;

use crate::{
    origin::{Origin, SkillId},
    record::StoreError,
    verified::VerifiedFile,
};

/// Keeps the files of skills apart by origin and skill.
pub trait Cache: Send + Sync {
    /// Bytes kept for that file, if any; the caller compares them with what is listed.
    fn get(&self, skill: &SkillId, file: &SkillResource) -> Option<Bytes>;

    /// Keeps a file.
    fn put(&self, file: &VerifiedFile) -> Result<(), StoreError>;

    /// Removes everything of an origin and says how many files that were.
    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError>;
}

/// Keeps nothing.
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
