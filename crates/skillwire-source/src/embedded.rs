//! Skills that are compiled into a program.

use bytes::Bytes;
use skillwire_core::{InvalidPath, RelPath, SkillPath};

use crate::memory::{FilesClash, MemorySource};

/// One skill with all its files, compiled into the program.
///
/// `embed_skills!` makes these of a folder; one can also be written by hand with `include_bytes!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedSkill {
    /// Where it is served, such as `acme/billing/refunds`.
    pub path: &'static str,
    /// Each file: its path within the skill, and its bytes.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// An embedded skill that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEmbedded {
    /// A path is not valid for a skill or for a file in it.
    #[error("The path `{0}` {1}.")]
    Path(&'static str, InvalidPath),
    /// The files cannot be in one directory together.
    #[error(transparent)]
    Files(#[from] FilesClash),
}

impl MemorySource {
    /// Adds a skill that is compiled into the program; its bytes are not copied.
    pub fn add_embedded(&mut self, skill: &EmbeddedSkill) -> Result<(), InvalidEmbedded> {
        let at = |path: &'static str| move |error| InvalidEmbedded::Path(path, error);
        let path = SkillPath::parse(skill.path).map_err(at(skill.path))?;
        let files = skill.files.iter().map(|&(path, bytes)| {
            let file = RelPath::parse(path).map_err(at(path))?;
            Ok((file, Bytes::from_static(bytes)))
        });
        let files = files.collect::<Result<Vec<_>, InvalidEmbedded>>()?;
        Ok(self.add(&path, files)?)
    }
}
