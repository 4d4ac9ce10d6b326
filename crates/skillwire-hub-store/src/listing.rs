//! Lists of skills and versions for callers, and versions for replicas that serve them.

use bytes::Bytes;
use semver::Version;
use serde::Serialize;
use skillwire_core::{ContentId, Digest};
use skillwire_hub::{
    Action, AuditAction, Caller, ChannelName, Cursor, NameConflict, NamespaceName, NewAuditEntry,
    Page, PageRequest, Refusal, SkillId, Subject, Timestamp, VersionFile, VersionRecord,
    VersionRef, VersionState,
};

use crate::{
    error::StoreError,
    lifecycle::load_allowed,
    namespaces::load_required,
    records::{
        conflict_of, files_from_json, skill_id_of, subject_of, time_of, version_columns, version_of,
    },
    sql::{Row, Tx, args},
    store::{HubStore, number},
};

/// A channel of a skill, and what it points to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelPointer {
    /// The channel.
    pub name: ChannelName,
    /// The version it points to.
    pub version: Version,
    /// The state of that version.
    pub state: VersionState,
    /// Whether the version is served: a yanked or revoked one is not.
    pub served: bool,
    /// When it was moved.
    pub moved_at: Timestamp,
    /// Who moved it.
    pub moved_by: Subject,
}

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillSummary {
    /// Its namespace and name.
    pub id: SkillId,
    /// When it was first published.
    pub created_at: Timestamp,
    /// The protected or popular name that its own is like, until an administrator approved it.
    pub name_conflict: Option<NameConflict>,
    /// Its channels, by name.
    pub channels: Vec<ChannelPointer>,
}

/// A version as a replica serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedVersion {
    /// The skill.
    pub id: SkillId,
    /// The version.
    pub version: Version,
    /// The identity of its files.
    pub content: ContentId,
    /// Approved or deprecated; yanked if it was asked for by its number.
    pub state: VersionState,
    /// Its files, in order of their paths.
    pub files: Vec<VersionFile>,
    /// What the server layer kept beside the version.
    pub entry: String,
    /// When it was published.
    pub published_at: Timestamp,
    /// Who published it.
    pub publisher: Subject,
}

/// The columns that [`served_of`] reads, of `versions v` and `skills s`.
macro_rules! served_columns {
    () => {
        "s.namespace, s.name, v.version, v.content, v.state, v.files, v.entry, v.published_at, \
         v.publisher"
    };
}

fn served_of(row: &Row) -> Result<ServedVersion, StoreError> {
    Ok(ServedVersion {
        id: skill_id_of(row, 0)?,
        version: row.parsed(2, "version")?,
        content: row.parsed(3, "content")?,
        state: row.parsed(4, "state")?,
        files: files_from_json(&row.text(5)?)?,
        entry: row.text(6)?,
        published_at: time_of(row, 7)?,
        publisher: subject_of(row, 8)?,
    })
}

impl HubStore {
    /// Lists skills by namespace and name: those of one namespace, or all that the caller may read.
    pub async fn skills(
        &self,
        caller: &Caller,
        namespace: Option<&NamespaceName>,
        page: &PageRequest,
    ) -> Result<Page<SkillSummary>, StoreError> {
        let after = match &page.after {
            Some(cursor) => cursor.key("skills", 2)?,
            None => vec![String::new(), String::new()],
        };
        let readable = match namespace {
            Some(name) => vec![self.namespace(caller, name).await?.name],
            None => self.readable_namespaces(caller).await?,
        };
        let mut tx = self.begin_read().await?;
        let mut found = Vec::new();
        let wanted = page.limit() as usize + 1;
        // One namespace after the other, so that a page costs what it shows and not what it hides.
        for name in readable.iter().filter(|name| name.as_str() >= after[0].as_str()) {
            let start = if name.as_str() == after[0] { after[1].as_str() } else { "" };
            let select = "SELECT namespace, name, key, created_at, conflict_with, conflict_kind
                FROM skills WHERE namespace = $1 AND name > $2 ORDER BY name LIMIT $3";
            let room = number((wanted - found.len()) as u64);
            found.extend(tx.rows(select, args![name.as_str(), start, room]).await?);
            if found.len() >= wanted {
                break;
            }
        }
        let mut skills = Vec::with_capacity(found.len());
        for row in &found {
            skills.push(summary(&mut tx, row).await?);
        }
        tx.commit().await?;
        Ok(Page::cut(skills, page.limit(), |last: &SkillSummary| {
            Cursor::new("skills", &[last.id.namespace.as_str(), last.id.name.as_str()])
        }))
    }

