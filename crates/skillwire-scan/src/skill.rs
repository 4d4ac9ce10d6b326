//! The files of a skill, as a scan takes them.

use bytes::Bytes;

use crate::UnseenReason;

/// A skill to scan: its files, with their bytes where these were read.
///
/// The scan knows no folder and no server. A caller that has not read a file says so, and the report
/// says it, too.
#[derive(Debug, Clone, Default)]
pub struct SkillFiles {
    pub(crate) files: Vec<SkillFile>,
}

#[derive(Debug, Clone)]
pub(crate) struct SkillFile {
    /// The path relative to the skill.
    pub(crate) path: String,
    pub(crate) content: FileContent,
}

#[derive(Debug, Clone)]
pub(crate) enum FileContent {
    Read(Bytes),
    Unread { size: Option<u64>, reason: UnseenReason },
}

impl SkillFiles {
    /// A skill without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file that was read.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        self.add(path, bytes);
        self
    }

    /// Adds a file that was read.
    pub fn add(&mut self, path: impl Into<String>, bytes: impl Into<Bytes>) {
        let content = FileContent::Read(bytes.into());
        self.files.push(SkillFile { path: path.into(), content });
    }

    /// Adds a file whose bytes are not there.
    pub fn add_unread(&mut self, path: impl Into<String>, size: Option<u64>, reason: UnseenReason) {
        let content = FileContent::Unread { size, reason };
        self.files.push(SkillFile { path: path.into(), content });
    }

    /// The paths and bytes of the files that were read.
    pub fn read(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.files.iter().filter_map(|file| match &file.content {
            FileContent::Read(bytes) => Some((file.path.as_str(), bytes)),
            FileContent::Unread { .. } => None,
        })
    }

    /// Tells whether every file was read.
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| matches!(file.content, FileContent::Read(_)))
    }

    /// Tells whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
