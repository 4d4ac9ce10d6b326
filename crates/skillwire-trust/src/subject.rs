//! What a refusal is about.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{
    handle::Handle,
    label::ServerLabel,
    origin::{Origin, SkillId},
};

/// What a refusal is about. Printed and serialised, it is the text that users know it by.
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
    /// A window on a loaded skill, by the word that the model knows it by.
    Window(Box<str>),
    /// Something that is none of these, as the caller or a server wrote it.
    Named(Box<str>),
}

impl Subject {
    /// A tool that a model called.
    pub fn tool(name: impl Into<Box<str>>) -> Self {
        Self::Tool(name.into())
    }

    /// A window, by the word that the model knows it by.
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
