//! What an upstream offers of one skill, what was decided about it, and what is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, SkillUri};

use super::UpstreamMode;
use crate::{
    decision::{Decision, Verdict},
    name::NamespaceName,
    refusal::Refusal,
    timestamp::Timestamp,
};

/// Names a skill of an upstream by the upstream's own URI of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpstreamSkillId {
    /// The upstream.
    pub upstream: NamespaceName,
    /// The URI that the upstream gives the skill.
    pub uri: SkillUri,
}

impl UpstreamSkillId {
    /// Names a skill of an upstream.
    pub fn new(upstream: NamespaceName, uri: SkillUri) -> Self {
        Self { upstream, uri }
    }

    /// Where decisions about it hold. No skill of the hub has a colon in its name.
    pub fn place(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for UpstreamSkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.upstream, self.uri)
    }
}

/// Where one content of an upstream's skill stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OfferState {
    /// No decision about it holds.
    Waiting,
    /// It was approved.
    Approved,
    /// It was rejected.
    Rejected,
}

impl OfferState {
    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for OfferState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What changes about a skill of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferChange {
    /// The hub keeps this content from now on.
    Kept(ContentId),
    /// The upstream offers this content now, or nothing.
    Offered(Option<ContentId>),
    /// The hub keeps this content no longer: it is not offered, and was never approved.
    Dropped(ContentId),
    /// A decision was taken.
    Decided(Decision),
}

/// One skill of an upstream: the contents that the hub keeps of it, what was decided about contents, and
/// which one is offered.
///
/// The hub keeps what is offered now and what was approved. An upstream that offers other content every
/// minute therefore fills no store. Decisions stay: content that was rejected once and is offered again is
/// still rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSkill {
    /// Which skill it is.
    pub id: UpstreamSkillId,
    /// The contents whose files the hub keeps.
    pub kept: BTreeSet<ContentId>,
    /// The last decision about each content.
    pub decisions: BTreeMap<ContentId, Decision>,
    /// The content that the upstream offers now, if it offers the skill.
    pub offered: Option<ContentId>,
}

impl UpstreamSkill {
    /// A skill of which nothing is known.
    pub fn new(id: UpstreamSkillId) -> Self {
        Self { id, kept: BTreeSet::new(), decisions: BTreeMap::new(), offered: None }
    }

    /// Where a content stands at a moment.
    pub fn state(&self, content: &ContentId, now: Timestamp) -> OfferState {
        match self.decisions.get(content).filter(|decision| decision.holds(now)) {
            None => OfferState::Waiting,
            Some(Decision { verdict: Verdict::Approve, .. }) => OfferState::Approved,
            Some(Decision { verdict: Verdict::Reject, .. }) => OfferState::Rejected,
        }
    }

    /// The upstream offers a content, which the hub has fetched.
    pub fn offer(&self, content: ContentId) -> Vec<OfferChange> {
        let mut changes = Vec::new();
        if !self.kept.contains(&content) {
            changes.push(OfferChange::Kept(content));
        }
        self.replace_offered(Some(content), &mut changes);
        changes
    }

    /// The upstream offers the skill no longer.
    pub fn withdraw(&self) -> Vec<OfferChange> {
        let mut changes = Vec::new();
        self.replace_offered(None, &mut changes);
        changes
    }

    fn replace_offered(&self, now: Option<ContentId>, changes: &mut Vec<OfferChange>) {
        if self.offered == now {
            return;
        }
        changes.push(OfferChange::Offered(now));
        let approved_once = |content: &ContentId| {
            let decision = self.decisions.get(content);
            decision.is_some_and(|decision| decision.verdict == Verdict::Approve)
        };
        if let Some(before) = self.offered.filter(|before| !approved_once(before)) {
            changes.push(OfferChange::Dropped(before));
        }
    }

    /// Takes a decision about a content that a reviewer saw.
    ///
    /// A content that is not offered any more can only be rejected: what a reviewer approves is what the
    /// upstream offers at that moment.
    pub fn decide(&self, decision: Decision) -> Result<Vec<OfferChange>, Refusal> {
        let content = decision.content;
        let is_offered = self.offered == Some(content);
        let may_reject = decision.verdict == Verdict::Reject && self.kept.contains(&content);
        if !is_offered && !may_reject {
            return Err(match self.offered {
                Some(actual) => Refusal::ContentMoved { decided: content, actual },
                None => Refusal::UnknownRecord { what: "content", id: content.to_string() },
            });
        }
        let is_same = |known: &Decision| {
            (known.verdict, known.until, &known.reason, &known.by)
                == (decision.verdict, decision.until, &decision.reason, &decision.by)
        };
        if self.decisions.get(&content).is_some_and(is_same) {
            return Ok(Vec::new());
        }
        let drops = decision.verdict == Verdict::Reject && !is_offered;
        let mut changes = vec![OfferChange::Decided(decision)];
        if drops {
            changes.push(OfferChange::Dropped(content));
        }
        Ok(changes)
    }

    /// Applies what was decided.
    pub fn apply_all(&mut self, changes: &[OfferChange]) {
        for change in changes {
            match change {
                OfferChange::Kept(content) => drop(self.kept.insert(*content)),
                OfferChange::Offered(now) => self.offered = *now,
                OfferChange::Dropped(content) => drop(self.kept.remove(content)),
                OfferChange::Decided(decision) => {
                    drop(self.decisions.insert(decision.content, decision.clone()));
                }
            }
        }
    }

    /// The content that clients get from the hub's store; `None` if the skill is hidden.
    ///
    /// In the modes without a review the upstream itself is asked, and the store serves nothing.
    pub fn served(&self, mode: UpstreamMode, now: Timestamp) -> Option<ContentId> {
        let is_approved = |content: &ContentId| self.state(content, now) == OfferState::Approved;
        match mode {
            UpstreamMode::Passthrough | UpstreamMode::Observe => None,
            UpstreamMode::Admit => self.offered.filter(is_approved),
            UpstreamMode::Pin => {
                let approved = self.kept.iter().filter(|content| is_approved(content));
                let decided = |content: &&ContentId| self.decisions.get(content).map(|it| it.at);
                approved.max_by_key(decided).copied()
            }
        }
    }
}
