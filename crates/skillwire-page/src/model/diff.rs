//! What differs between two versions of a skill.

use skillwire_core::LineChange;

use super::{FindingRow, ReachRow, SkillKey};

/// The difference between two versions.
#[derive(Debug, Clone)]
pub struct DiffView {
    /// The newer version.
    pub key: SkillKey,
    /// The name of the skill.
    pub name: String,
    /// What the older version is, in words.
    pub before: String,
    /// What the newer version is, in words.
    pub after: String,
    /// Fields of the frontmatter that differ.
    pub fields: Vec<FieldChange>,
    /// Files that differ, by path.
    pub files: Vec<FileChange>,
    /// What only the newer version reaches out to.
    pub reach_added: Vec<ReachRow>,
    /// What only the older version reached out to.
    pub reach_removed: Vec<ReachRow>,
    /// Findings that only the newer version has.
    pub findings: Vec<FindingRow>,
    /// How many changed files of the newer version were not read.
    pub unread: usize,
}

/// A field of the frontmatter that differs.
#[derive(Debug, Clone)]
pub struct FieldChange {
    /// The field.
    pub name: String,
    /// Its value before; `None` if it was not there.
    pub before: Option<String>,
    /// Its value now; `None` if it is gone.
    pub after: Option<String>,
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Only the newer version has it.
    Added,
    /// Only the older version has it.
    Removed,
    /// Both have it, with other bytes.
    Changed,
}

/// A file that differs.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// How it differs.
    pub kind: ChangeKind,
    /// Its size before.
    pub before: Option<u64>,
    /// Its size now.
    pub after: Option<u64>,
    /// What differs in its text.
    pub lines: FileLines,
}

/// The compared text of a file, or why it is not there.
#[derive(Debug, Clone)]
pub enum FileLines {
    /// What differs.
    Hunks(Vec<Hunk>),
    /// One of the two is not text.
    NotText,
    /// One of the two is too large to be compared.
    TooLarge,
    /// The newer version was not read yet.
    NotRead,
    /// The older version is no longer on this machine.
    NotKept,
    /// Too much differs to show everything on one page; the file has a page of its own.
    LeftOut,
}

/// Changed lines that stand close together.
#[derive(Debug, Clone)]
pub struct Hunk {
    /// The first line of the older version, counted from one.
    pub old_start: usize,
    /// The first line of the newer version, counted from one.
    pub new_start: usize,
    /// The lines.
    pub lines: Vec<HunkLine>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct HunkLine {
    /// The versions that have it.
    pub change: LineChange,
    /// Its text.
    pub text: String,
}
