//! How rows become records of the domain, and back.

use std::collections::BTreeMap;

use semver::Version;
use skillwire_core::{Digest, RelPath, SkillName};
use skillwire_hub::{
    Channel, ChannelName, NameConflict, Namespace, NamespaceName, ReviewPolicy, Similarity, Skill,
    SkillId, Subject, Timestamp, VersionFile, VersionHead, VersionRecord,
};

use crate::{
    error::StoreError,
    sql::{Row, Tx, args},
    store::from_json,
};

/// Loads a namespace with its grants.
pub(crate) async fn load_namespace(
    tx: &mut Tx,
    name: &NamespaceName,
) -> Result<Option<Namespace>, StoreError> {
    let select = "SELECT name, protected, review, quotas, skills, versions, bytes
        FROM namespaces WHERE name = $1";
    let Some(row) = tx.row(select, args![name.as_str()]).await? else {
        return Ok(None);
    };
    let mut namespace = namespace_of(&row)?;
    let grants = "SELECT subject, role FROM grants WHERE namespace = $1";
    for row in tx.rows(grants, args![name.as_str()]).await? {
        namespace.grant(row.parsed(0, "subject")?, row.parsed(1, "role")?);
    }
    Ok(Some(namespace))
}

/// Reads name, protected, review, quotas, skills, versions and bytes; the grants are missing.
pub(crate) fn namespace_of(row: &Row) -> Result<Namespace, StoreError> {
    let mut namespace = Namespace::new(row.parsed(0, "namespace")?)
        .with_protected(row.flag(1)?)
        .with_review(review_of(&row.text(2)?)?)
        .with_quotas(from_json(&row.text(3)?, "quotas")?);
    namespace.usage.skills = row.count(4)?;
    namespace.usage.versions = row.count(5)?;
    namespace.usage.bytes = row.count(6)?;
    Ok(namespace)
}

fn review_of(text: &str) -> Result<ReviewPolicy, StoreError> {
    match text {
        "none" => Ok(ReviewPolicy::None),
        "required" => Ok(ReviewPolicy::Required),
        other => Err(StoreError::corrupt(format!("the review policy `{other}`"))),
    }
}

pub(crate) fn review_text(review: ReviewPolicy) -> &'static str {
    match review {
        ReviewPolicy::None => "none",
        ReviewPolicy::Required => "required",
    }
}

/// A skill as the rules see it, with the keys of its rows.
pub(crate) struct LoadedSkill {
    pub(crate) key: i64,
    pub(crate) skill: Skill,
    pub(crate) version_keys: BTreeMap<Version, i64>,
}

/// Loads what the rules need to know of a skill.
pub(crate) async fn load_skill(
    tx: &mut Tx,
    id: &SkillId,
) -> Result<Option<LoadedSkill>, StoreError> {
    let select = "SELECT key, conflict_with, conflict_kind FROM skills
        WHERE namespace = $1 AND name = $2";
    let found = tx.row(select, args![id.namespace.as_str(), id.name.as_str()]).await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let key = row.int(0)?;
    let mut skill = Skill::new(id.clone());
    skill.name_conflict = conflict_of(row.optional_text(1)?, row.optional_text(2)?)?;
    let mut version_keys = BTreeMap::new();
    let versions = "SELECT key, version, content, state, publisher FROM versions WHERE skill = $1";
    for row in tx.rows(versions, args![key]).await? {
        let version: Version = row.parsed(1, "version")?;
        let head = VersionHead {
            content: row.parsed(2, "content")?,
            state: row.parsed(3, "state")?,
            publisher: row.parsed(4, "publisher")?,
        };
        version_keys.insert(version.clone(), row.int(0)?);
        skill.versions.insert(version, head);
    }
    let channels = "SELECT name, stack FROM channels WHERE skill = $1";
    for row in tx.rows(channels, args![key]).await? {
        let name: ChannelName = row.parsed(0, "channel")?;
        let channel: Channel = from_json(&row.text(1)?, "channel's history")?;
        skill.channels.insert(name, channel);
    }
    Ok(Some(LoadedSkill { key, skill, version_keys }))
}

