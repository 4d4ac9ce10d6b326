//! How much a namespace may hold.

use serde::{Deserialize, Serialize};
use skillwire_core::limits;

use crate::refusal::Refusal;

/// The most a namespace may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Quotas {
    /// Skills in the namespace.
    pub skills: u64,
    /// Versions of one skill.
    pub versions_per_skill: u64,
    /// Bytes of all versions together; files that versions share count each time.
    pub bytes: u64,
    /// Bytes of one version.
    pub version_bytes: u64,
    /// Files of one version.
    pub version_files: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            skills: 100_000,
            versions_per_skill: 5_000,
            bytes: 100 << 30,
            version_bytes: limits::MAX_BYTES,
            version_files: limits::MAX_FILES as u64,
        }
    }
}

/// What a namespace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Skills.
    pub skills: u64,
    /// Versions of all skills.
    pub versions: u64,
    /// Bytes of all versions together.
    pub bytes: u64,
}

impl Quotas {
    /// Refuses a version that alone is too large, before its bytes are stored.
    pub fn check_version(&self, files: u64, bytes: u64) -> Result<(), Refusal> {
        within("files in one version", files, self.version_files)?;
        within("bytes in one version", bytes, self.version_bytes)
    }

    /// Refuses a version that does not fit beside what the namespace holds.
    ///
    /// `versions` is how many versions the skill has; a skill without one is new.
    pub fn check_room(&self, usage: &Usage, versions: u64, bytes: u64) -> Result<(), Refusal> {
        if versions == 0 {
            within("skills in the namespace", usage.skills.saturating_add(1), self.skills)?;
        }
        let versions = versions.saturating_add(1);
        within("versions of the skill", versions, self.versions_per_skill)?;
        within("bytes in the namespace", usage.bytes.saturating_add(bytes), self.bytes)
    }
}

fn within(what: &'static str, actual: u64, limit: u64) -> Result<(), Refusal> {
    if actual > limit { Err(Refusal::OverQuota { what, limit, actual }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_inclusive_and_named_in_its_refusal() {
        let quotas = Quotas { skills: 1, versions_per_skill: 2, bytes: 10, ..Quotas::default() };
        let usage = Usage { skills: 1, versions: 1, bytes: 4 };
        assert!(quotas.check_room(&usage, 1, 6).is_ok());
        let refused = |versions, bytes| quotas.check_room(&usage, versions, bytes).unwrap_err();
        assert!(refused(1, 7).to_string().contains("bytes in the namespace"));
        assert!(refused(2, 1).to_string().contains("versions of the skill"));
        assert!(refused(0, 1).to_string().contains("skills in the namespace"));
        assert!(quotas.check_version(513, 1).is_err());
        assert!(quotas.check_version(1, u64::MAX).is_err());
        assert!(quotas.check_room(&usage, 1, u64::MAX).is_err());
    }
}
