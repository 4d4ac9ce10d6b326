//! A skill with its versions and channels, and how a publication changes it.

use std::collections::BTreeMap;

use semver::Version;
use serde::{Deserialize, Serialize};
use skillwire_core::ContentId;

use crate::{
    channel::Channel,
    name::{ChannelName, SkillId, Subject},
    refusal::Refusal,
    similar::NameConflict,
    state::VersionState,
    version::choose_version,
};

/// What the rules need to know of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionHead {
    /// The identity of its files.
    pub content: ContentId,
    /// Where it stands in its life.
    pub state: VersionState,
    /// Who published it.
    pub publisher: Subject,
}

/// A skill as the rules see it. Methods decide and return changes; [`Skill::apply`] makes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its namespace and name.
    pub id: SkillId,
    /// Its versions.
    pub versions: BTreeMap<Version, VersionHead>,
    /// Its channels.
    pub channels: BTreeMap<ChannelName, Channel>,
    /// The protected or popular name that its own is like, until a reviewer approved a version.
    pub name_conflict: Option<NameConflict>,
}

/// What a publisher wants to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Publication {
    /// The identity of the files.
    pub content: ContentId,
    /// Who publishes.
    pub publisher: Subject,
    /// The version the publisher asked for.
    pub requested: Option<Version>,
    /// `metadata.version` of the skill.
    pub declared: Option<String>,
    /// Whether the namespace requires a review.
    pub needs_review: bool,
}

impl Publication {
    /// A publication as the next version, without a review.
    pub fn new(content: ContentId, publisher: Subject) -> Self {
        Self { content, publisher, requested: None, declared: None, needs_review: false }
    }

    /// Asks for a version.
    #[must_use]
    pub fn with_requested(mut self, version: Option<Version>) -> Self {
        self.requested = version;
        self
    }

    /// Says which version the skill's metadata has.
    #[must_use]
    pub fn with_declared(mut self, version: Option<String>) -> Self {
        self.declared = version;
        self
    }

    /// Says whether the namespace requires a review.
    #[must_use]
    pub fn with_review(mut self, needs_review: bool) -> Self {
        self.needs_review = needs_review;
        self
    }
}

/// One change of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum SkillChange {
    /// A version exists now.
    Published {
        /// The version.
        version: Version,
        /// The identity of its files.
        content: ContentId,
        /// The state it begins in.
        state: VersionState,
        /// Who published it.
        publisher: Subject,
    },
    /// A version has another state.
    StateChanged {
        /// The version.
        version: Version,
        /// The state before.
        from: VersionState,
        /// The state now.
        to: VersionState,
    },
    /// A channel points to another version.
    ChannelMoved {
        /// The channel.
        channel: ChannelName,
        /// The version before.
        from: Option<Version>,
        /// The version now.
        to: Version,
        /// Whether the channel went back to a version it had before.
        rollback: bool,
    },
    /// A reviewer accepted the skill's name.
    NameAccepted,
}

/// What a publication does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The skill gets a version.
    New {
        /// The version.
        version: Version,
        /// The state it begins in.
        state: VersionState,
        /// What changes.
        changes: Vec<SkillChange>,
    },
    /// The skill has a version with the same bytes already; nothing changes.
    Existing {
        /// The version.
        version: Version,
        /// The state it is in.
        state: VersionState,
    },
}

impl Skill {
    /// A skill without versions.
    pub fn new(id: SkillId) -> Self {
        Self { id, versions: BTreeMap::new(), channels: BTreeMap::new(), name_conflict: None }
    }

    /// Returns a channel, if it was ever moved.
    pub fn channel(&self, name: &ChannelName) -> Option<&Channel> {
        self.channels.get(name)
    }

    /// Returns a version, or refuses.
    pub fn version(&self, version: &Version) -> Result<&VersionHead, Refusal> {
        self.versions.get(version).ok_or_else(|| Refusal::UnknownVersion {
            skill: self.id.clone(),
            version: version.clone(),
        })
    }

    /// Returns the version that a channel serves: none if it is yanked, revoked or not approved.
    pub fn served(&self, channel: &ChannelName) -> Option<(&Version, &VersionHead)> {
        let version = self.channels.get(channel)?.version()?;
        self.versions.get_key_value(version).filter(|(_, head)| head.state.is_served())
    }

    /// Decides what a publication does.
    ///
    /// The same bytes again are no new version, so that a publisher may repeat a request whose answer got
    /// lost. A version that exists with other bytes is refused, whatever its state.
    pub fn publish(&self, publication: &Publication) -> Result<PublishOutcome, Refusal> {
        let same = self.versions.iter().find(|(_, head)| head.content == publication.content);
        let highest = self.versions.keys().next_back();
        let (requested, declared) =
            (publication.requested.as_ref(), publication.declared.as_deref());
        let named = requested.is_some() || declared.is_some();
        let version = match same {
            Some((version, _)) if !named => version.clone(),
            _ => choose_version(highest, requested, declared)?,
        };
        if let Some((existing, head)) = same {
            if *existing != version {
                let version = existing.clone();
                return Err(Refusal::ContentTaken { skill: self.id.clone(), version });
            }
            if head.state == VersionState::Revoked {
                return Err(Refusal::ContentRevoked(head.content));
            }
            return Ok(PublishOutcome::Existing { version, state: head.state });
        }
        if let Some(head) = self.versions.get(&version) {
            let (skill, existing) = (self.id.clone(), head.content);
            return Err(Refusal::VersionTaken { skill, version, existing });
        }
        let waits = publication.needs_review || self.name_conflict.is_some();
        let state = if waits { VersionState::Quarantined } else { VersionState::Approved };
        let mut changes = vec![SkillChange::Published {
            version: version.clone(),
            content: publication.content,
            state,
            publisher: publication.publisher.clone(),
        }];
        changes.extend(self.latest_follows(&version, state));
        Ok(PublishOutcome::New { version, state, changes })
    }

