//! What replicas are told: numbered events in the order in which their transactions were committed.

use semver::Version;
use serde::{Deserialize, Serialize};
use skillwire_core::ContentId;

use crate::{
    name::{ChannelName, NamespaceName, SkillId},
    state::VersionState,
    timestamp::Timestamp,
};

/// What changed, so that a replica knows what to load again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HubChange {
    /// A version was published.
    VersionPublished {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// The identity of its files.
        content: ContentId,
        /// The state it begins in.
        state: VersionState,
    },
    /// A version has another state.
    VersionChanged {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// The state now.
        state: VersionState,
    },
    /// A channel points to another version.
    ChannelMoved {
        /// The skill.
        skill: SkillId,
        /// The channel.
        channel: ChannelName,
        /// The version now.
        version: Version,
    },
    /// A namespace was made, or its roles or rules changed.
    NamespaceChanged {
        /// The namespace.
        namespace: NamespaceName,
    },
    /// A token was made or revoked.
    TokenChanged {
        /// Its number.
        token: u64,
    },
    /// Content was revoked everywhere. Each version that has it has an event of its own.
    ContentRevoked {
        /// The content.
        content: ContentId,
    },
    /// A version's files were erased.
    VersionPurged {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// The hexadecimal digests of the files that were deleted, for caches to delete them too.
        #[serde(default)]
        blobs: Vec<String>,
    },
    /// A decision about content was recorded.
    Decided {
        /// The content.
        content: ContentId,
        /// Where it holds.
        place: String,
    },
    /// An upstream was added, changed or removed.
    UpstreamChanged {
        /// Its label.
        upstream: NamespaceName,
    },
    /// What an upstream offers of some skills changed, or what was decided about it.
    OffersChanged {
        /// The upstream.
        upstream: NamespaceName,
        /// The upstream's own URIs of these skills.
        skills: Vec<String>,
    },
    /// An event of a newer version, which this one does not know. A replica loads everything again.
    #[serde(other)]
    Unknown,
}

impl HubChange {
    /// Returns the skill that changed, if the change is about one.
    pub fn skill(&self) -> Option<&SkillId> {
        match self {
            Self::VersionPublished { skill, .. }
            | Self::VersionChanged { skill, .. }
            | Self::ChannelMoved { skill, .. }
            | Self::VersionPurged { skill, .. } => Some(skill),
            _ => None,
        }
    }
}

/// A change with its number. Numbers have no gaps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxEvent {
    /// Its number; the first is 1.
    pub number: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// What changed.
    pub change: HubChange,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_newer_version_is_read_as_unknown() {
        let json = r#"{"kind":"moon-phase-changed","phase":3}"#;
        assert_eq!(serde_json::from_str::<HubChange>(json).unwrap(), HubChange::Unknown);
    }
}
