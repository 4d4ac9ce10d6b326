//! The approved and the listed version of a file, side by side.

use skillwire_core::SkillResource;
use skillwire_trust::{ListedSkill, Refusal};

use super::Host;

/// The result of comparing two versions of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileComparison {
    /// Both versions are text.
    Texts {
        /// The approved version.
        approved: String,
        /// The listed version.
        listed: String,
    },
    /// One of them is larger than the caller wants to compare.
    TooLarge,
    /// One of them is not text.
    NotText,
    /// The approved version was never loaded here, or is no longer cached.
    NotCached,
    /// The listed version could not be read.
    Refused(Refusal),
}

impl Host {
    /// Fetches both versions of a changed file: the approved one from the cache, the listed one
    /// from its origin.
    #[tracing::instrument(skip_all, fields(skill = %skill.id(), file = %listed.uri))]
    pub async fn compare_versions(
        &self,
        skill: &ListedSkill,
        approved: &SkillResource,
        listed: &SkillResource,
        max_bytes: u64,
    ) -> FileComparison {
        if approved.size.max(listed.size) > max_bytes {
            return FileComparison::TooLarge;
        }
        let Some(before) = self.inspect_cached(skill.id(), approved) else {
            return FileComparison::NotCached;
        };
        let now = match self.inspect(skill, listed.uri.as_str()).await {
            Ok(inspected) => inspected,
            Err(refusal) => return FileComparison::Refused(refusal),
        };
        match (text_of(&before.bytes), text_of(&now.bytes)) {
            (Some(approved), Some(listed)) => FileComparison::Texts { approved, listed },
            _ => FileComparison::NotText,
        }
    }
}

/// Returns the bytes as text; bytes with a NUL do not count as text.
fn text_of(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(str::to_owned)
}
