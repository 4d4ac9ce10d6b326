//! Findings: the problems of a skill as data, with reason code, file, place, reason and repair.

use serde::Serialize;

pub(crate) use crate::code::{Code, Level, Strictness};
use crate::{
    excerpt::Excerpt,
    repair::Repair,
    span::{Position, Span},
};

/// A setting of the server's operator that would let the file of a finding pass.
///
/// Programs word it for their users: one has options, another a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exemption {
    /// Files of this name or path hold no secret, whatever they look like.
    SecretFile(String),
    /// Symbolic links may lead out of the folder and its repository.
    FollowLinks,
    /// Files may have several hard links.
    HardLinks,
    /// Nothing is remembered for the next start.
    NoIndex,
}

/// One thing that is wrong, or worth knowing, about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The reason, as a stable code.
    pub code: Code,
    /// How serious it is.
    pub level: Level,
    /// The file, relative to the skill while the core works on it; a source makes it the path
    /// the user knows.
    pub file: String,
    /// Line and column, when the finding points into a text file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Line and column just past the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Position>,
    /// The bytes the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The lines the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do about it, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The one safe repair, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// The setting that would let the file pass, when there is one.
    #[serde(skip)]
    pub exemption: Option<Exemption>,
}

impl Finding {
    /// Makes a finding about a whole file, at the code's usual level.
    pub fn new(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            level: code.level(),
            file: file.into(),
            position: None,
            end: None,
            span: None,
            excerpt: None,
            message: message.into(),
            help: None,
            repair: None,
            exemption: None,
        }
    }

    /// Adds what the reader should do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the one safe repair.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        self
    }

    /// Names the setting that would let the file pass.
    #[must_use]
    pub fn exempt_by(mut self, exemption: Exemption) -> Self {
        self.exemption = Some(exemption);
        self
    }

    /// Points at bytes of `text`, the content of the finding's file.
    #[must_use]
    pub fn at(mut self, text: &[u8], span: Span) -> Self {
        self.position = Some(Position::of(text, span.start));
        self.end = Some(Position::of(text, span.end));
        self.span = Some(span);
        self.excerpt = Some(Excerpt::of(text, span));
        self
    }

    /// Tells whether the finding keeps its skill from being served.
    pub fn skips(&self, strictness: Strictness) -> bool {
        self.code.effect().skips(strictness)
    }
}
