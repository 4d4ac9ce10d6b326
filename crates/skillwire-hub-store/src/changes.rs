//! Writing what the rules decided about a skill: states, channels and names, with audit and events.

use skillwire_core::SkillName;
use skillwire_hub::{
    AuditAction, Caller, HubChange, NewAuditEntry, SkillChange, VersionRef, guard_keys,
};

use crate::{
    error::StoreError,
    records::LoadedSkill,
    sql::{args, with_rows},
    store::{WriteTx, to_json},
};

/// Writes one change. The skill has it applied already; its row of a version exists.
pub(crate) async fn apply_change(
    tx: &mut WriteTx,
    caller: &Caller,
    loaded: &LoadedSkill,
    change: &SkillChange,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let skill = loaded.skill.id.clone();
    match change {
        // Written together with its files by the publication.
        SkillChange::Published { .. } => {}
        SkillChange::StateChanged { version, from, to } => {
            let update = "UPDATE versions SET state = $2, reason = $3, changed_at = $4
                WHERE key = $1";
            let key = version_key(loaded, version)?;
            let reason = reason.map(str::to_owned);
            let values = args![key, to.as_str(), reason.clone(), tx.now.as_millis()];
            tx.execute(update, values).await?;
            tx.audit(NewAuditEntry {
                action: AuditAction::Transition,
                target: VersionRef::new(skill.clone(), version.clone()).to_string(),
                content: loaded.skill.versions.get(version).map(|head| head.content),
                details: serde_json::json!({"from": from, "to": to, "reason": reason}).to_string(),
            })
            .await?;
            let (version, state) = (version.clone(), *to);
            tx.announce(HubChange::VersionChanged { skill, version, state }).await?;
        }
        SkillChange::ChannelMoved { channel, from, to, rollback } => {
            let Some(pointer) = loaded.skill.channel(channel) else {
                return Err(StoreError::corrupt(format!("a move of no channel `{channel}`")));
            };
            let upsert = "INSERT INTO channels (name, skill, version, stack, moved_at, moved_by)
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name, skill) DO UPDATE SET
                version = excluded.version, stack = excluded.stack, moved_at = excluded.moved_at,
                moved_by = excluded.moved_by";
            let values = args![
                channel.as_str(),
                loaded.key,
                version_key(loaded, to)?,
                to_json(pointer)?,
                tx.now.as_millis(),
                caller.subject.as_str(),
            ];
            tx.execute(upsert, values).await?;
            let details = serde_json::json!({
                "channel": channel, "from": from, "to": to, "rollback": rollback, "reason": reason,
            });
            tx.audit(NewAuditEntry {
                action: AuditAction::MoveChannel,
                target: skill.to_string(),
                content: loaded.skill.versions.get(to).map(|head| head.content),
                details: details.to_string(),
            })
            .await?;
            let (channel, version) = (channel.clone(), to.clone());
            tx.announce(HubChange::ChannelMoved { skill, channel, version }).await?;
        }
        SkillChange::NameAccepted => {
            let update =
                "UPDATE skills SET conflict_with = NULL, conflict_kind = NULL WHERE key = $1";
            tx.execute(update, args![loaded.key]).await?;
        }
    }
    Ok(())
}

fn version_key(loaded: &LoadedSkill, version: &semver::Version) -> Result<i64, StoreError> {
    let key = loaded.version_keys.get(version).copied();
    key.ok_or_else(|| StoreError::corrupt(format!("no row of version {version}")))
}

/// Guards a skill's name against names like it.
pub(crate) async fn insert_guards(
    tx: &mut WriteTx,
    skill: i64,
    name: &SkillName,
) -> Result<(), StoreError> {
    let keys = guard_keys(name);
    let start = "INSERT INTO name_guards (key, skill) VALUES";
    let sql = with_rows(start, 2, keys.len(), " ON CONFLICT (key, skill) DO NOTHING");
    let values = keys.into_iter().flat_map(|key| args![key, skill]).collect();
    tx.tx().execute_built(sql, values).await?;
    Ok(())
}