    /// Makes one change that a decision returned.
    pub fn apply(&mut self, change: &SkillChange) {
        match change {
            SkillChange::Published { version, content, state, publisher } => {
                let publisher = publisher.clone();
                let head = VersionHead { content: *content, state: *state, publisher };
                self.versions.insert(version.clone(), head);
            }
            SkillChange::StateChanged { version, to, .. } => {
                if let Some(head) = self.versions.get_mut(version) {
                    head.state = *to;
                }
            }
            SkillChange::ChannelMoved { channel, to, rollback, .. } => {
                let channel = self.channels.entry(channel.clone()).or_default();
                if *rollback { channel.pop_to(to) } else { channel.push(to.clone()) }
            }
            SkillChange::NameAccepted => self.name_conflict = None,
        }
    }

    /// Makes the changes that a decision returned.
    pub fn apply_all(&mut self, changes: &[SkillChange]) {
        for change in changes {
            self.apply(change);
        }
    }

    /// The move of `latest` when a version becomes approved: only forwards, and to releases only.
    pub(crate) fn latest_follows(
        &self,
        version: &Version,
        state: VersionState,
    ) -> Option<SkillChange> {
        let latest = ChannelName::latest();
        let current = self.channels.get(&latest).and_then(Channel::version);
        let moves = state == VersionState::Approved
            && version.pre.is_empty()
            && current.is_none_or(|current| current < version);
        moves.then(|| SkillChange::ChannelMoved {
            channel: latest,
            from: current.cloned(),
            to: version.clone(),
            rollback: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::{Digest, RelPath};

    use super::*;
    use crate::version::parse_version;

    fn content(text: &str) -> ContentId {
        let file = (RelPath::skill_file(), Digest::of(text.as_bytes()), text.len() as u64);
        ContentId::of([file]).unwrap()
    }

    fn publication(text: &str) -> Publication {
        Publication::new(content(text), "ana".parse().unwrap())
    }

    fn publish(skill: &mut Skill, publication: &Publication) -> (String, VersionState) {
        let PublishOutcome::New { version, state, changes } = skill.publish(publication).unwrap()
        else {
            panic!("it is new");
        };
        skill.apply_all(&changes);
        (version.to_string(), state)
    }

    fn skill() -> Skill {
        Skill::new("acme/refunds".parse().unwrap())
    }

    #[test]
    fn the_same_bytes_again_are_the_version_that_exists() {
        let mut skill = skill();
        publish(&mut skill, &publication("one"));
        publish(&mut skill, &publication("two"));
        let again = skill.publish(&publication("one")).unwrap();
        let PublishOutcome::Existing { version, state } = again else { panic!("{again:?}") };
        assert_eq!((version.to_string().as_str(), state), ("1.0.0", VersionState::Approved));
        // Under another version they are refused, as content is unique within a skill.
        let other = publication("one").with_requested(Some(parse_version("3").unwrap()));
        assert!(matches!(skill.publish(&other), Err(Refusal::ContentTaken { .. })));
    }

    #[test]
    fn a_version_with_other_bytes_is_refused_whatever_its_state() {
        let mut skill = skill();
        publish(&mut skill, &publication("one"));
        for state in VersionState::ALL {
            let version = parse_version("1").unwrap();
            skill.versions.get_mut(&version).unwrap().state = state;
            let other = publication("two").with_requested(Some(version));
            assert!(matches!(skill.publish(&other), Err(Refusal::VersionTaken { .. })), "{state}");
        }
    }

    #[test]
    fn revoked_bytes_are_not_published_again() {
        let mut skill = skill();
        publish(&mut skill, &publication("one"));
        let version = parse_version("1").unwrap();
        skill.versions.get_mut(&version).unwrap().state = VersionState::Revoked;
        let refused = skill.publish(&publication("one"));
        assert_eq!(refused, Err(Refusal::ContentRevoked(content("one"))));
    }

    #[test]
    fn latest_moves_forwards_to_approved_releases_only() {
        let mut skill = skill();
        let latest = |skill: &Skill| {
            skill.channel(&ChannelName::latest()).and_then(Channel::version).map(Version::to_string)
        };
        let version = |text: &str| Some(parse_version(text).unwrap());
        publish(&mut skill, &publication("rc").with_requested(version("2.0.0-rc.1")));
        assert_eq!(latest(&skill), None);
        publish(&mut skill, &publication("one").with_requested(version("2.0.0")));
        publish(&mut skill, &publication("old").with_requested(version("1.5.0")));
        assert_eq!(latest(&skill).as_deref(), Some("2.0.0"));
        let waiting = publication("three").with_requested(version("3.0.0")).with_review(true);
        assert_eq!(publish(&mut skill, &waiting).1, VersionState::Quarantined);
        assert_eq!(latest(&skill).as_deref(), Some("2.0.0"));
    }

    #[test]
    fn a_skill_with_a_name_like_a_protected_one_waits_for_a_reviewer() {
        let mut skill = skill();
        let other = "bank/refund".parse().unwrap();
        skill.name_conflict =
            Some(NameConflict { with: other, similarity: crate::Similarity::OneEdit });
        assert_eq!(publish(&mut skill, &publication("one")).1, VersionState::Quarantined);
    }
}
