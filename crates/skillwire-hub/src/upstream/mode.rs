//! How the skills of an upstream are passed on.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How the skills of an upstream are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamMode {
    /// As the upstream lists them. Files are fetched when a client reads them.
    Passthrough,
    /// The same, and what is new is recorded.
    Observe,
    /// Only while the upstream offers exactly what a reviewer approved.
    Admit,
    /// What a reviewer approved last, from the hub's own store, whatever the upstream offers.
    Pin,
}

impl UpstreamMode {
    /// Every mode, from the one that lets the most through.
    pub const ALL: [Self; 4] = [Self::Passthrough, Self::Observe, Self::Admit, Self::Pin];

    /// Whether only what a reviewer or a rule approved is served, from the hub's own store.
    pub fn is_reviewed(self) -> bool {
        matches!(self, Self::Admit | Self::Pin)
    }

    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::Observe => "observe",
            Self::Admit => "admit",
            Self::Pin => "pin",
        }
    }
}

impl fmt::Display for UpstreamMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UpstreamMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(())
    }
}
