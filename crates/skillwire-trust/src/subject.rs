//! The subject of a refusal.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{
    handle::Handle,
    label::ServerLabel,
    origin::{Origin, SkillId},
};

/// The subject of a refusal. Its printed and serialised form is the text by which users know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A skill.
    Skill(SkillId),
    /// A server, or the folders of this machine.
    Origin(Origin),
    /// A skill, as the caller named it.
    Handle(Handle),
    /// A tool that a model called.
    Tool(Box<str>),
    /// A window on a loaded skill, by the id that the model knows.
    Window(Box<str>),
    /// Anything else, as the caller or a server wrote it.
    Named(Box<str>),
}

impl Subject {
    /// Creates the subject for a tool that a model called.
    pub fn tool(name: impl Into<Box<str>>) -> Self {
        Self::Tool(name.into())
    }

    /// Returns the word for what the subject is, as it begins a sentence about it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Origin(Origin::Server(_)) => "Server",
            Self::Origin(_) => "Folders",
            Self::Tool(_) => "Tool",
            Self::Window(_) => "Window",
            Self::Skill(_) | Self::Handle(_) | Self::Named(_) => "Skill",
        }
    }

    /// Creates the subject for a window, by the id that the model knows.
    pub fn window(word: impl Into<Box<str>>) -> Self {
        Self::Window(word.into())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skill(id) => id.fmt(f),
            Self::Origin(origin) => origin.fmt(f),
            Self::Handle(handle) => handle.fmt(f),
            Self::Tool(text) | Self::Window(text) | Self::Named(text) => f.write_str(text),
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<SkillId> for Subject {
    fn from(id: SkillId) -> Self {
        Self::Skill(id)
    }
}

impl From<&SkillId> for Subject {
    fn from(id: &SkillId) -> Self {
        Self::Skill(id.clone())
    }
}

impl From<Origin> for Subject {
    fn from(origin: Origin) -> Self {
        Self::Origin(origin)
    }
}

impl From<&Origin> for Subject {
    fn from(origin: &Origin) -> Self {
        Self::Origin(origin.clone())
    }
}

impl From<&ServerLabel> for Subject {
    fn from(label: &ServerLabel) -> Self {
        Self::Origin(Origin::Server(label.clone()))
    }
}

impl From<&Handle> for Subject {
    fn from(handle: &Handle) -> Self {
        Self::Handle(handle.clone())
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        Self::Named(text.into())
    }
}

impl From<String> for Subject {
    fn from(text: String) -> Self {
        Self::Named(text.into())
    }
}
