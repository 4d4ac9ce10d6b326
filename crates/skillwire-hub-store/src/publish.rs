//! Publishing a version: blobs first, then one transaction, then the acknowledgement.
//!
//! A crash before the transaction leaves at most blobs that nothing names, which garbage collection
//! finds: each blob has a row before it is written. A crash after it loses nothing.

use std::collections::BTreeMap;

use bytes::Bytes;
use semver::Version;
use skillwire_core::{ContentId, Digest, RelPath, SKILL_FILE};
use skillwire_hub::{
    Action, AuditAction, Caller, HubChange, NameConflict, Namespace, NewAuditEntry, Provenance,
    Publication, PublishOutcome, Refusal, ReviewPolicy, Skill, SkillChange, SkillId, Subject,
    VersionFile, VersionRef, VersionState, lookup_keys, similarity,
};

use crate::{
    blobs,
    changes::{apply_change, insert_guards},
    error::StoreError,
    records::{LoadedSkill, files_to_json, load_namespace, load_skill, skill_id_of},
    sql::{Tx, Value, args, with_rows},
    store::{HubStore, ROWS_PER_STATEMENT, WriteTx, number, to_json},
    upstreams::require_own,
};

/// The longest entry and provenance, in bytes.
const MAX_ENTRY_BYTES: usize = 256 << 10;
const MAX_PROVENANCE_BYTES: usize = 8 << 10;

/// One file of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// The path below the skill's root.
    pub path: RelPath,
    /// Its bytes.
    pub bytes: Bytes,
    /// The digest that the publisher claims for them.
    pub claimed: Option<Digest>,
}

/// What a publisher uploads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Upload {
    /// The skill.
    pub skill: SkillId,
    /// Its files.
    pub files: Vec<UploadedFile>,
    /// The version the publisher asks for.
    pub version: Option<Version>,
    /// `metadata.version` of the skill.
    pub declared_version: Option<String>,
    /// The identity that the publisher claims for the files.
    pub content: Option<ContentId>,
    /// What the server layer needs to list the version without opening its files.
    pub entry: String,
    /// Where the files come from.
    pub provenance: Provenance,
    /// Whether to decide only, and change nothing.
    pub dry_run: bool,
}

impl Upload {
    /// An upload of some files as the next version.
    pub fn new(skill: SkillId, files: Vec<UploadedFile>) -> Self {
        Self {
            skill,
            files,
            version: None,
            declared_version: None,
            content: None,
            entry: String::new(),
            provenance: Provenance::default(),
            dry_run: false,
        }
    }

    /// Asks for a version.
    #[must_use]
    pub fn with_version(mut self, version: Option<Version>) -> Self {
        self.version = version;
        self
    }

    /// Says which version the skill's metadata has.
    #[must_use]
    pub fn with_declared_version(mut self, version: Option<String>) -> Self {
        self.declared_version = version;
        self
    }

    /// Claims an identity, which must be that of the files.
    #[must_use]
    pub fn with_content(mut self, content: Option<ContentId>) -> Self {
        self.content = content;
        self
    }

    /// Sets what the server layer keeps beside the version.
    #[must_use]
    pub fn with_entry(mut self, entry: String) -> Self {
        self.entry = entry;
        self
    }

    /// Says where the files come from.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Decides only, and changes nothing.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// What a publication did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The version.
    pub version: VersionRef,
    /// The identity of its files.
    pub content: ContentId,
    /// The state it is in.
    pub state: VersionState,
    /// Whether the skill had a version with the same bytes before.
    pub existing: bool,
    /// The protected or popular name because of which the version waits for an administrator.
    pub name_conflict: Option<NameConflict>,
    /// The number of the last event of this publication; a replica that has seen it serves the version.
    pub event: Option<u64>,
}

/// An upload whose bytes were hashed and compared with what the publisher claims.
struct CheckedUpload {
    upload: Upload,
    content: ContentId,
    files: Vec<VersionFile>,
    size: u64,
}

