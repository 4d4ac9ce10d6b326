//! Bytes that match the entry that the host holds. Nothing else in this crate creates them.

use bytes::Bytes;
use skillwire_core::{
    Digest, Frontmatter, ResourceUri, SkillResource, frontmatter_differences, skill_file,
};

use crate::{
    origin::SkillId,
    refusal::{Reason, Refusal},
    remedy::Remedy,
};

/// Bytes of one file that have the size and digest its entry lists.
///
/// This means that they are what the server listed, not that they can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFile {
    skill: SkillId,
    file: SkillResource,
    bytes: Bytes,
}

impl VerifiedFile {
    /// Compares bytes with the size and digest that the entry lists.
    pub fn check(skill: &SkillId, file: &SkillResource, bytes: Bytes) -> Result<Self, Refusal> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size != file.size {
            return Err(Refusal::new(Reason::SizeMismatch)
                .about(skill)
                .file(&file.uri)
                .expected(format!("{} bytes", file.size))
                .actual(format!("{size} bytes"))
                .hint(TEXT_CHANGED));
        }
        let digest = Digest::of(&bytes);
        if digest != file.digest {
            return Err(Refusal::new(Reason::DigestMismatch)
                .about(skill)
                .file(&file.uri)
                .expected(file.digest)
                .actual(digest)
                .hint(TEXT_CHANGED));
        }
        Ok(Self { skill: skill.clone(), file: file.clone(), bytes })
    }

    /// Returns the skill that the file belongs to.
    pub fn skill(&self) -> &SkillId {
        &self.skill
    }

    /// Returns the URI of the file.
    pub fn uri(&self) -> &ResourceUri {
        &self.file.uri
    }

    /// Returns what the entry lists about the file.
    pub fn listed(&self) -> &SkillResource {
        &self.file
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// The most frequent innocent cause of a mismatch.
const TEXT_CHANGED: &str =
    "The file changed, or the server alters text on its way (line ends, byte order mark).";

/// Compares the frontmatter in a `SKILL.md` with the one its entry lists, field by field.
pub fn check_frontmatter(
    skill: &SkillId,
    listed: &Frontmatter,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let refuse = |reason| Refusal::new(reason).about(skill).file(skill.uri.file());
    let (parsed, findings) = skill_file::check(bytes);
    let Some(parsed) = parsed else {
        let actual = findings.first().map_or("unreadable frontmatter", |f| f.message.as_str());
        return Err(refuse(Reason::FrontmatterUnreadable)
            .expected("frontmatter as the skill format defines it")
            .actual(actual)
            .remedy(Remedy::CheckSkill));
    };
    let Some(first) = frontmatter_differences(listed, &parsed.frontmatter).into_iter().next()
    else {
        return Ok(());
    };
    let shown = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"))
    };
    let refusal = refuse(Reason::FrontmatterMismatch)
        .expected(format!("{} at `{}`, as listed", shown(&first.before), first.pointer))
        .actual(shown(&first.after));
    Err(match first.cause() {
        Some(cause) => refusal.hint(cause),
        None => refusal,
    })
}
