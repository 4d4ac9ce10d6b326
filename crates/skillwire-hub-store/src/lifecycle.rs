//! What happens to versions and channels after publishing.

use semver::Version;
use skillwire_core::ContentId;
use skillwire_hub::{
    Action, AuditAction, Caller, ChannelName, Decision, HubChange, Namespace, NewAuditEntry,
    Refusal, SkillChange, SkillId, Timestamp, Transition, Verdict, VersionRecord, VersionRef,
};

use crate::{
    changes::apply_change,
    decisions::insert_decision,
    error::StoreError,
    listing::{ChannelPointer, load_version, pointer},
    records::{LoadedSkill, load_namespace, load_skill, skill_id_of},
    sql::{Tx, args},
    store::{HubStore, WriteTx},
};

/// The longest reason, in bytes.
const MAX_REASON_BYTES: usize = 2_000;

/// Why a version changes its state, and what a reviewer saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransitionNote {
    /// Why; it may be empty.
    pub reason: String,
    /// The content a reviewer decided about. A version with other content is not changed.
    pub seen: Option<ContentId>,
    /// When an approval ends.
    pub until: Option<Timestamp>,
    /// Codes of the findings that were open.
    pub open_findings: Vec<String>,
}

impl TransitionNote {
    /// A note with a reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    /// Says which content was decided about.
    #[must_use]
    pub fn with_seen(mut self, content: Option<ContentId>) -> Self {
        self.seen = content;
        self
    }

    /// Says when an approval ends.
    #[must_use]
    pub fn with_until(mut self, until: Option<Timestamp>) -> Self {
        self.until = until;
        self
    }

    /// Says which findings were open.
    #[must_use]
    pub fn with_open_findings(mut self, codes: Vec<String>) -> Self {
        self.open_findings = codes;
        self
    }
}

/// Refuses decisions without a reason, and reasons as [`check_reason`] does.
pub(crate) fn check_stated_reason(reason: &str) -> Result<(), Refusal> {
    if reason.trim().is_empty() {
        return Err(Refusal::NoReason);
    }
    check_reason(reason)
}

/// Refuses reasons that are too long or could act on a terminal.
pub(crate) fn check_reason(reason: &str) -> Result<(), Refusal> {
    let bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    if reason.len() > MAX_REASON_BYTES || reason.contains(bad) {
        return Err(Refusal::BadText { what: "reason", limit: MAX_REASON_BYTES });
    }
    Ok(())
}

impl HubStore {
    /// Takes one step in a version's life. A step that was taken already changes nothing.
    #[tracing::instrument(skip_all, fields(%version, %transition))]
    pub async fn transition(
        &self,
        caller: &Caller,
        version: &VersionRef,
        transition: Transition,
        note: TransitionNote,
    ) -> Result<VersionRecord, StoreError> {
        check_reason(&note.reason)?;
        if let Some(at) = note.until.filter(|until| *until <= self.now()) {
            return Err(Refusal::InThePast { what: "approval", at }.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = commit_transition(&mut tx, caller, version, transition, &note).await;
        tx.finish(result).await
    }

    /// Points a channel to a version.
    #[tracing::instrument(skip_all, fields(%version, %channel))]
    pub async fn promote(
        &self,
        caller: &Caller,
        version: &VersionRef,
        channel: &ChannelName,
    ) -> Result<ChannelPointer, StoreError> {
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let mut loaded =
                load_allowed(tx.tx(), caller, &version.skill, Action::Promote).await?.1;
            let changes = loaded.skill.promote(&version.version, channel)?;
            write_changes(&mut tx, caller, &mut loaded, &changes, None).await?;
            pointer(tx.tx(), loaded.key, channel).await
        }
        .await;
        tx.finish(result).await
    }

    /// Points a channel to the version it had before.
    #[tracing::instrument(skip_all, fields(%skill, %channel))]
    pub async fn roll_back(
        &self,
        caller: &Caller,
        skill: &SkillId,
        channel: &ChannelName,
    ) -> Result<ChannelPointer, StoreError> {
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let mut loaded = load_allowed(tx.tx(), caller, skill, Action::Promote).await?.1;
            let changes = loaded.skill.roll_back(channel)?;
            write_changes(&mut tx, caller, &mut loaded, &changes, None).await?;
            pointer(tx.tx(), loaded.key, channel).await
        }
        .await;
        tx.finish(result).await
    }

    /// Returns the version that a channel would point to after a roll-back, and changes nothing.
    pub async fn roll_back_target(
        &self,
        caller: &Caller,
        skill: &SkillId,
        channel: &ChannelName,
    ) -> Result<Version, StoreError> {
        let mut tx = self.begin_read().await?;
        let loaded = load_allowed(&mut tx, caller, skill, Action::Promote).await?.1;
        tx.commit().await?;
        let changes = loaded.skill.roll_back(channel)?;
        let target = changes.into_iter().find_map(|change| match change {
            SkillChange::ChannelMoved { to, .. } => Some(to),
            _ => None,
        });
        target.ok_or_else(|| StoreError::corrupt("a roll-back that moves nothing"))
    }

