//! Decisions of reviewers about content.

use serde::{Deserialize, Serialize};
use skillwire_core::ContentId;

use crate::{name::Subject, timestamp::Timestamp};

/// What a reviewer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The content may be served.
    Approve,
    /// The content must not be served.
    Reject,
}

/// A decision about one content in one place. It says nothing about other content of the same skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The content that was decided about.
    pub content: ContentId,
    /// Where it holds: a skill of the hub (`acme/refunds`) or the label of an upstream.
    pub place: String,
    /// What was decided.
    pub verdict: Verdict,
    /// Who decided.
    pub by: Subject,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// When the decision ends.
    pub until: Option<Timestamp>,
    /// Codes of the findings that were open.
    pub open_findings: Vec<String>,
}

impl Decision {
    /// Whether the decision holds at a moment. A rejection does not end.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.verdict == Verdict::Reject || self.until.is_none_or(|end| now < end)
    }
}