impl CheckedUpload {
    fn new(mut upload: Upload) -> Result<Self, StoreError> {
        bounded("entry", &upload.entry, MAX_ENTRY_BYTES)?;
        bounded("provenance", &to_json(&upload.provenance)?, MAX_PROVENANCE_BYTES)?;
        let (files, content) = identify(&mut upload.files)?;
        if let Some(claimed) = upload.content.filter(|claimed| *claimed != content) {
            return Err(Refusal::ContentDiffers { claimed, actual: content }.into());
        }
        let size = files.iter().map(|file| file.size).sum();
        Ok(Self { upload, content, files, size })
    }

    fn blobs(&self) -> BTreeMap<Digest, Bytes> {
        distinct_blobs(&self.upload.files, &self.files)
    }
}

/// Sorts and hashes files, and compares them with what was claimed for them.
pub(crate) fn identify(
    files: &mut [UploadedFile],
) -> Result<(Vec<VersionFile>, ContentId), Refusal> {
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut hashed = Vec::with_capacity(files.len());
    for file in files {
        let actual = Digest::of(&file.bytes);
        if let Some(claimed) = file.claimed.filter(|claimed| *claimed != actual) {
            let path = file.path.as_str().to_owned();
            return Err(Refusal::DigestDiffers { path, claimed, actual });
        }
        let size = file.bytes.len() as u64;
        hashed.push(VersionFile { path: file.path.clone(), digest: actual, size });
    }
    if !hashed.iter().any(|file| file.path.as_str() == SKILL_FILE) {
        return Err(Refusal::NoSkillFile);
    }
    let content =
        ContentId::of(hashed.iter().map(|file| (file.path.clone(), file.digest, file.size)))
            .map_err(Refusal::NoIdentity)?;
    Ok((hashed, content))
}

/// The distinct blobs of files that were hashed: two files with the same bytes are one.
pub(crate) fn distinct_blobs(
    files: &[UploadedFile],
    hashed: &[VersionFile],
) -> BTreeMap<Digest, Bytes> {
    let digests = hashed.iter().map(|file| file.digest);
    digests.zip(files.iter().map(|file| file.bytes.clone())).collect()
}

pub(crate) fn bounded(what: &'static str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.len() > limit { Err(Refusal::BadText { what, limit }) } else { Ok(()) }
}

/// What the rules decide about an upload.
struct PublishPlan {
    /// The skill; its key is 0 until it has a row.
    loaded: LoadedSkill,
    namespace: Namespace,
    outcome: PublishOutcome,
}

impl HubStore {
    /// Publishes a version. The same bytes again are answered with the version that exists.
    #[tracing::instrument(skip_all, fields(skill = %upload.skill, files = upload.files.len()))]
    pub async fn publish(&self, caller: &Caller, upload: Upload) -> Result<Published, StoreError> {
        // Counted before anything is hashed or stored.
        let size = upload.files.iter().map(|file| file.bytes.len() as u64).sum();
        let count = upload.files.len() as u64;
        let mut tx = self.begin_read().await?;
        let namespace = load_namespace(&mut tx, &upload.skill.namespace).await?;
        let namespace = allowed(caller, namespace, &upload.skill)?;
        namespace.quotas.check_version(count, size)?;
        // Sixteen megabytes take tens of milliseconds to hash.
        let upload = blobs::blocking(move || CheckedUpload::new(upload)).await??;
        let plan = decide(&mut tx, caller, &upload).await?;
        tx.commit().await?;
        let dry_run = upload.upload.dry_run;
        if dry_run || matches!(plan.outcome, PublishOutcome::Existing { .. }) {
            return Ok(published(&upload, &plan, None));
        }
        let mut attempts = 0;
        loop {
            self.keep_blobs(&caller.subject, upload.blobs()).await?;
            let mut tx = self.begin_write(&caller.subject).await?;
            let result = commit_publication(&mut tx, caller, &upload).await;
            match tx.finish(result).await {
                // A purge erased the same bytes in between.
                Err(StoreError::BlobMissing { .. }) if attempts < 3 => attempts += 1,
                outcome => return outcome,
            }
        }
    }

