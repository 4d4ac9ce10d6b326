//! Which bytes a scan looked at, and which it did not.

use serde::{Deserialize, Serialize};

/// What a scan looked at. A scan is never silently partial: what is not in `unseen` was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScanCoverage {
    /// How many files were looked at.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// What was not looked at, or not wholly.
    pub unseen: Vec<Unseen>,
}

/// Bytes that the scan did not look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The file, relative to the skill.
    pub file: String,
    /// How many bytes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why.
    pub reason: UnseenReason,
}

/// Why bytes were not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenReason {
    /// It is neither text nor a known kind of image; its bytes mean nothing to the rules.
    Binary,
    /// It is a program or library in machine code or byte code.
    Compiled,
    /// It is an archive of a kind that is not unpacked, or lies too deep in other archives.
    Archive,
    /// It is in an archive that has a password.
    Encrypted,
    /// It is the data of a version control system, such as `.git`.
    Repository,
    /// It has more bytes than a scan reads.
    TooLarge,
    /// It is a link to another file.
    Link,
    /// The host has not read it, and a scan fetches nothing.
    NotFetched,
    /// It could not be read.
    Unreadable,
    /// Text inside it was encoded more often than the scan decodes, or decoded to too much.
    TooDeep,
    /// It is a document or code that is too long for its parser: its text was searched, and its
    /// structure and its data were not followed to the end.
    NotParsed,
    /// It is code with too many mistakes for its parser: its text was searched, and its data was only
    /// followed in the code before them.
    ManyMistakes,
    /// It is code in a language without a parser: its text was searched, and its data was not followed.
    NoParser,
    /// One rule matches so often that not every place was judged.
    TooMany,
}

impl UnseenReason {
    /// The words for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary data",
            Self::Compiled => "compiled code",
            Self::Archive => "an archive, which was not unpacked",
            Self::Encrypted => "encrypted with a password",
            Self::Repository => "data of a version control system",
            Self::TooLarge => "too large",
            Self::Link => "a link, which was not followed",
            Self::NotFetched => "not fetched yet",
            Self::Unreadable => "cannot be read",
            Self::TooDeep => "encoded too often",
            Self::NotParsed => "too long to be parsed to the end; its text was searched",
            Self::ManyMistakes => {
                "too many mistakes to be parsed to the end; its text was searched"
            }
            Self::NoParser => "a language without a parser; its text was searched",
            Self::TooMany => "too many matches of one rule; the first ones were judged",
        }
    }
}

impl UnseenReason {
    /// Tells whether the text was searched, and only more than that was not done.
    pub fn is_partial(self) -> bool {
        matches!(self, Self::NotParsed | Self::ManyMistakes | Self::NoParser | Self::TooMany)
    }
}

impl ScanCoverage {
    pub(crate) fn miss(&mut self, file: &str, bytes: Option<u64>, reason: UnseenReason) {
        let known = |unseen: &Unseen| unseen.file == file && unseen.reason == reason;
        if !self.unseen.iter().any(known) {
            self.unseen.push(Unseen { file: file.to_owned(), bytes, reason });
        }
    }
}
