//! A skill that waits, as the view shows it.

use std::collections::BTreeMap;

use crate::text::StyledLine;

/// The number by which the program knows a skill.
pub type SkillNumber = usize;

/// Why a skill waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingKind {
    /// The user has not decided about it.
    New,
    /// Its content is not what the user approved.
    Changed,
    /// It changed, and asks for more than what the user approved asked for.
    Widened,
}

impl WaitingKind {
    /// Returns the word for listings.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Widened => "widened",
        }
    }
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Its path in the skill.
    pub path: String,
    /// Its size in words.
    pub size: String,
}

/// What is known of a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileText {
    /// The program reads it.
    Reading,
    /// It was read.
    Read(Vec<StyledLine>),
    /// It could not be read, for this reason.
    Failed(Vec<StyledLine>),
}

/// A skill that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingSkill {
    /// The number by which the program knows it.
    pub number: SkillNumber,
    /// The handle that names it.
    pub handle: String,
    /// The label of its server.
    pub server: String,
    /// Why it waits.
    pub kind: WaitingKind,
    /// What it says that it does.
    pub description: String,
    /// How many files it has, and how large they are.
    pub size: String,
    /// The tools that it asks for.
    pub tools: Vec<String>,
    /// How many findings the scanner has about what was read.
    pub findings: usize,
    /// Its files, as far as they are listed.
    pub files: Vec<FileRow>,
    /// Whether it has digests, so that an approval can last.
    pub can_last: bool,
    /// Whether its `SKILL.md` has to be read before anything can be decided, as its server lists
    /// nothing to decide about.
    pub is_unread: bool,
    /// What is known about it besides its text.
    pub evidence: Vec<StyledLine>,
    /// How it differs from what was approved; nothing for a new skill.
    pub changes: Vec<StyledLine>,
    /// Whether changed files are compared line by line in `changes`.
    pub is_compared: bool,
    /// The files that were asked for.
    pub texts: BTreeMap<String, FileText>,
}

impl WaitingSkill {
    /// Returns the handle without the label of the server, under which the list has it.
    pub fn name(&self) -> &str {
        let rest = self.handle.strip_prefix(self.server.as_str());
        rest.and_then(|rest| rest.strip_prefix(':')).unwrap_or(&self.handle)
    }

    /// Tells whether every word of a search is in the handle, the description or the reason.
    pub(super) fn is_found(&self, search: &str) -> bool {
        let text = format!("{} {} {}", self.handle, self.kind.word(), self.description);
        let text = text.to_lowercase();
        search.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }

    /// Tells whether the text of its `SKILL.md` was shown.
    pub(super) fn is_read(&self, skill_file: &str) -> bool {
        matches!(self.texts.get(skill_file), Some(FileText::Read(_)))
    }
}
