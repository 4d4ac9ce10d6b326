//! The states of a version, and the one table of legal transitions.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::access::Action;

/// Where a version stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// It waits for a reviewer. It is not served.
    Quarantined,
    /// It is served.
    Approved,
    /// A reviewer refused it. It is not served.
    Rejected,
    /// It is served, with a note that callers should move on.
    Deprecated,
    /// It is not listed and no channel serves it; reads of exactly this version go on.
    Yanked,
    /// Its bytes are refused.
    Revoked,
}

impl VersionState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Quarantined,
        Self::Approved,
        Self::Rejected,
        Self::Deprecated,
        Self::Yanked,
        Self::Revoked,
    ];

    /// Whether a channel that points to the version serves it.
    pub fn is_served(self) -> bool {
        matches!(self, Self::Approved | Self::Deprecated)
    }

    /// Whether a caller that names exactly this version may read its files.
    pub fn is_readable(self) -> bool {
        self.is_served() || self == Self::Yanked
    }

    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Deprecated => "deprecated",
            Self::Yanked => "yanked",
            Self::Revoked => "revoked",
        }
    }

    /// Returns the state after a transition, if the table has it.
    pub fn after(self, transition: Transition) -> Option<Self> {
        TRANSITIONS
            .iter()
            .find(|rule| rule.transition == transition && rule.from == self)
            .map(|rule| rule.to)
    }
}

impl fmt::Display for VersionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for VersionState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(())
    }
}

/// A step from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transition {
    /// A reviewer lets the version be served.
    Approve,
    /// A reviewer refuses it.
    Reject,
    /// A reviewer takes a rejection back, so that the version waits again.
    Reopen,
    /// Callers should move on to another version.
    Deprecate,
    /// The version is withdrawn from lists and channels.
    Yank,
    /// A deprecation or a withdrawal is taken back.
    Restore,
    /// The bytes must not be served again.
    Revoke,
}

impl Transition {
    /// Every transition.
    pub const ALL: [Self; 7] = [
        Self::Approve,
        Self::Reject,
        Self::Reopen,
        Self::Deprecate,
        Self::Yank,
        Self::Restore,
        Self::Revoke,
    ];

    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Reopen => "reopen",
            Self::Deprecate => "deprecate",
            Self::Yank => "yank",
            Self::Restore => "restore",
            Self::Revoke => "revoke",
        }
    }

    /// Returns what a caller must be allowed to do.
    pub fn action(self) -> Action {
        match self {
            Self::Approve | Self::Reject | Self::Reopen => Action::Review,
            Self::Deprecate | Self::Yank | Self::Restore => Action::Withdraw,
            Self::Revoke => Action::Revoke,
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Transition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|transition| transition.as_str() == text).ok_or(())
    }
}

/// One row of the table of transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionRule {
    /// The state before.
    pub from: VersionState,
    /// The step.
    pub transition: Transition,
    /// The state after.
    pub to: VersionState,
}

const fn rule(from: VersionState, transition: Transition, to: VersionState) -> TransitionRule {
    TransitionRule { from, transition, to }
}

/// Every legal transition. What is not here is refused.
///
/// A rejection can be reopened: content is unique within a skill, so bytes that a reviewer rejected by
/// mistake could otherwise never be published. Nothing leads out of `revoked`.
pub const TRANSITIONS: &[TransitionRule] = {
    use Transition::{Approve, Deprecate, Reject, Reopen, Restore, Revoke, Yank};
    use VersionState::{Approved, Deprecated, Quarantined, Rejected, Revoked, Yanked};
    &[
        rule(Quarantined, Approve, Approved),
        rule(Quarantined, Reject, Rejected),
        rule(Quarantined, Revoke, Revoked),
        rule(Rejected, Reopen, Quarantined),
        rule(Rejected, Revoke, Revoked),
        rule(Approved, Deprecate, Deprecated),
        rule(Approved, Yank, Yanked),
        rule(Approved, Revoke, Revoked),
        rule(Deprecated, Restore, Approved),
        rule(Deprecated, Yank, Yanked),
        rule(Deprecated, Revoke, Revoked),
        rule(Yanked, Restore, Approved),
        rule(Yanked, Deprecate, Deprecated),
        rule(Yanked, Revoke, Revoked),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_state_and_step_leads_to_one_state() {
        for (index, one) in TRANSITIONS.iter().enumerate() {
            let again = TRANSITIONS[index + 1..]
                .iter()
                .find(|other| other.from == one.from && other.transition == one.transition);
            assert_eq!(again, None);
        }
    }

    #[test]
    fn revoked_is_final_and_reachable_from_everywhere_else() {
        for state in VersionState::ALL {
            let revoked = state.after(Transition::Revoke);
            assert_eq!(revoked.is_some(), state != VersionState::Revoked, "{state}");
        }
        assert!(Transition::ALL.iter().all(|step| VersionState::Revoked.after(*step).is_none()));
    }

    #[test]
    fn nothing_waiting_or_rejected_is_served_without_a_review() {
        for rule in TRANSITIONS.iter().filter(|rule| !rule.from.is_readable()) {
            let reviewed = rule.transition == Transition::Approve;
            assert_eq!(rule.to.is_readable(), reviewed, "{rule:?}");
        }
    }

    #[test]
    fn words_are_read_back() {
        for state in VersionState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        for transition in Transition::ALL {
            assert_eq!(transition.as_str().parse(), Ok(transition));
        }
    }
}