    async fn readable_namespaces(&self, caller: &Caller) -> Result<Vec<NamespaceName>, StoreError> {
        let all = self.all_namespaces().await?;
        let readable = all.into_iter().filter(|namespace| caller.may(Action::Read, namespace));
        Ok(readable.map(|namespace| namespace.name).collect())
    }

    /// Returns a skill with its channels.
    pub async fn skill(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<SkillSummary, StoreError> {
        let mut tx = self.begin_read().await?;
        load_required(&mut tx, caller, &skill.namespace, Action::Read).await?;
        let select = "SELECT namespace, name, key, created_at, conflict_with, conflict_kind
            FROM skills WHERE namespace = $1 AND name = $2";
        let found = tx.row(select, args![skill.namespace.as_str(), skill.name.as_str()]).await?;
        let row = found.ok_or_else(|| Refusal::UnknownSkill(skill.clone()))?;
        let summary = summary(&mut tx, &row).await?;
        tx.commit().await?;
        Ok(summary)
    }

    /// Lists the versions of a skill, the last published first.
    pub async fn versions(
        &self,
        caller: &Caller,
        skill: &SkillId,
        page: &PageRequest,
    ) -> Result<Page<VersionRecord>, StoreError> {
        let before = match &page.after {
            Some(cursor) => number(cursor.number("versions")?),
            None => i64::MAX,
        };
        let mut tx = self.begin_read().await?;
        let key = load_allowed(&mut tx, caller, skill, Action::Read).await?.1.key;
        let select = concat!(
            "SELECT ",
            version_columns!(),
            " FROM versions v JOIN skills s ON s.key = v.skill
            WHERE v.skill = $1 AND v.key < $2 ORDER BY v.key DESC LIMIT $3"
        );
        let rows = tx.rows(select, args![key, before, i64::from(page.limit()) + 1]).await?;
        tx.commit().await?;
        version_page(&rows, page, "versions")
    }

    /// Lists versions that wait for a review the caller may make, the longest waiting first.
    pub async fn waiting(
        &self,
        caller: &Caller,
        page: &PageRequest,
    ) -> Result<Page<VersionRecord>, StoreError> {
        let mut after = match &page.after {
            Some(cursor) => number(cursor.number("waiting")?),
            None => 0,
        };
        let all = self.all_namespaces().await?;
        let mine: Vec<_> =
            all.iter().filter(|namespace| caller.may(Action::Review, namespace)).collect();
        let select = concat!(
            "SELECT ",
            version_columns!(),
            " FROM versions v JOIN skills s ON s.key = v.skill
            WHERE v.state = 'quarantined' AND v.key > $1 ORDER BY v.key LIMIT $2"
        );
        let wanted = page.limit() as usize + 1;
        let mut rows = Vec::new();
        loop {
            let found = self.database().rows(select, args![after, number(wanted as u64)]).await?;
            let last = found.len() < wanted;
            for row in found {
                after = row.int(14)?;
                let namespace: NamespaceName = row.parsed(0, "namespace")?;
                if mine.iter().any(|mine| mine.name == namespace) {
                    rows.push(row);
                }
            }
            if last || rows.len() >= wanted {
                return version_page(&rows, page, "waiting");
            }
        }
    }

    /// Returns a version with its files.
    pub async fn version(
        &self,
        caller: &Caller,
        version: &VersionRef,
    ) -> Result<VersionRecord, StoreError> {
        let mut tx = self.begin_read().await?;
        load_required(&mut tx, caller, &version.skill.namespace, Action::Read).await?;
        let record = load_version(&mut tx, version).await;
        tx.commit().await?;
        record
    }

    /// Returns a page of what a channel serves, in the order in which the skills were made.
    ///
    /// It is for replicas, which see everything and build a view for each class of callers.
    #[tracing::instrument(skip_all, fields(%channel))]
    pub async fn served_page(
        &self,
        channel: &ChannelName,
        page: &PageRequest,
    ) -> Result<Page<ServedVersion>, StoreError> {
        let after = match &page.after {
            Some(cursor) => number(cursor.number("served")?),
            None => 0,
        };
        let select = concat!(
            "SELECT ",
            served_columns!(),
            ", c.skill FROM channels c
            JOIN versions v ON v.key = c.version JOIN skills s ON s.key = c.skill
            WHERE c.name = $1 AND c.skill > $2 ORDER BY c.skill LIMIT $3"
        );
        let limit = i64::from(page.limit()) + 1;
        let rows = self.database().rows(select, args![channel.as_str(), after, limit]).await?;
        let mut keyed = Vec::with_capacity(rows.len());
        for row in &rows {
            keyed.push((row.int(9)?, served_of(row)?));
        }
        let page =
            Page::cut(keyed, page.limit(), |(key, _)| Cursor::new("served", &[&key.to_string()]));
        let served = page.items.into_iter().map(|(_, version)| version);
        let items = served.filter(|version| version.state.is_served()).collect();
        Ok(Page { items, next: page.next })
    }

    /// Returns what a channel serves of one skill.
    pub async fn served(
        &self,
        channel: &ChannelName,
        skill: &SkillId,
    ) -> Result<Option<ServedVersion>, StoreError> {
        let select = concat!(
            "SELECT ",
            served_columns!(),
            " FROM skills s JOIN channels c ON c.skill = s.key JOIN versions v ON v.key = c.version
            WHERE s.namespace = $1 AND s.name = $2 AND c.name = $3"
        );
        let names = args![skill.namespace.as_str(), skill.name.as_str(), channel.as_str()];
        let row = self.database().row(select, names).await?;
        let served = row.map(|row| served_of(&row)).transpose()?;
        Ok(served.filter(|version| version.state.is_served()))
    }

    /// Returns a version by its number, if its files may be read: also a yanked one.
    pub async fn pinned(&self, version: &VersionRef) -> Result<Option<ServedVersion>, StoreError> {
        let select = concat!(
            "SELECT ",
            served_columns!(),
            " FROM skills s JOIN versions v ON v.skill = s.key
            WHERE s.namespace = $1 AND s.name = $2 AND v.version = $3 AND v.purged = 0"
        );
        let skill = &version.skill;
        let number = version.version.to_string();
        let names = args![skill.namespace.as_str(), skill.name.as_str(), number];
        let row = self.database().row(select, names).await?;
        let pinned = row.map(|row| served_of(&row)).transpose()?;
        Ok(pinned.filter(|version| version.state.is_readable()))
    }

    /// Lists the versions that have a content, that the caller may read and whose files may be served, the first
    /// published first.
    pub async fn versions_with(
        &self,
        caller: &Caller,
        content: &ContentId,
        page: &PageRequest,
    ) -> Result<Page<ServedVersion>, StoreError> {
        let mut after = match &page.after {
            Some(cursor) => number(cursor.number("content")?),
            None => 0,
        };
        let readable = self.readable_namespaces(caller).await?;
        let select = concat!(
            "SELECT ",
            served_columns!(),
            ", v.key FROM versions v JOIN skills s ON s.key = v.skill
            WHERE v.content = $1 AND v.purged = 0 AND v.key > $2 ORDER BY v.key LIMIT $3"
        );
        let wanted = page.limit() as usize + 1;
        let mut found = Vec::new();
        loop {
            let limits = args![content.to_string(), after, number(wanted as u64)];
            let rows = self.database().rows(select, limits).await?;
            for row in &rows {
                after = row.int(9)?;
                let version = served_of(row)?;
                // What the caller may not know of must not show in the cursor either.
                if version.state.is_served() && readable.contains(&version.id.namespace) {
                    found.push((after, version));
                }
            }
            if rows.len() < wanted || found.len() >= wanted {
                let cursor = |(key, _): &(i64, _)| Cursor::new("content", &[&key.to_string()]);
                return Ok(Page::cut(found, page.limit(), cursor).map(|(_, version)| version));
            }
        }
    }

    /// Lists the names of all channels that any skill has.
    pub async fn channel_names(&self) -> Result<Vec<ChannelName>, StoreError> {
        let select = "SELECT DISTINCT name FROM channels ORDER BY name";
        let rows = self.database().rows(select, args![]).await?;
        rows.iter().map(|row| row.parsed(0, "channel")).collect()
    }

    /// Reads a stored file and compares its bytes with its digest. One that was changed is never
    /// returned, and is recorded in the audit log.
    pub async fn read_blob(&self, digest: &Digest, size: u64) -> Result<Bytes, StoreError> {
        let read = self.blobs().get_cached(digest, size).await;
        if let Err(StoreError::BlobDamaged { .. } | StoreError::BlobMissing { .. }) = &read {
            tracing::error!(%digest, "a stored file is damaged or missing and is not served");
            if let Err(error) = self.report_damage(digest).await {
                tracing::error!(%digest, %error, "the damage could not be recorded");
            }
        }
        read
    }

    /// Reads a stored file without waiting, if it is in a folder of this machine and in the memory of its
    /// kernel. The caller compares the bytes with the digest.
    pub fn read_blob_now(&self, digest: &Digest, size: u64) -> Option<Bytes> {
        self.blobs().read_now(digest, size)
    }

    /// Records that a blob is damaged; once, not for every read of it.
    async fn report_damage(&self, digest: &Digest) -> Result<(), StoreError> {
        let target = digest.to_string();
        let select = "SELECT number FROM audit WHERE target = $1 AND action = 'blob-damaged'
            ORDER BY number DESC LIMIT 1";
        if self.database().row(select, args![&target]).await?.is_some() {
            return Ok(());
        }
        let mut tx = self.begin_write(&crate::hub_subject()?).await?;
        let entry = NewAuditEntry {
            action: AuditAction::BlobDamaged,
            target,
            content: None,
            details: "{}".to_owned(),
        };
        let result = tx.audit(entry).await;
        tx.finish(result).await
    }
}

fn version_page(
    rows: &[Row],
    page: &PageRequest,
    list: &str,
) -> Result<Page<VersionRecord>, StoreError> {
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        keyed.push((row.int(14)?, version_of(row)?));
    }
    let page = Page::cut(keyed, page.limit(), |(key, _)| Cursor::new(list, &[&key.to_string()]));
    Ok(page.map(|(_, version)| version))
}

