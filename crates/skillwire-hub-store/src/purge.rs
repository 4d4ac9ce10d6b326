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

    /// Replaces a person's name by a pseudonym in every record that names its actor, revokes their tokens and
    /// leaves their roles to the pseudonym, with which nobody can act. Details of the log that hold the name are
    /// emptied. Returns nothing if no record has the name. Only for administrators.
    ///
    /// Texts that people wrote, such as the reason of a revocation, stay as they are outside the log.
    #[tracing::instrument(skip_all)]
    pub async fn purge_subject(
        &self,
        caller: &Caller,
        subject: &Subject,
        reason: &str,
    ) -> Result<Option<ErasedSubject>, StoreError> {
        caller.require_administrator(Action::Operate)?;
        check_reason(reason)?;
        if *subject == Subject::everyone() || *subject == crate::hub_subject()? {
            return Err(Refusal::NotAPerson(subject.clone()).into());
        }
        let random: [u8; 16] = random_bytes()?;
        let pseudonym = Subject::parse(&format!("erased-{}", &crate::store::hex(random)[..12]))
            .map_err(|_| StoreError::corrupt("a bad pseudonym"))?;
        // An administrator who erases themself appears under the pseudonym from here on.
        let actor = if caller.subject == *subject { &pseudonym } else { &caller.subject };
        let mut tx = self.begin_write(actor).await?;
        let result = commit_pseudonym(&mut tx, subject, pseudonym, reason).await;
        tx.finish(result).await
    }
}

/// What was erased of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedSubject {
    /// The name that stands in place of the person's.
    pub pseudonym: Subject,
    /// In how many places the person was named.
    pub records: u64,
    /// How many tokens of the person were revoked.
    pub tokens: u64,
}

/// Columns that hold a person's name, and nothing else.
const NAMES: &[&str] = &[
    "UPDATE namespaces SET created_by = $2 WHERE created_by = $1",
    "UPDATE grants SET subject = $2 WHERE subject = $1",
    "UPDATE skills SET created_by = $2 WHERE created_by = $1",
    "UPDATE versions SET publisher = $2 WHERE publisher = $1",
    "UPDATE channels SET moved_by = $2 WHERE moved_by = $1",
    "UPDATE revoked_content SET revoked_by = $2 WHERE revoked_by = $1",
    // Most tokens are called like their subject.
    "UPDATE tokens SET name = $2 WHERE subject = $1 OR name = $1",
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
    pseudonym: Subject,
    reason: &str,
) -> Result<Option<ErasedSubject>, StoreError> {
    let mut erased = ErasedSubject { pseudonym, records: 0, tokens: 0 };
    let select = "SELECT DISTINCT namespace FROM grants WHERE subject = $1";
    for row in tx.tx().rows(select, args![subject.as_str()]).await? {
        let namespace = row.parsed(0, "namespace")?;
        tx.announce(HubChange::NamespaceChanged { namespace }).await?;
    }
    let select = "SELECT id FROM tokens WHERE subject = $1 AND revoked_at IS NULL";
    let tokens = tx.tx().rows(select, args![subject.as_str()]).await?;
    for row in tokens {
        let update = "UPDATE tokens SET revoked_at = $2 WHERE id = $1";
        tx.execute(update, args![row.int(0)?, tx.now.as_millis()]).await?;
        tx.announce(HubChange::TokenChanged { token: row.count(0)? }).await?;
        erased.tokens += 1;
    }
    for update in NAMES {
        let values = args![subject.as_str(), erased.pseudonym.as_str()];
        erased.records += tx.execute(update, values).await?;
    }
    erased.records += forget_details(tx, subject).await?;
    if erased.records == 0 {
        return Ok(None);
    }
    let reason = reason.replace(subject.as_str(), erased.pseudonym.as_str());
    tx.audit(NewAuditEntry {
        action: AuditAction::Purge,
        target: erased.pseudonym.to_string(),
        content: None,
        details: serde_json::json!({ "reason": reason }).to_string(),
    })
    .await?;
    Ok(Some(erased))
}

/// Empties details of the log that hold a name: those of roles and tokens name their subject, and a free text
/// may. A longer word in which the name occurs is another one.
async fn forget_details(tx: &mut WriteTx, subject: &Subject) -> Result<u64, StoreError> {
    let select = if tx.tx().is_postgres() {
        "SELECT number, details FROM audit WHERE number > $2 AND position($1 in details) > 0
         ORDER BY number LIMIT 1000"
    } else {
        "SELECT number, details FROM audit WHERE number > $2 AND instr(details, $1) > 0
         ORDER BY number LIMIT 1000"
    };
    let (mut last, mut count) = (0, 0);
    loop {
        let rows = tx.tx().rows(select, args![subject.as_str(), last]).await?;
        let Some(end) = rows.last() else { return Ok(count) };
        last = end.int(0)?;
        for row in &rows {
            if holds_word(&row.text(1)?, subject.as_str()) {
                let empty = "UPDATE audit SET details = '', details_salt = NULL WHERE number = $1";
                count += tx.execute(empty, args![row.int(0)?]).await?;
            }
        }
    }
}

/// Whether a text holds a word that no letter or digit continues on either side.
fn holds_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_word_only() {
        assert!(holds_word(r#"{"subject":"ana"}"#, "ana"));
        assert!(holds_word("banana of ana.", "ana"));
        assert!(!holds_word("banana and anatomy", "ana"));
    }
}
