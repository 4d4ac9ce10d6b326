//! How much isolation a machine gives, and what is missing where it gives too little.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a script is kept apart from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IsolationTier {
    /// Landlock, seccomp and limits on one process, in the namespaces of the caller.
    Restricted,
    /// Namespaces and a root file system of its own, and everything of
    /// [`Restricted`](Self::Restricted).
    Full,
}

impl fmt::Display for IsolationTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Restricted => "restricted",
            Self::Full => "full",
        })
    }
}

/// The isolation that the caller accepts. The default accepts [`IsolationTier::Full`] alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IsolationPolicy {
    /// Whether [`IsolationTier::Restricted`] may be used where [`IsolationTier::Full`] is not
    /// available.
    pub accept_restricted: bool,
    /// Whether scripts may run on a processor for which the system call filter was written but
    /// never tested.
    pub accept_untested_processor: bool,
}

impl IsolationPolicy {
    /// Says whether [`IsolationTier::Restricted`] may be used where [`IsolationTier::Full`] is not
    /// available.
    #[must_use]
    pub fn accept_restricted(mut self, accept: bool) -> Self {
        self.accept_restricted = accept;
        self
    }

    /// Says whether scripts may run on a processor for which the system call filter was never
    /// tested.
    #[must_use]
    pub fn accept_untested_processor(mut self, accept: bool) -> Self {
        self.accept_untested_processor = accept;
        self
    }
}

/// The isolation that a machine was seen to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AvailableIsolation {
    /// The strongest tier in which a script ran from start to end.
    pub tier: IsolationTier,
    /// Sentences about what this machine does not give within that tier.
    pub notes: Vec<String>,
    /// Why no stronger tier is available.
    pub missing: Vec<MissingRequirement>,
}

/// Something that a tier needs and that this machine does not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingRequirement {
    /// The tier that needs it.
    pub tier: IsolationTier,
    /// What is missing, such as `unprivileged user namespaces`.
    pub what: String,
    /// The system's error.
    pub why: String,
    /// A sentence that says what to install or allow.
    pub hint: String,
}

impl fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} isolation needs {}: {}. {}", self.tier, self.what, self.why, self.hint)
    }
}

/// The machine does not give the isolation that the policy asks for, so no script is run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("scripts cannot be isolated here: {}", list(missing))]
pub struct IsolationUnavailable {
    /// What is missing, for the strongest tier first.
    pub missing: Vec<MissingRequirement>,
}

impl IsolationUnavailable {
    pub(crate) fn one(missing: MissingRequirement) -> Self {
        Self { missing: vec![missing] }
    }
}

fn list(missing: &[MissingRequirement]) -> String {
    let all: Vec<_> = missing.iter().map(ToString::to_string).collect();
    all.join(" ")
}
