//! What reviewers and publishers do with versions and channels after publishing.

use semver::Version;
use skillwire_core::ContentId;

use crate::{
    access::Caller,
    channel::Channel,
    name::ChannelName,
    refusal::Refusal,
    skill::{Skill, SkillChange},
    state::{Transition, VersionState},
};

impl Skill {
    /// Decides a step in a version's life.
    ///
    /// A step that leads to the state a version has already changes nothing. `seen` is the content a
    /// reviewer decided about. Whether the caller has the role is checked before, against the namespace;
    /// here are the rules about the caller that depend on the skill.
    pub fn transition(
        &self,
        caller: &Caller,
        version: &Version,
        transition: Transition,
        seen: Option<ContentId>,
    ) -> Result<Vec<SkillChange>, Refusal> {
        let head = self.version(version)?;
        if let Some(decided) = seen.filter(|seen| *seen != head.content) {
            return Err(Refusal::ContentMoved { decided, actual: head.content });
        }
        let Some(to) = head.state.after(transition) else {
            if is_done(head.state, transition) {
                return Ok(Vec::new());
            }
            return Err(Refusal::IllegalTransition {
                skill: self.id.clone(),
                version: version.clone(),
                state: head.state,
                transition,
            });
        };
        let approves = transition == Transition::Approve;
        if approves && !caller.administrator {
            if let Some(conflict) = self.name_conflict.clone() {
                return Err(Refusal::NameNeedsAdministrator { skill: self.id.clone(), conflict });
            }
            if head.publisher == caller.subject {
                let (skill, version) = (self.id.clone(), version.clone());
                return Err(Refusal::OwnPublication { skill, version });
            }
        }
        let (version, from) = (version.clone(), head.state);
        let follows = approves.then(|| self.latest_follows(&version, to)).flatten();
        let mut changes = vec![SkillChange::StateChanged { version, from, to }];
        if approves && self.name_conflict.is_some() {
            changes.push(SkillChange::NameAccepted);
        }
        changes.extend(follows);
        Ok(changes)
    }

    /// Decides to point a channel to a version, which must be served.
    pub fn promote(
        &self,
        version: &Version,
        channel: &ChannelName,
    ) -> Result<Vec<SkillChange>, Refusal> {
        let head = self.version(version)?;
        if !head.state.is_served() {
            return Err(Refusal::NotPromotable {
                skill: self.id.clone(),
                version: version.clone(),
                state: head.state,
            });
        }
        let from = self.channels.get(channel).and_then(Channel::version).cloned();
        if from.as_ref() == Some(version) {
            return Ok(Vec::new());
        }
        let (channel, to) = (channel.clone(), version.clone());
        Ok(vec![SkillChange::ChannelMoved { channel, from, to, rollback: false }])
    }

    /// Decides to point a channel to the version it had before, skipping those that are not served.
    pub fn roll_back(&self, channel: &ChannelName) -> Result<Vec<SkillChange>, Refusal> {
        let skill = self.id.clone();
        let Some(pointer) = self.channels.get(channel) else {
            return Err(Refusal::UnknownChannel { skill, channel: channel.clone() });
        };
        let current = pointer.version();
        let served = |version: &&Version| {
            Some(*version) != current
                && self.versions.get(*version).is_some_and(|head| head.state.is_served())
        };
        let channel = channel.clone();
        let Some(to) = pointer.earlier().find(served).cloned() else {
            return Err(Refusal::NothingToRollBackTo { skill, channel });
        };
        Ok(vec![SkillChange::ChannelMoved { channel, from: current.cloned(), to, rollback: true }])
    }
}

/// Whether a step leads to the state that a version has already.
fn is_done(state: VersionState, transition: Transition) -> bool {
    let target = match transition {
        Transition::Approve | Transition::Restore => VersionState::Approved,
        Transition::Reject => VersionState::Rejected,
        Transition::Reopen => VersionState::Quarantined,
        Transition::Deprecate => VersionState::Deprecated,
        Transition::Yank => VersionState::Yanked,
        Transition::Revoke => VersionState::Revoked,
    };
    state == target
}
