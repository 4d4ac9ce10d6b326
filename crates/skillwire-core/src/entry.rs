//! The entry of a skill, exactly as `skills/list` and `skills/get` carry it.

use serde::{Serialize, Serializer, ser::SerializeSeq};

use crate::{
    digest::Digest,
    frontmatter::Frontmatter,
    uri::{ResourceUri, SkillUri},
};

/// One file of a skill, with the digest and size of its raw bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillResource {
    /// The URI under which a client reads the file.
    pub uri: ResourceUri,
    /// SHA-256 of the raw bytes.
    pub digest: Digest,
    /// Number of raw bytes.
    pub size: u64,
}

/// The files of a skill, or the statement that they are generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resources {
    /// Every file, each once, in URI order.
    Listed(Vec<SkillResource>),
    /// Content without stable digests.
    Dynamic,
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(files) => {
                let mut seq = serializer.serialize_seq(Some(files.len()))?;
                files.iter().try_for_each(|file| seq.serialize_element(file))?;
                seq.end()
            }
            Self::Dynamic => serializer.serialize_str("dynamic"),
        }
    }
}

/// The entry of one skill in a server's listing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillEntry {
    /// URI of `SKILL.md`.
    pub uri: SkillUri,
    /// The author's frontmatter, verbatim.
    pub frontmatter: Frontmatter,
    /// The complete manifest, or `"dynamic"`.
    pub resources: Resources,
}
