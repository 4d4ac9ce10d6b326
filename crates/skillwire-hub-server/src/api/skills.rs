//! Skills, their versions and files.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use serde::Deserialize;
use skillwire_core::{Digest, media_type};
use skillwire_hub::{NamespaceName, VersionFile, VersionRecord, VersionRef, parse_version};
use skillwire_hub_replica::StoredEntry;
use skillwire_hub_store::{HubStore, SkillSummary};

use super::{
    ApiState, ChannelInfo, FileInfo, Page, Problem, ProblemKind, SkillInfo, VersionDiff,
    VersionInfo,
    extract::{Paging, Parameters, Segments, Sender, json, page_of},
    malformed, skill_id,
};
use crate::diff::{DiffBudget, changed_files, describe};

pub(super) fn version_info(record: &VersionRecord, skill: Option<&SkillSummary>) -> VersionInfo {
    let channels = skill.into_iter().flat_map(|skill| &skill.channels);
    let pointing = channels.filter(|channel| channel.version == record.version);
    let (worst_finding, signed_by) = inspected(record);
    VersionInfo {
        skill: record.skill.to_string(),
        version: record.version.to_string(),
        content: record.content.to_string(),
        state: record.state.to_string(),
        reason: record.reason.clone(),
        publisher: record.publisher.to_string(),
        published: record.published_at.to_string(),
        channels: pointing.map(|channel| channel.name.to_string()).collect(),
        purged: record.purged,
        worst_finding,
        signed_by,
        files: None,
    }
}

/// What inspecting a version showed when it was published: the worst finding, and the signers.
pub(super) fn inspected(record: &VersionRecord) -> (String, BTreeSet<String>) {
    match StoredEntry::parse(&record.entry) {
        Ok(entry) => (entry.worst_finding().to_owned(), entry.signers().clone()),
        // An erased version has no entry.
        Err(_) => ("unknown".to_owned(), BTreeSet::new()),
    }
}

pub(super) fn with_files(mut info: VersionInfo, files: &[VersionFile]) -> VersionInfo {
    let file = |file: &VersionFile| FileInfo {
        path: file.path.to_string(),
        digest: file.digest.to_string(),
        size: file.size,
    };
    info.files = Some(files.iter().map(file).collect());
    info
}

fn skill_info(skill: &SkillSummary) -> SkillInfo {
    let channel = |channel: &skillwire_hub_store::ChannelPointer| ChannelInfo {
        channel: channel.name.to_string(),
        version: channel.version.to_string(),
        served: channel.served,
    };
    SkillInfo {
        skill: skill.id.to_string(),
        channels: skill.channels.iter().map(channel).collect(),
        waits: skill.name_conflict.as_ref().map(ToString::to_string),
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SkillsQuery {
    /// Only skills of this namespace.
    namespace: Option<String>,
    /// The cursor of a page before.
    cursor: Option<String>,
    /// The most elements, at most 1000.
    limit: Option<u32>,
}

/// Lists the skills that the caller may read.
#[utoipa::path(get, operation_id = "listSkills",
    path = "/api/v1/skills", tag = "skills", params(SkillsQuery), responses(
    (status = 200, body = Page<SkillInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(query): Parameters<SkillsQuery>,
) -> Result<Response, Problem> {
    let SkillsQuery { namespace, cursor, limit } = query;
    let namespace = namespace.as_deref().map(NamespaceName::parse).transpose();
    let namespace = namespace.map_err(|error| malformed(&error))?;
    let request = Paging { cursor, limit }.request()?;
    let page = state.store.skills(&sender.caller, namespace.as_ref(), &request).await?;
    Ok(json(&page_of(page, |skill| skill_info(&skill))))
}

/// Returns one skill with its channels.
#[utoipa::path(get, operation_id = "showSkill",
    path = "/api/v1/skills/{namespace}/{name}", tag = "skills",
    params(("namespace" = String, Path), ("name" = String, Path)), responses(
    (status = 200, body = SkillInfo),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let skill = state.store.skill(&sender.caller, &skill_id(&namespace, &name)?).await?;
    Ok(json(&skill_info(&skill)))
}

/// Lists the versions of a skill, the newest publication first.
#[utoipa::path(get, operation_id = "listVersions",
    path = "/api/v1/skills/{namespace}/{name}/versions", tag = "versions",
    params(("namespace" = String, Path), ("name" = String, Path), Paging), responses(
    (status = 200, body = Page<VersionInfo>),
))]
pub(crate) async fn versions(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name)): Segments<(String, String)>,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let skill = state.store.skill(&sender.caller, &id).await?;
    let page = state.store.versions(&sender.caller, &id, &paging.request()?).await?;
    Ok(json(&page_of(page, |record| version_info(&record, Some(&skill)))))
}

