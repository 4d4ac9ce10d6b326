//! How much isolation there is, and what is missing where there is too little.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a script is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Landlock, seccomp and limits on one process, in the namespaces of the caller.
    Restricted,
    /// Namespaces of its own with a root of its own, and everything of [`Tier::Restricted`].
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Restricted => "restricted",
            Self::Full => "full",
        })
    }
}

/// Which isolation is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether [`Tier::Restricted`] may be used where [`Tier::Full`] cannot be had.
    pub accept_restricted: bool,
    /// Whether a processor may be used for which the filter was written but never tried.
    pub accept_untested_processor: bool,
}

/// The isolation that a machine was seen to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The strongest tier in which a script ran from start to end.
    pub tier: Tier,
    /// What this machine does not give within that tier.
    pub notes: Vec<String>,
    /// Why there is no stronger tier.
    pub missing: Vec<Missing>,
}

/// A part of isolation that this machine does not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The tier that needs it.
    pub tier: Tier,
    /// What failed.
    pub what: String,
    /// What the system said.
    pub why: String,
    /// What to install or allow.
    pub hint: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} isolation needs {}: {}. {}", self.tier, self.what, self.why, self.hint)
    }
}

/// There is not enough isolation here, and scripts are not run without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("scripts cannot be isolated here: {}", list(missing))]
pub struct Unavailable {
    /// What is missing, the tier that was preferred first.
    pub missing: Vec<Missing>,
}

impl Unavailable {
    pub(crate) fn one(missing: Missing) -> Self {
        Self { missing: vec![missing] }
    }
}

fn list(missing: &[Missing]) -> String {
    let all: Vec<_> = missing.iter().map(ToString::to_string).collect();
    all.join(" ")
}