    /// Publishes versions of several skills at once: all of them, or none.
    ///
    /// Their files are written together, and one transaction names all of them. This takes a fraction of the
    /// time that one publication after the other takes.
    #[tracing::instrument(skip_all, fields(uploads = uploads.len()))]
    pub async fn publish_all(
        &self,
        caller: &Caller,
        uploads: Vec<Upload>,
    ) -> Result<Vec<Published>, StoreError> {
        let checked = blobs::blocking(move || {
            uploads.into_iter().map(CheckedUpload::new).collect::<Result<Vec<_>, _>>()
        });
        let uploads = checked.await??;
        let mut tx = self.begin_read().await?;
        for upload in &uploads {
            // What would be refused must not leave files behind.
            decide(&mut tx, caller, upload).await?;
        }
        tx.commit().await?;
        self.keep_blobs(&caller.subject, uploads.iter().flat_map(CheckedUpload::blobs).collect())
            .await?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let mut published = Vec::with_capacity(uploads.len());
        let mut result = Ok(());
        for upload in &uploads {
            match commit_publication(&mut tx, caller, upload).await {
                Ok(one) => published.push(one),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        tx.finish(result).await?;
        Ok(published)
    }

    /// Writes blobs, after a row for each of them: see [`crate::GcOptions`] for what the row is for.
    pub(crate) async fn keep_blobs(
        &self,
        publisher: &Subject,
        blobs: BTreeMap<Digest, Bytes>,
    ) -> Result<(), StoreError> {
        let rows: Vec<(String, u64)> =
            blobs.iter().map(|(digest, bytes)| (digest.hex(), bytes.len() as u64)).collect();
        let mut tx = self.begin_write(publisher).await?;
        let result = touch_blobs(&mut tx, &rows).await;
        tx.finish(result).await?;
        self.blobs().put_all(blobs).await
    }
}

/// Says of blobs that a publication is about to name them.
async fn touch_blobs(tx: &mut WriteTx, blobs: &[(String, u64)]) -> Result<(), StoreError> {
    let now = tx.now.as_millis();
    for chunk in blobs.chunks(ROWS_PER_STATEMENT) {
        let sql = with_rows(
            "INSERT INTO blobs (digest, size, touched_at) VALUES",
            3,
            chunk.len(),
            " ON CONFLICT (digest) DO UPDATE SET touched_at = excluded.touched_at",
        );
        let values = chunk.iter().flat_map(|(hex, size)| args![hex, number(*size), now]).collect();
        tx.tx().execute_built(sql, values).await?;
    }
    Ok(())
}

fn allowed(
    caller: &Caller,
    namespace: Option<Namespace>,
    skill: &SkillId,
) -> Result<Namespace, Refusal> {
    let namespace = namespace.ok_or_else(|| Refusal::UnknownNamespace(skill.namespace.clone()))?;
    caller.require(Action::Publish, &namespace)?;
    Ok(namespace)
}

/// Decides what an upload does, in one state of the database.
async fn decide(
    tx: &mut Tx,
    caller: &Caller,
    upload: &CheckedUpload,
) -> Result<PublishPlan, StoreError> {
    let id = &upload.upload.skill;
    let namespace = allowed(caller, load_namespace(tx, &id.namespace).await?, id)?;
    require_own(tx, &id.namespace).await?;
    namespace.quotas.check_version(upload.files.len() as u64, upload.size)?;
    let revoked = "SELECT at FROM revoked_content WHERE content = $1";
    if tx.row(revoked, args![upload.content.to_string()]).await?.is_some() {
        return Err(Refusal::ContentRevoked(upload.content).into());
    }
    let loaded = if let Some(loaded) = load_skill(tx, id).await? {
        loaded
    } else {
        let mut skill = Skill::new(id.clone());
        // An administrator would be the one to approve the name.
        if !caller.administrator {
            skill.name_conflict = find_conflict(tx, id).await?;
        }
        LoadedSkill { key: 0, skill, version_keys: BTreeMap::new() }
    };
    let publication = Publication::new(upload.content, caller.subject.clone())
        .with_requested(upload.upload.version.clone())
        .with_declared(upload.upload.declared_version.clone())
        .with_review(namespace.review == ReviewPolicy::Required);
    let outcome = loaded.skill.publish(&publication)?;
    if matches!(outcome, PublishOutcome::New { .. }) {
        let versions = loaded.skill.versions.len() as u64;
        namespace.quotas.check_room(&namespace.usage, versions, upload.size)?;
    }
    Ok(PublishPlan { loaded, namespace, outcome })
}

/// Finds a guarded name of another namespace that a new one is like.
async fn find_conflict(tx: &mut Tx, id: &SkillId) -> Result<Option<NameConflict>, StoreError> {
    const START: &str = "SELECT DISTINCT s.namespace, s.name FROM name_guards g
        JOIN skills s ON s.key = g.skill WHERE g.key IN ";
    let keys: Vec<Value> = lookup_keys(&id.name).into_iter().map(Value::from).collect();
    let sql = with_rows(START, keys.len(), 1, " LIMIT 1000");
    let mut conflicts = Vec::new();
    for row in tx.rows_built(sql, keys).await? {
        let with = skill_id_of(&row, 0)?;
        if with.namespace != id.namespace
            && let Some(similarity) = similarity(&id.name, &with.name)
        {
            conflicts.push(NameConflict { with, similarity });
        }
    }
    conflicts
        .sort_by(|one, other| (one.similarity, &one.with).cmp(&(other.similarity, &other.with)));
    Ok(conflicts.into_iter().next())
}

/// Decides again, now that no other writer can change anything, and writes the version.
async fn commit_publication(
    tx: &mut WriteTx,
    caller: &Caller,
    upload: &CheckedUpload,
) -> Result<Published, StoreError> {
    let mut plan = decide(tx.tx(), caller, upload).await?;
    let PublishOutcome::New { version, state, changes } = plan.outcome.clone() else {
        return Ok(published(upload, &plan, None));
    };
    let blobs: Vec<Digest> = upload.blobs().into_keys().collect();
    require_blobs(tx.tx(), &blobs).await?;
    let id = &upload.upload.skill;
    let new_skill = plan.loaded.key == 0;
    if new_skill {
        plan.loaded.key = insert_skill(tx, caller, &plan).await?;
    }
    let key = insert_version(tx, caller, upload, &plan, (&version, state)).await?;
    plan.loaded.version_keys.insert(version.clone(), key);
    let usage = "UPDATE namespaces SET skills = skills + $2, versions = versions + 1,
        bytes = bytes + $3 WHERE name = $1";
    let values = args![id.namespace.as_str(), i64::from(new_skill), number(upload.size)];
    tx.execute(usage, values).await?;
    let details = serde_json::json!({
        "state": state,
        "files": upload.files.len(),
        "bytes": upload.size,
        "provenance": upload.upload.provenance,
        "name_conflict": plan.loaded.skill.name_conflict,
    });
    tx.audit(NewAuditEntry {
        action: AuditAction::Publish,
        target: VersionRef::new(id.clone(), version.clone()).to_string(),
        content: Some(upload.content),
        details: details.to_string(),
    })
    .await?;
    tx.announce(HubChange::VersionPublished {
        skill: id.clone(),
        version,
        content: upload.content,
        state,
    })
    .await?;
    for change in &changes {
        plan.loaded.skill.apply(change);
        if !matches!(change, SkillChange::Published { .. }) {
            apply_change(tx, caller, &plan.loaded, change, None).await?;
        }
    }
    let event = tx.last_event();
    Ok(published(upload, &plan, Some(event)))
}

/// Refuses to name blobs whose rows are gone, as then the blobs may be gone too.
pub(crate) async fn require_blobs(tx: &mut Tx, digests: &[Digest]) -> Result<(), StoreError> {
    for chunk in digests.chunks(ROWS_PER_STATEMENT) {
        let start = "SELECT count(*) FROM blobs WHERE digest IN";
        let sql = with_rows(start, chunk.len(), 1, "");
        let values = chunk.iter().map(|digest| Value::from(digest.hex())).collect();
        let rows = tx.rows_built(sql, values).await?;
        let count = rows.first().map_or(Ok(0), |row| row.count(0))?;
        if count != chunk.len() as u64 {
            return Err(StoreError::BlobMissing { digest: chunk[0] });
        }
    }
    Ok(())
}

async fn insert_skill(
    tx: &mut WriteTx,
    caller: &Caller,
    plan: &PublishPlan,
) -> Result<i64, StoreError> {
    let key = tx.next_key();
    let skill = &plan.loaded.skill;
    let conflict = skill.name_conflict.as_ref();
    let insert = "INSERT INTO skills (key, namespace, name, created_at, created_by, conflict_with,
        conflict_kind, popular) VALUES ($1, $2, $3, $4, $5, $6, $7, 0)";
    let values = args![
        key,
        skill.id.namespace.as_str(),
        skill.id.name.as_str(),
        tx.now.as_millis(),
        caller.subject.as_str(),
        conflict.map(|conflict| conflict.with.to_string()),
        conflict.map(|conflict| conflict.similarity.as_str().to_owned()),
    ];
    tx.execute(insert, values).await?;
    if plan.namespace.protected {
        insert_guards(tx, key, &skill.id.name).await?;
    }
    Ok(key)
}

async fn insert_version(
    tx: &mut WriteTx,
    caller: &Caller,
    upload: &CheckedUpload,
    plan: &PublishPlan,
    (version, state): (&Version, VersionState),
) -> Result<i64, StoreError> {
    let key = tx.next_key();
    let now = tx.now.as_millis();
    let insert = "INSERT INTO versions (key, skill, version, content, state, reason, changed_at,
        publisher, published_at, provenance, files, size, entry, purged)
        VALUES ($1, $2, $3, $4, $5, NULL, $6, $7, $8, $9, $10, $11, $12, 0)";
    let values = args![
        key,
        plan.loaded.key,
        version.to_string(),
        upload.content.to_string(),
        state.as_str(),
        now,
        caller.subject.as_str(),
        now,
        to_json(&upload.upload.provenance)?,
        files_to_json(&upload.files),
        number(upload.size),
        upload.upload.entry.as_str(),
    ];
    tx.execute(insert, values).await?;
    let mut digests: Vec<String> = upload.files.iter().map(|file| file.digest.hex()).collect();
    digests.sort_unstable();
    digests.dedup();
    for chunk in digests.chunks(ROWS_PER_STATEMENT) {
        let start = "INSERT INTO version_blobs (digest, version) VALUES";
        let sql = with_rows(start, 2, chunk.len(), "");
        let values = chunk.iter().flat_map(|hex| args![hex, key]).collect();
        tx.tx().execute_built(sql, values).await?;
    }
    Ok(key)
}

fn published(upload: &CheckedUpload, plan: &PublishPlan, event: Option<u64>) -> Published {
    let (version, state, existing) = match &plan.outcome {
        PublishOutcome::New { version, state, .. } => (version, *state, false),
        PublishOutcome::Existing { version, state } => (version, *state, true),
    };
    Published {
        version: VersionRef::new(upload.upload.skill.clone(), version.clone()),
        content: upload.content,
        state,
        existing,
        name_conflict: plan.loaded.skill.name_conflict.clone(),
        event,
    }
}
