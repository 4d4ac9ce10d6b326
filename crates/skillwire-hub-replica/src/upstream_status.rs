//! What is known about the upstreams that a replica follows.

use skillwire_hub::{NamespaceName, Timestamp};
use skillwire_hub_upstreams::UnfetchedSkill;

/// Whether an upstream answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamHealth {
    /// It was not listed yet.
    Starting,
    /// The last listing succeeded.
    Answering,
    /// The last listing failed; the hub tries again.
    Failing,
    /// Too many requests in a row failed, so that it is left alone for a while.
    Paused,
}

impl UpstreamHealth {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Starting, Self::Answering, Self::Failing, Self::Paused];

    /// Returns the word for it; the same as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Answering => "answering",
            Self::Failing => "failing",
            Self::Paused => "paused",
        }
    }
}

/// What a replica knows about an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// Whether it answers.
    pub health: UpstreamHealth,
    /// When it was last listed completely.
    pub listed_at: Option<Timestamp>,
    /// How many skills it listed then.
    pub skills: usize,
    /// Why the last listing failed.
    pub failure: Option<String>,
    /// How many skills have content that this replica could not fetch for its review.
    pub unfetched: usize,
    /// Why, for the first of them. Hidden skills are among them, so that this is for reviewers.
    pub unfetched_skills: Vec<UnfetchedSkill>,
}

/// Tells how upstreams of this replica are doing.
pub trait UpstreamStatuses: Send + Sync {
    /// Returns what is known about an upstream, if this replica follows it.
    fn status(&self, label: &NamespaceName) -> Option<UpstreamStatus>;
}
