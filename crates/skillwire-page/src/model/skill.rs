//! One skill: its text, files, facts and evidence.

use bytes::Bytes;

use super::{EvidenceView, SkillKey, SkillState};

/// Everything that the page shows about one skill.
#[derive(Debug, Clone)]
pub struct SkillView {
    /// The skill.
    pub key: SkillKey,
    /// Its name.
    pub name: String,
    /// What it says that it does.
    pub description: String,
    /// Where it comes from, in words.
    pub origin: String,
    /// Its state.
    pub state: SkillState,
    /// Where it came from and what identifies it.
    pub facts: Vec<FactRow>,
    /// The author's own fields, as they were written.
    pub frontmatter: Vec<FactRow>,
    /// The tools that it asks for, and whether each is granted; `None` while its `SKILL.md` was not read.
    pub tools: Option<Vec<(String, bool)>>,
    /// What the approval allows, one sentence or line for each thing.
    pub grants: Vec<String>,
    /// Its `SKILL.md`.
    pub text: SkillText,
    /// Its files; `None` if its origin does not list them.
    pub files: Option<Vec<FileRow>>,
    /// What a scan found.
    pub evidence: EvidenceView,
    /// What is known about its signature, as sentences: none if the reader has no rules about signers.
    /// `None` where such rules do not exist, so that nothing is said.
    pub signature: Option<Vec<(super::Tone, String)>>,
    /// Its other versions, newest first.
    pub versions: Vec<VersionRow>,
    /// Whether there is a difference to look at.
    pub has_diff: bool,
    /// Whether the reader can decide about it.
    pub can_review: bool,
    /// What else the reader can do.
    pub acts: Vec<SkillAct>,
    /// How a client gets the skill.
    pub install: Vec<InstallLine>,
}

impl SkillView {
    /// Makes a view with nothing but a name, for a provider to fill.
    pub fn new(key: SkillKey, name: impl Into<String>, state: SkillState) -> Self {
        Self {
            key,
            name: name.into(),
            description: String::new(),
            origin: String::new(),
            state,
            facts: Vec::new(),
            frontmatter: Vec::new(),
            tools: None,
            grants: Vec::new(),
            text: SkillText::NotRead,
            files: None,
            evidence: EvidenceView::default(),
            signature: None,
            versions: Vec::new(),
            has_diff: false,
            can_review: false,
            acts: Vec::new(),
            install: Vec::new(),
        }
    }

    /// Returns how many listed files were not read, and how many bytes they have.
    pub fn unread(&self) -> (usize, u64) {
        let files = self.files.iter().flatten().filter(|file| !file.is_read);
        files.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.size.unwrap_or(0)))
    }
}

/// A name and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRow {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
    /// Whether the value is an identifier, to be copied and compared.
    pub is_code: bool,
}

impl FactRow {
    /// A fact in words.
    pub fn words(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), is_code: false }
    }

    /// A fact that is an identifier.
    pub fn code(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), is_code: true }
    }
}

/// The text of a file, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillText {
    /// It was read, and is what its origin lists.
    Read(String),
    /// It was read, and is not text.
    NotText,
    /// It was not read yet, and nothing is fetched to show a page.
    NotRead,
    /// It could not be read, for this reason.
    Failed(String),
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Its path in the skill.
    pub path: String,
    /// Its size, if that is known.
    pub size: Option<u64>,
    /// What kind of file it is, as far as its name and bytes tell.
    pub media_type: String,
    /// Whether its bytes are on this machine.
    pub is_read: bool,
}

/// One file, to be looked at.
#[derive(Debug, Clone)]
pub struct FileView {
    /// The skill.
    pub key: SkillKey,
    /// The name of the skill.
    pub skill: String,
    /// The file.
    pub file: FileRow,
    /// Its SHA-256 digest, if it is listed.
    pub digest: Option<String>,
    /// What it holds.
    pub content: FileContent,
}

/// What a file holds, as far as a page shows it.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// Text.
    Text(String),
    /// An image of a kind that cannot hold a script.
    Image,
    /// Neither.
    Other,
    /// It was not read yet.
    NotRead,
    /// It could not be read, for this reason.
    Failed(String),
}

/// The bytes of an image.
#[derive(Debug, Clone)]
pub struct Image {
    /// The media type, from the bytes.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Bytes,
}

impl Image {
    /// The kinds of images that browsers draw and that hold no script.
    const KINDS: [&'static str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

    /// Takes bytes for an image if they begin like one of a harmless kind, whatever their name says.
    pub fn of(bytes: &Bytes) -> Option<Self> {
        let found = skillwire_core::media_type::of("", bytes);
        let media_type = Self::KINDS.into_iter().find(|kind| *kind == found)?;
        Some(Self { media_type, bytes: bytes.clone() })
    }
}

/// A version of a skill.
#[derive(Debug, Clone)]
pub struct VersionRow {
    /// The version.
    pub key: SkillKey,
    /// Its number.
    pub number: String,
    /// Its state.
    pub state: SkillState,
    /// When it was published.
    pub at: String,
    /// Who published it.
    pub by: String,
    /// Whether it is the one that is shown.
    pub is_shown: bool,
}

/// Something that a reader can do with a skill beside deciding about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillAct {
    /// Read the files that were not read yet.
    ReadFiles,
    /// Ask the server for the skill as it is now.
    Refresh,
    /// Withdraw the approval.
    Revoke,
    /// Stop showing and loading it.
    Disable,
    /// Show and load it again.
    Enable,
}

/// A line to copy.
#[derive(Debug, Clone)]
pub struct InstallLine {
    /// What it is for.
    pub label: String,
    /// The line.
    pub line: String,
}