    /// Revokes content everywhere: in every version that has it, and in those that would.
    #[tracing::instrument(skip_all, fields(%content))]
    pub async fn revoke_content(
        &self,
        caller: &Caller,
        content: &ContentId,
        reason: &str,
    ) -> Result<Vec<VersionRef>, StoreError> {
        caller.require_administrator(Action::Operate)?;
        check_reason(reason)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = commit_content_revocation(&mut tx, caller, content, reason).await;
        tx.finish(result).await
    }
}

/// Loads a skill and its namespace, if the caller may do something there.
pub(crate) async fn load_allowed(
    tx: &mut Tx,
    caller: &Caller,
    skill: &SkillId,
    action: Action,
) -> Result<(Namespace, LoadedSkill), StoreError> {
    let Some(namespace) = load_namespace(tx, &skill.namespace).await? else {
        return Err(Refusal::UnknownNamespace(skill.namespace.clone()).into());
    };
    caller.require(action, &namespace)?;
    let loaded = load_skill(tx, skill).await?;
    let loaded = loaded.ok_or_else(|| Refusal::UnknownSkill(skill.clone()))?;
    Ok((namespace, loaded))
}

async fn write_changes(
    tx: &mut WriteTx,
    caller: &Caller,
    loaded: &mut LoadedSkill,
    changes: &[SkillChange],
    reason: Option<&str>,
) -> Result<(), StoreError> {
    for change in changes {
        loaded.skill.apply(change);
        apply_change(tx, caller, loaded, change, reason).await?;
    }
    Ok(())
}

pub(crate) async fn commit_transition(
    tx: &mut WriteTx,
    caller: &Caller,
    version: &VersionRef,
    transition: Transition,
    note: &TransitionNote,
) -> Result<VersionRecord, StoreError> {
    let action = transition.action();
    let mut loaded = load_allowed(tx.tx(), caller, &version.skill, action).await?.1;
    let changes = loaded.skill.transition(caller, &version.version, transition, note.seen)?;
    let reason = Some(note.reason.as_str()).filter(|reason| !reason.is_empty());
    write_changes(tx, caller, &mut loaded, &changes, reason).await?;
    let verdict = match transition {
        Transition::Approve => Some(Verdict::Approve),
        Transition::Reject => Some(Verdict::Reject),
        _ => None,
    };
    if let Some(verdict) = verdict.filter(|_| !changes.is_empty()) {
        let decision = Decision {
            content: loaded.skill.version(&version.version)?.content,
            place: version.skill.to_string(),
            verdict,
            by: caller.subject.clone(),
            at: tx.now,
            reason: note.reason.clone(),
            until: note.until,
            open_findings: note.open_findings.clone(),
        };
        insert_decision(tx, &decision).await?;
    }
    load_version(tx.tx(), version).await
}

async fn commit_content_revocation(
    tx: &mut WriteTx,
    caller: &Caller,
    content: &ContentId,
    reason: &str,
) -> Result<Vec<VersionRef>, StoreError> {
    let insert = "INSERT INTO revoked_content (content, at, revoked_by, reason)
        VALUES ($1, $2, $3, $4) ON CONFLICT (content) DO NOTHING";
    let text = content.to_string();
    let values = args![&text, tx.now.as_millis(), caller.subject.as_str(), reason];
    let is_new = tx.execute(insert, values).await? > 0;
    let select = "SELECT s.namespace, s.name, v.version FROM versions v
        JOIN skills s ON s.key = v.skill WHERE v.content = $1 ORDER BY v.key";
    let mut revoked = Vec::new();
    for row in tx.tx().rows(select, args![&text]).await? {
        revoked.push(VersionRef::new(skill_id_of(&row, 0)?, row.parsed(2, "version")?));
    }
    for version in &revoked {
        let Some(mut loaded) = load_skill(tx.tx(), &version.skill).await? else {
            return Err(StoreError::corrupt(format!("the version `{version}` of no skill")));
        };
        let changes =
            loaded.skill.transition(caller, &version.version, Transition::Revoke, None)?;
        write_changes(tx, caller, &mut loaded, &changes, Some(reason)).await?;
    }
    if is_new {
        tx.audit(NewAuditEntry {
            action: AuditAction::RevokeContent,
            target: text,
            content: Some(*content),
            details: serde_json::json!({"reason": reason, "versions": revoked}).to_string(),
        })
        .await?;
        tx.announce(HubChange::ContentRevoked { content: *content }).await?;
    }
    Ok(revoked)
}
