//! Where a skill comes from, and the identity that follows from it.

use std::fmt;

use serde::Serialize;
use skillwire_core::SkillUri;

use crate::label::ServerLabel;

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A folder of the user.
    Local,
    /// A folder of the current project.
    Project,
    /// An MCP server.
    Server(ServerLabel),
}

impl Origin {
    /// Returns the label, as used in handles, paths and prompts.
    pub fn label(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::Server(label) => label.as_str(),
        }
    }

    /// Parses the label of any origin.
    pub fn parse(text: &str) -> Result<Self, crate::label::InvalidLabel> {
        match text {
            "local" => Ok(Self::Local),
            "project" => Ok(Self::Project),
            _ => ServerLabel::parse(text).map(Self::Server),
        }
    }

    /// Returns the label of the server, unless this is a folder.
    pub fn server(&self) -> Option<&ServerLabel> {
        match self {
            Self::Server(label) => Some(label),
            Self::Local | Self::Project => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// Identifies a skill: its origin and its URI there, never the URI alone. Two servers may use the
/// same URI for different skills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SkillId {
    /// Where it comes from.
    pub origin: Origin,
    /// Its URI at that origin.
    pub uri: SkillUri,
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin, self.uri)
    }
}