pub(crate) fn conflict_of(
    with: Option<String>,
    kind: Option<String>,
) -> Result<Option<NameConflict>, StoreError> {
    let (Some(with), Some(kind)) = (with, kind) else {
        return Ok(None);
    };
    let corrupt = || StoreError::corrupt(format!("the name conflict `{kind}` with `{with}`"));
    let similarity =
        [Similarity::Same, Similarity::Confusable, Similarity::OneEdit, Similarity::Suffix]
            .into_iter()
            .find(|similarity| similarity.as_str() == kind)
            .ok_or_else(corrupt)?;
    Ok(Some(NameConflict { with: with.parse().map_err(|_| corrupt())?, similarity }))
}

/// The columns that [`version_of`] reads, of `versions v JOIN skills s`.
macro_rules! version_columns {
    () => {
        "s.namespace, s.name, v.version, v.content, v.state, v.reason, v.changed_at, v.publisher, \
         v.published_at, v.provenance, v.files, v.size, v.entry, v.purged, v.key"
    };
}
pub(crate) use version_columns;

/// Reads the columns of `version_columns!`.
pub(crate) fn version_of(row: &Row) -> Result<VersionRecord, StoreError> {
    Ok(VersionRecord {
        skill: skill_id_of(row, 0)?,
        version: row.parsed(2, "version")?,
        content: row.parsed(3, "content")?,
        state: row.parsed(4, "state")?,
        reason: row.optional_text(5)?,
        changed_at: time_of(row, 6)?,
        publisher: row.parsed(7, "publisher")?,
        published_at: time_of(row, 8)?,
        provenance: from_json(&row.text(9)?, "provenance")?,
        files: files_from_json(&row.text(10)?)?,
        size: row.count(11)?,
        entry: row.text(12)?,
        purged: row.flag(13)?,
    })
}

/// Reads a namespace and a name from two neighbouring columns.
pub(crate) fn skill_id_of(row: &Row, column: usize) -> Result<SkillId, StoreError> {
    let namespace = row.parsed(column, "namespace")?;
    let name = row.text(column + 1)?;
    let name = SkillName::parse(&name)
        .map_err(|_| StoreError::corrupt(format!("the skill's name `{name}`")))?;
    Ok(SkillId::new(namespace, name))
}

pub(crate) fn time_of(row: &Row, column: usize) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_millis(row.int(column)?))
}

pub(crate) fn optional_time_of(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.optional_int(column)?.map(Timestamp::from_millis))
}

/// Files are kept as `[["SKILL.md", "<hex>", 123], …]` in their version's row: a replica that starts reads
/// a hundred thousand versions, and a join would cost it a row for each file.
pub(crate) fn files_to_json(files: &[VersionFile]) -> String {
    let rows: Vec<_> = files
        .iter()
        .map(|file| serde_json::json!([file.path.as_str(), file.digest.hex(), file.size]))
        .collect();
    serde_json::Value::Array(rows).to_string()
}

pub(crate) fn files_from_json(text: &str) -> Result<Vec<VersionFile>, StoreError> {
    let rows: Vec<(String, String, u64)> = from_json(text, "list of files")?;
    rows.into_iter()
        .map(|(path, digest, size)| {
            let corrupt = || StoreError::corrupt(format!("the file `{path}` of a version"));
            Ok(VersionFile {
                path: RelPath::parse(&path).map_err(|_| corrupt())?,
                digest: format!("sha256:{digest}").parse::<Digest>().map_err(|_| corrupt())?,
                size,
            })
        })
        .collect()
}

/// A person's name as it stands in rows that a purge rewrites.
pub(crate) fn subject_of(row: &Row, column: usize) -> Result<Subject, StoreError> {
    row.parsed(column, "subject")
}
