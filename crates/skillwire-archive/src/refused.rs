//! The reasons why [`unpack`](crate::unpack()) refuses an archive.

use std::{error::Error, fmt, sync::Arc};

/// The reason why an archive is refused; each has a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveReason {
    /// It is neither a gzipped tar file nor a ZIP file, or uses a feature that this crate does not
    /// read.
    Format,
    /// It is cut off or damaged, or has bytes after its end.
    Broken,
    /// A path is absolute, leaves the skill, or means something else on some system.
    Path,
    /// A link leads out, to nothing, to a directory or in a circle, is a hard link, or stands in
    /// the way of a file.
    Link,
    /// An entry is neither a file, nor a directory, nor a link.
    Special,
    /// Two entries have the same name, or names that some disks treat as the same.
    Twins,
    /// The files are too large together.
    TooLarge,
    /// There are too many entries.
    TooMany,
    /// A path is too long or too deep.
    TooDeep,
    /// It expands to more bytes per packed byte than the limits allow, as a decompression bomb
    /// does.
    Ratio,
    /// There is no `SKILL.md` at the root.
    NoSkillFile,
}

impl ArchiveReason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::Format,
        Self::Broken,
        Self::Path,
        Self::Link,
        Self::Special,
        Self::Twins,
        Self::TooLarge,
        Self::TooMany,
        Self::TooDeep,
        Self::Ratio,
        Self::NoSkillFile,
    ];

    /// Returns the stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Format => "archive_format",
            Self::Broken => "archive_broken",
            Self::Path => "archive_path",
            Self::Link => "archive_link",
            Self::Special => "archive_special",
            Self::Twins => "archive_twins",
            Self::TooLarge => "archive_too_large",
            Self::TooMany => "archive_too_many",
            Self::TooDeep => "archive_too_deep",
            Self::Ratio => "archive_ratio",
            Self::NoSkillFile => "archive_no_skill_file",
        }
    }
}

/// A refused archive: the reason, the entry, and what is wrong with it.
#[derive(Debug, Clone, thiserror::Error)]
pub struct RefusedArchive {
    reason: ArchiveReason,
    entry: Option<Box<str>>,
    detail: Box<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// Two of them are equal if they say the same.
impl PartialEq for RefusedArchive {
    fn eq(&self, other: &Self) -> bool {
        (self.reason, &self.entry, &self.detail) == (other.reason, &other.entry, &other.detail)
    }
}

impl Eq for RefusedArchive {}

impl RefusedArchive {
    pub(crate) fn new(reason: ArchiveReason, detail: impl Into<Box<str>>) -> Self {
        Self { reason, entry: None, detail: detail.into(), source: None }
    }

    /// Refuses an archive, or an entry of it, that cannot be read.
    pub(crate) fn unreadable(
        reason: ArchiveReason,
        error: impl Error + Send + Sync + 'static,
    ) -> Self {
        let detail = format!("it cannot be read: {error}");
        Self { source: Some(Arc::new(error)), ..Self::new(reason, detail) }
    }

    pub(crate) fn entry(self, entry: impl Into<Box<str>>) -> Self {
        Self { entry: Some(entry.into()), ..self }
    }

    /// Returns the reason why the archive is refused.
    pub fn reason(&self) -> ArchiveReason {
        self.reason
    }

    /// Returns the entry that breaks a rule, as the archive names it.
    pub fn entry_name(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Returns a clause that says what is wrong.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for RefusedArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "`{}`: {}", entry.escape_debug(), self.detail),
            None => f.write_str(&self.detail),
        }
    }
}
