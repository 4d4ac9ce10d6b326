//! The reasons why a document or one of its entries cannot be used.

use std::{borrow::Cow, fmt};

use skillwire_core::{
    SkillUri,
    received::{EntryFault, EntryProblem},
};

/// A document or an answer that is not what its format says; reads on from "found".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidDocument(Cow<'static, str>);

impl InvalidDocument {
    pub(crate) fn new(found: impl Into<Cow<'static, str>>) -> Self {
        Self(found.into())
    }
}

impl From<&'static str> for InvalidDocument {
    fn from(found: &'static str) -> Self {
        Self(found.into())
    }
}

impl From<serde_json::Error> for InvalidDocument {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string().into())
    }
}

/// The rule that an entry breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBecause {
    /// It breaks a rule that the released extension has as well.
    Entry(EntryProblem),
    /// It names an address that the reader must not ask for.
    AddressForbidden,
    /// Its digest is not the one of the files it lists.
    DigestMismatch,
}

impl From<EntryProblem> for RefusedBecause {
    fn from(problem: EntryProblem) -> Self {
        Self::Entry(problem)
    }
}

/// An entry that cannot be used. Every other entry of its document still can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RefusedEntry {
    /// The rule that it breaks.
    pub because: RefusedBecause,
    /// The skill it is about, where the entry says that much.
    pub skill: Option<SkillUri>,
    /// The file or address it is about, as the entry writes it.
    pub file: Option<Box<str>>,
    /// What the format demands.
    pub expected: Option<Box<str>>,
    /// What the entry says instead.
    pub actual: Option<Box<str>>,
}

impl RefusedEntry {
    pub(crate) fn new(because: impl Into<RefusedBecause>) -> Self {
        Self { because: because.into(), skill: None, file: None, expected: None, actual: None }
    }

    pub(crate) fn file(self, file: impl fmt::Display) -> Self {
        Self { file: Some(file.to_string().into()), ..self }
    }

    pub(crate) fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into().into()), ..self }
    }

    pub(crate) fn actual(self, actual: impl Into<String>) -> Self {
        Self { actual: Some(actual.into().into()), ..self }
    }

    pub(crate) fn of_fault(skill: Option<SkillUri>, fault: EntryFault) -> Self {
        let EntryFault { problem, file, expected, actual } = fault;
        Self {
            because: problem.into(),
            skill,
            file: file.map(Into::into),
            expected: Some(expected.into()),
            actual: Some(actual.into()),
        }
    }

    /// The broken rule in a sentence without its full stop.
    fn rule(&self) -> &'static str {
        match self.because {
            RefusedBecause::Entry(problem) => match problem {
                EntryProblem::Malformed => "An entry does not have the required shape",
                EntryProblem::Uri => "A URI is not one of a `SKILL.md` in normal form",
                EntryProblem::Frontmatter => "The frontmatter breaks the skill format",
                EntryProblem::Name => "A name breaks the naming rules",
                EntryProblem::NameMismatch => "A name is not the last segment of its path",
                EntryProblem::Resources => "The list of files does not have the required shape",
                EntryProblem::SkillFileNotListed => "The list of files leaves out `SKILL.md`",
                EntryProblem::Duplicate => "A file is listed twice",
                EntryProblem::Outside => "A file lies outside its skill",
                EntryProblem::Digest => "A digest is not `sha256:` and 64 hexadecimal digits",
                EntryProblem::Size => "A size is not a whole number of bytes",
                EntryProblem::TooManyFiles => "A skill has too many files",
                EntryProblem::TooLarge => "A skill is too large",
            },
            RefusedBecause::AddressForbidden => "An address is not one that may be asked for",
            RefusedBecause::DigestMismatch => "A digest is not the one of the files",
        }
    }
}

impl fmt::Display for RefusedEntry {
    /// Writes one sentence without its full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule())?;
        if let Some(file) = &self.file {
            write!(f, ": `{file}`")?;
        }
        match (&self.expected, &self.actual) {
            (Some(expected), Some(actual)) => write!(f, " (expected {expected}, found {actual})"),
            (Some(expected), None) => write!(f, " (expected {expected})"),
            (None, Some(actual)) => write!(f, " (found {actual})"),
            (None, None) => Ok(()),
        }
    }
}
