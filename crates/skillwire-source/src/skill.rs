//! A skill that has been read, checked and hashed.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_core::{
    digest::Digest,
    entry::{Resources, SkillEntry, SkillResource},
    frontmatter::Frontmatter,
    path::{RelPath, SkillPath},
    uri::SkillUri,
};

use crate::generated::Generator;

/// A skill ready to be served: every byte of it comes from one reading.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Where the skill stands in the server's namespace.
    pub path: SkillPath,
    /// The URI of its `SKILL.md`.
    pub uri: SkillUri,
    /// What its author declared.
    pub frontmatter: Frontmatter,
    /// What is in it.
    pub content: Content,
    /// Where it was found, in words the operator knows; never sent to a client.
    pub origin: String,
}

/// What is in a skill.
#[derive(Debug, Clone)]
pub enum Content {
    /// Files with stable bytes.
    Files(FileTree),
    /// Files made on request.
    Generated(Arc<dyn Generator>),
}

/// The complete content of a skill's directory.
#[derive(Debug, Clone, Default)]
pub struct FileTree {
    /// Every file, in path order.
    pub files: Vec<FileRecord>,
    /// Every subdirectory, in path order, empty ones included.
    pub directories: Vec<RelPath>,
}

/// One file: the bytes that were read once, and what was computed from exactly those bytes.
#[derive(Debug, Clone)]
pub struct FileRecord {
    /// Where the file is, relative to the skill's root.
    pub path: RelPath,
    /// SHA-256 of `bytes`.
    pub digest: Digest,
    /// The media type that fits `bytes`.
    pub media_type: &'static str,
    /// The content.
    pub bytes: Bytes,
}

impl FileRecord {
    /// Hashes bytes and names their type.
    pub fn new(path: RelPath, bytes: Bytes) -> Self {
        let media_type = skillwire_core::media_type::of(path.file_name(), &bytes);
        Self { digest: Digest::of(&bytes), media_type, path, bytes }
    }

    /// The number of bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl Skill {
    /// The entry that `skills/list` and `skills/get` carry.
    pub fn entry(&self) -> SkillEntry {
        let resources = match &self.content {
            Content::Generated(_) => Resources::Dynamic,
            Content::Files(tree) => {
                let mut listed: Vec<_> = tree
                    .files
                    .iter()
                    .map(|file| SkillResource {
                        uri: self.uri.root().child(&file.path),
                        digest: file.digest,
                        size: file.size(),
                    })
                    .collect();
                listed.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
                Resources::Listed(listed)
            }
        };
        SkillEntry { uri: self.uri.clone(), frontmatter: self.frontmatter.clone(), resources }
    }

    /// Tells whether the manifest lists the `SKILL.md` of a skill below this one.
    pub(crate) fn lists(&self, nested: &Self) -> bool {
        match &self.content {
            Content::Generated(_) => false,
            Content::Files(tree) => tree
                .files
                .iter()
                .any(|file| self.uri.root().child(&file.path) == *nested.uri.file()),
        }
    }
}
