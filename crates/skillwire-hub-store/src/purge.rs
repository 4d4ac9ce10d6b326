//! Erasing a version's files, or a person's name, for legal reasons.
//!
//! What stays is a tombstone: the number and the content identity of a version, and the audit log, whose
//! chain covers commitments to names and details and therefore still holds.

use skillwire_core::Digest;
use skillwire_hub::{
    Action, AuditAction, Caller, HubChange, NewAuditEntry, Refusal, Subject, Transition,
    VersionRecord, VersionRef,
};

use crate::{
    changes::apply_change,
    error::StoreError,
    garbage::{digest_of, forget_blobs},
    lifecycle::check_reason,
    listing::load_version,
    records::load_skill,
    sql::args,
    store::{HubStore, WriteTx, number, random_bytes},
};

impl HubStore {
    /// Erases a version's files and everything about it but its number and content identity. The
    /// version is revoked. Blobs that other versions share stay. Only for administrators.
    #[tracing::instrument(skip_all, fields(%version))]
    pub async fn purge_version(
        &self,
        caller: &Caller,
        version: &VersionRef,
        reason: &str,
    ) -> Result<VersionRecord, StoreError> {
        caller.require_administrator(Action::Operate)?;
        check_reason(reason)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = self.commit_purge(&mut tx, caller, version, reason).await;
        tx.finish(result).await
    }

    async fn commit_purge(
        &self,
        tx: &mut WriteTx,
        caller: &Caller,
        version: &VersionRef,
        reason: &str,
    ) -> Result<VersionRecord, StoreError> {
        let Some(mut loaded) = load_skill(tx.tx(), &version.skill).await? else {
            return Err(Refusal::UnknownSkill(version.skill.clone()).into());
        };
        let before = load_version(tx.tx(), version).await?;
        if before.purged {
            return Ok(before);
        }
        for change in loaded.skill.transition(caller, &version.version, Transition::Revoke, None)? {
            loaded.skill.apply(&change);
            apply_change(tx, caller, &loaded, &change, None).await?;
        }
        let key = loaded.version_keys.get(&version.version).copied().unwrap_or_default();
        let mine = "SELECT m.digest FROM version_blobs m WHERE m.version = $1 AND NOT EXISTS
            (SELECT 1 FROM version_blobs o WHERE o.digest = m.digest AND o.version <> $1)
            AND NOT EXISTS (SELECT 1 FROM offer_blobs f WHERE f.digest = m.digest)";
        let rows = tx.tx().rows(mine, args![key]).await?;
        let blobs = rows
            .iter()
            .map(|row| digest_of(&row.text(0)?))
            .collect::<Result<Vec<Digest>, StoreError>>()?;
        tx.execute("DELETE FROM version_blobs WHERE version = $1", args![key]).await?;
        let erase =
            "UPDATE versions SET files = '[]', entry = '', provenance = '{}', reason = NULL,
            size = 0, purged = 1 WHERE key = $1";
        tx.execute(erase, args![key]).await?;
        let usage = "UPDATE namespaces SET bytes = bytes - $2 WHERE name = $1";
        let namespace = version.skill.namespace.as_str();
        tx.execute(usage, args![namespace, number(before.size)]).await?;
        let erase = "UPDATE audit SET details = '', details_salt = NULL WHERE target = $1";
        tx.execute(erase, args![version.to_string()]).await?;
        let erase = "UPDATE decisions SET reason = '' WHERE content = $1 AND place = $2";
        let values = args![before.content.to_string(), version.skill.to_string()];
        tx.execute(erase, values).await?;
        tx.audit(NewAuditEntry {
            action: AuditAction::Purge,
            target: version.to_string(),
            content: Some(before.content),
            details: serde_json::json!({"reason": reason, "blobs": blobs.len()}).to_string(),
        })
        .await?;
        let (skill, number) = (version.skill.clone(), version.version.clone());
        let hexes = blobs.iter().map(Digest::hex).collect();
        tx.announce(HubChange::VersionPurged { skill, version: number, blobs: hexes }).await?;
        // Last, while the lock is held: a publication that wants the same bytes finds that their rows are
        // gone and writes them again. If the commit fails now, the version is damaged and not served, and
        // the purge is repeated.
        forget_blobs(tx, &blobs).await?;
        self.blobs().delete_all(&blobs).await?;
        load_version(tx.tx(), version).await
    }