async fn summary(tx: &mut Tx, row: &Row) -> Result<SkillSummary, StoreError> {
    let channels = "SELECT c.name, v.version, v.state, c.moved_at, c.moved_by FROM channels c
        JOIN versions v ON v.key = c.version WHERE c.skill = $1 ORDER BY c.name";
    let channels = tx.rows(channels, args![row.int(2)?]).await?;
    Ok(SkillSummary {
        id: skill_id_of(row, 0)?,
        created_at: time_of(row, 3)?,
        name_conflict: conflict_of(row.optional_text(4)?, row.optional_text(5)?)?,
        channels: channels.iter().map(pointer_of).collect::<Result<_, _>>()?,
    })
}

fn pointer_of(row: &Row) -> Result<ChannelPointer, StoreError> {
    let state: VersionState = row.parsed(2, "state")?;
    Ok(ChannelPointer {
        name: row.parsed(0, "channel")?,
        version: row.parsed(1, "version")?,
        state,
        served: state.is_served(),
        moved_at: time_of(row, 3)?,
        moved_by: subject_of(row, 4)?,
    })
}

/// Loads one channel of a skill.
pub(crate) async fn pointer(
    tx: &mut Tx,
    skill: i64,
    channel: &ChannelName,
) -> Result<ChannelPointer, StoreError> {
    let select = "SELECT c.name, v.version, v.state, c.moved_at, c.moved_by FROM channels c
        JOIN versions v ON v.key = c.version WHERE c.skill = $1 AND c.name = $2";
    let row = tx.row(select, args![skill, channel.as_str()]).await?;
    let row = row.ok_or_else(|| StoreError::corrupt(format!("no row of channel `{channel}`")))?;
    pointer_of(&row)
}

/// Loads one version with its files.
pub(crate) async fn load_version(
    tx: &mut Tx,
    version: &VersionRef,
) -> Result<VersionRecord, StoreError> {
    let select = concat!(
        "SELECT ",
        version_columns!(),
        " FROM versions v JOIN skills s ON s.key = v.skill
        WHERE s.namespace = $1 AND s.name = $2 AND v.version = $3"
    );
    let skill = &version.skill;
    let names = args![skill.namespace.as_str(), skill.name.as_str(), version.version.to_string()];
    let row = tx.row(select, names).await?;
    let row = row.ok_or_else(|| Refusal::UnknownVersion {
        skill: skill.clone(),
        version: version.version.clone(),
    })?;
    version_of(&row)
}