/// Lists the versions that wait for the caller's review.
#[utoipa::path(get, operation_id = "listWaitingVersions",
    path = "/api/v1/waiting", tag = "versions", params(Paging), responses(
    (status = 200, body = Page<VersionInfo>),
))]
pub(crate) async fn waiting(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let page = state.store.waiting(&sender.caller, &paging.request()?).await?;
    Ok(json(&page_of(page, |record| version_info(&record, None))))
}

/// Returns one version with its files.
#[utoipa::path(get, operation_id = "showVersion",
    path = "/api/v1/skills/{namespace}/{name}/versions/{version}", tag = "versions",
    params(("namespace" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = VersionInfo),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn version(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, version)): Segments<(String, String, String)>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let skill = state.store.skill(&sender.caller, &id).await?;
    let version = parse_version(&version).map_err(|error| malformed(&error))?;
    let record = state.version(&sender.caller, &id, &version).await?;
    Ok(json(&with_files(version_info(&record, Some(&skill)), &record.files)))
}

/// Returns the bytes of a file; those of a revoked version are refused.
#[utoipa::path(get, operation_id = "readVersionFile",
    path = "/api/v1/skills/{namespace}/{name}/versions/{version}/files/{path}",
    tag = "versions", params(("namespace" = String, Path), ("name" = String, Path),
    ("version" = String, Path), ("path" = String, Path, description = "Slashes are part of it.")),
    responses((status = 200, content_type = "application/octet-stream"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn file(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, version, path)): Segments<(String, String, String, String)>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let version = parse_version(&version).map_err(|error| malformed(&error))?;
    let record = state.version(&sender.caller, &id, &version).await?;
    refuse_revoked(&record)?;
    let file = record.files.iter().find(|file| file.path.as_str() == path);
    let file =
        file.ok_or_else(|| ProblemKind::NotFound.because("The version has no such file."))?;
    let bytes = state.store.read_blob(&file.digest, file.size).await?;
    if let Some(replica) = &state.replica {
        let version = VersionRef::new(id, version);
        replica.note_read(&sender.caller, &version, record.content, &file.path);
    }
    Ok(file_response(file, bytes))
}

/// Answers with the bytes of a file, so that no browser acts on them.
pub(super) fn file_response(file: &VersionFile, bytes: Bytes) -> Response {
    let media_type = media_type::of(file.path.file_name(), &bytes);
    let mut response = Response::new(bytes.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    let tag = HeaderValue::from_str(&format!("\"{}\"", file.digest));
    if let Ok(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    // A skill may hold a web page, which must not act with the origin of the hub.
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Refuses the bytes of a version that was revoked or erased.
fn refuse_revoked(record: &VersionRecord) -> Result<(), Problem> {
    if record.purged || record.state == skillwire_hub::VersionState::Revoked {
        let detail = format!("The bytes of {}@{} are refused.", record.skill, record.version);
        return Err(ProblemKind::Forbidden.because(detail).coded("revoked"));
    }
    Ok(())
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffQuery {
    /// The earlier version.
    from: String,
    /// The later version.
    to: String,
}

/// Says what differs between two versions.
#[utoipa::path(get, operation_id = "compareVersions",
    path = "/api/v1/skills/{namespace}/{name}/diff", tag = "versions",
    params(("namespace" = String, Path), ("name" = String, Path), DiffQuery), responses(
    (status = 200, body = VersionDiff),
))]
pub(crate) async fn diff(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name)): Segments<(String, String)>,
    Parameters(query): Parameters<DiffQuery>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let [from, to] = [&query.from, &query.to].map(|text| parse_version(text));
    let (from, to) = (from.map_err(|e| malformed(&e))?, to.map_err(|e| malformed(&e))?);
    let old = state.version(&sender.caller, &id, &from).await?;
    let new = state.version(&sender.caller, &id, &to).await?;
    refuse_revoked(&old)?;
    refuse_revoked(&new)?;
    let files = compare(&state.store, &old.files, &new.files, &BTreeMap::new()).await?;
    let diff = VersionDiff { from: from.to_string(), to: to.to_string(), files };
    Ok(json(&diff))
}

/// Compares the files of two versions; bytes that are not stored yet are in `unstored`.
pub(super) async fn compare(
    store: &HubStore,
    old: &[VersionFile],
    new: &[VersionFile],
    unstored: &BTreeMap<Digest, Bytes>,
) -> Result<Vec<super::FileDiff>, Problem> {
    let read = async |file: Option<&VersionFile>| -> Result<Bytes, Problem> {
        let Some(file) = file else { return Ok(Bytes::new()) };
        match unstored.get(&file.digest) {
            Some(bytes) => Ok(bytes.clone()),
            None => Ok(store.read_blob(&file.digest, file.size).await?),
        }
    };
    let mut room = DiffBudget::default();
    let mut files = Vec::new();
    for changed in changed_files(old, new) {
        let bytes = if changed.is_comparable() {
            Some((read(changed.old).await?, read(changed.new).await?))
        } else {
            None
        };
        files.push(describe(&changed, bytes, &mut room));
    }
    Ok(files)
}