    /// Replaces a person's name everywhere by a pseudonym, revokes their tokens and takes their roles
    /// away. Returns the pseudonym. Only for administrators.
    #[tracing::instrument(skip_all)]
    pub async fn purge_subject(
        &self,
        caller: &Caller,
        subject: &Subject,
    ) -> Result<Subject, StoreError> {
        caller.require_administrator(Action::Operate)?;
        let random: [u8; 16] = random_bytes()?;
        let pseudonym = Subject::parse(&format!("erased-{}", &crate::store::hex(random)[..12]))
            .map_err(|_| StoreError::corrupt("a bad pseudonym"))?;
        // An administrator who erases themself appears under the pseudonym from here on.
        let actor = if caller.subject == *subject { &pseudonym } else { &caller.subject };
        let mut tx = self.begin_write(actor).await?;
        let result = commit_pseudonym(&mut tx, subject, &pseudonym).await;
        tx.finish(result).await?;
        Ok(pseudonym)
    }
}

/// Columns that hold a person's name, and nothing else.
const NAMES: &[&str] = &[
    "UPDATE namespaces SET created_by = $2 WHERE created_by = $1",
    "UPDATE grants SET subject = $2 WHERE subject = $1",
    "UPDATE skills SET created_by = $2 WHERE created_by = $1",
    "UPDATE versions SET publisher = $2 WHERE publisher = $1",
    "UPDATE channels SET moved_by = $2 WHERE moved_by = $1",
    "UPDATE revoked_content SET revoked_by = $2 WHERE revoked_by = $1",
    "UPDATE tokens SET subject = $2 WHERE subject = $1",
    "UPDATE tokens SET created_by = $2 WHERE created_by = $1",
    "UPDATE trusted_publishers SET subject = $2 WHERE subject = $1",
    "UPDATE decisions SET decided_by = $2 WHERE decided_by = $1",
    "UPDATE upstreams SET created_by = $2 WHERE created_by = $1",
    "UPDATE audit SET actor = $2, actor_salt = NULL WHERE actor = $1",
];

async fn commit_pseudonym(
    tx: &mut WriteTx,
    subject: &Subject,
    pseudonym: &Subject,
) -> Result<(), StoreError> {
    let select = "SELECT id FROM tokens WHERE subject = $1 AND revoked_at IS NULL";
    let tokens = tx.tx().rows(select, args![subject.as_str()]).await?;
    for row in tokens {
        let update = "UPDATE tokens SET revoked_at = $2 WHERE id = $1";
        tx.execute(update, args![row.int(0)?, tx.now.as_millis()]).await?;
        tx.announce(HubChange::TokenChanged { token: row.count(0)? }).await?;
    }
    for update in NAMES {
        tx.execute(update, args![subject.as_str(), pseudonym.as_str()]).await?;
    }
    // Details of roles and tokens name their subject, and a free text may.
    let details = if tx.tx().is_postgres() {
        "UPDATE audit SET details = '', details_salt = NULL WHERE position($1 in details) > 0"
    } else {
        "UPDATE audit SET details = '', details_salt = NULL WHERE instr(details, $1) > 0"
    };
    tx.execute(details, args![subject.as_str()]).await?;
    tx.audit(NewAuditEntry {
        action: AuditAction::Purge,
        target: pseudonym.to_string(),
        content: None,
        details: "{}".to_owned(),
    })
    .await
}
