//! Publishing: one request with an archive, which becomes a version or nothing.

use std::{collections::BTreeMap, sync::Arc};

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use skillwire_core::{ContentId, Digest, SkillName};
use skillwire_hub::{Action, ChannelName, Provenance, VersionFile, parse_version};
use skillwire_hub_store::{Upload, UploadedFile};
use skillwire_hub_upstreams::InspectContent;

use super::{
    ApiState, Problem, ProblemKind, Published, VersionDiff, VersionInfo,
    extract::{Parameters, Segments, Sender, json},
    malformed, skill_id,
    skills::{compare, version_info, with_files},
};
use crate::upload::{self, CheckedSkill, ReceivedUpload};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PublishQuery {
    /// The version; `metadata.version` of the skill or the next patch without it.
    version: Option<String>,
    /// The identity that the content must have.
    content: Option<String>,
    /// Where the files come from, for the record.
    source: Option<String>,
    /// The revision of that source, such as a commit.
    revision: Option<String>,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Publishes a version from an archive.
///
/// The same bytes again are the same version, so that a request can be repeated. With a header
/// `Content-Digest` (RFC 9530), a body with another SHA-256 is refused.
#[utoipa::path(post, operation_id = "publishVersion",
    path = "/api/v1/skills/{namespace}/{name}/versions", tag = "versions",
    params(("namespace" = String, Path), ("name" = String, Path), PublishQuery),
    request_body(content_type = "application/gzip", description = "A `.tar.gz` or `.zip` archive with `SKILL.md` at its root."),
    responses(
    (status = 201, body = Published, description = "The version is new."),
    (status = 200, body = Published, description = "The version was there already, or this was a dry run."),
    (status = 409, body = Problem, content_type = "application/problem+json"),
    (status = 413, body = Problem, content_type = "application/problem+json"),
    (status = 422, body = Problem, content_type = "application/problem+json"),
))]
#[tracing::instrument(skip_all, fields(namespace, name))]
pub(crate) async fn publish(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name)): Segments<(String, String)>,
    Parameters(query): Parameters<PublishQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let version = query.version.as_deref().map(parse_version).transpose();
    let version = version.map_err(|error| malformed(&error))?;
    let claimed: Option<ContentId> = match &query.content {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| {
            ProblemKind::Malformed.because("`content` must be `sha256:` and 64 hexadecimal digits.")
        })?),
    };
    // Trust boundary: the body of a caller that may not publish is never read.
    state.require(&sender.caller, Action::Publish, &id.namespace).await?;
    let received = state.uploads.receive(&headers, body).await?;
    let checked = check(received, id.name.clone(), state.inspector.clone()).await?;
    let files = checked.files.iter().map(|(path, bytes)| VersionFile {
        path: path.clone(),
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
    });
    let files: Vec<VersionFile> = files.collect();
    let uploaded = checked.files.iter().zip(&files).map(|((path, bytes), file)| UploadedFile {
        path: path.clone(),
        bytes: bytes.clone(),
        claimed: Some(file.digest),
    });
    let before = state.store.skill(&sender.caller, &id).await.ok();
    let latest = ChannelName::latest();
    let from = before.iter().flat_map(|skill| &skill.channels).find(|it| it.name == latest);
    let from = from.map(|channel| channel.version.clone());
    let provenance = Provenance {
        source: sender.provenance.source.clone().or(query.source),
        revision: sender.provenance.revision.clone().or(query.revision),
        ..sender.provenance.clone()
    };
    let upload = Upload::new(id.clone(), uploaded.collect())
        .with_version(version)
        .with_declared_version(checked.declared.clone())
        .with_content(claimed)
        .with_entry(checked.entry.to_text())
        .with_provenance(provenance)
        .with_dry_run(query.dry_run);
    let published = state.store.publish(&sender.caller, upload).await?;
    if !query.dry_run {
        state.settle().await;
    }
    let changes = match from.filter(|from| *from != published.version.version) {
        Some(from) if !published.existing => {
            let old = state.version(&sender.caller, &id, &from).await?;
            let bytes = files.iter().map(|file| file.digest).zip(checked.files);
            let unstored: BTreeMap<_, _> =
                bytes.map(|(digest, (_, bytes))| (digest, bytes)).collect();
            let files = compare(&state.store, &old.files, &files, &unstored).await?;
            let to = published.version.version.to_string();
            Some(VersionDiff { from: from.to_string(), to, files })
        }
        _ => None,
    };
    let version = if query.dry_run && !published.existing {
        VersionInfo {
            skill: id.to_string(),
            version: published.version.version.to_string(),
            content: published.content.to_string(),
            state: published.state.to_string(),
            reason: None,
            publisher: sender.caller.subject.to_string(),
            published: state.store.now().to_string(),
            channels: Vec::new(),
            purged: false,
            worst_finding: checked.entry.worst_finding().to_owned(),
            signed_by: checked.entry.signers().clone(),
            files: None,
        }
    } else {
        let skill = state.store.skill(&sender.caller, &id).await?;
        let record = state.version(&sender.caller, &id, &published.version.version).await?;
        version_info(&record, Some(&skill))
    };
    let created = !published.existing && !query.dry_run;
    let mut response = json(&Published {
        version: with_files(version, &files),
        created,
        existing: published.existing,
        dry_run: query.dry_run,
        changes,
        waits: published.name_conflict.map(|conflict| conflict.to_string()),
    });
    *response.status_mut() = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(response)
}

/// Checks an upload on a thread of its own, and inspects it there.
async fn check(
    received: ReceivedUpload,
    name: SkillName,
    inspector: Option<Arc<dyn InspectContent>>,
) -> Result<CheckedSkill, Problem> {
    let checking = tokio::task::spawn_blocking(move || {
        let ReceivedUpload { archive, place } = received;
        let checked = upload::check(&archive, &name).map(|checked| match &inspector {
            Some(inspector) => checked.inspected(&**inspector),
            None => checked,
        });
        drop(place);
        checked
    });
    checking.await.map_err(|error| {
        tracing::error!(%error, "checking an upload broke");
        ProblemKind::Internal.because("Checking the upload broke; the log of the hub says why.")
    })?
}
