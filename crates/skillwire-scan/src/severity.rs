//! How much a finding matters, and how sure the scanner is.

use serde::{Deserialize, Serialize};

/// How much a finding matters. The order is from least to most.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fact to know, such as an installer that many vendors document.
    #[default]
    Info,
    /// Advice: a reviewer may want to read the place. Ordinary skills have such places, too.
    Low,
    /// A reviewer should read the place before the skill is used.
    Medium,
    /// Hardly any honest skill does this. It should not be used before a reviewer understood it.
    High,
    /// As [`High`](Self::High), and the skill hides it.
    Critical,
}

impl Severity {
    /// Every severity, from least to most.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The severity that many steps lower; never below [`Info`](Self::Info).
    #[must_use]
    pub fn lowered(self, steps: usize) -> Self {
        Self::ALL[(self as usize).saturating_sub(steps)]
    }

    /// The severity one step higher; never above [`Critical`](Self::Critical).
    #[must_use]
    pub fn raised(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
