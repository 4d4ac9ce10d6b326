//! What operators do.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_hub::{Action, Subject, VersionRef, parse_version};
use skillwire_hub_store::GcOptions;

use super::{
    ApiState, Collected, Confirmation, NewErasure, Problem, StateChanged, SubjectErased,
    extract::{JsonBody, Segments, Sender, json},
    malformed, skill_id,
    skills::version_info,
};

/// Removes bytes that no version names.
#[utoipa::path(post, operation_id = "collectGarbage",
    path = "/api/v1/gc", tag = "operating", request_body = Confirmation, responses(
    (status = 200, body = Collected),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn collect(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    JsonBody(confirmation): JsonBody<Confirmation>,
) -> Result<Response, Problem> {
    let options = GcOptions::default().with_dry_run(confirmation.dry_run);
    let report = state.store.collect_garbage(&sender.caller, options).await?;
    let dry_run = confirmation.dry_run;
    Ok(json(&Collected { blobs: report.blobs, bytes: report.bytes, dry_run }))
}

/// Replaces the name of a person by a pseudonym, for legal reasons.
///
/// Roles, tokens and versions belong to the pseudonym from then on, the tokens are revoked, and details of the log
/// that hold the name are emptied.
#[utoipa::path(post, operation_id = "purgeSubject",
    path = "/api/v1/subjects/purge", tag = "operating", request_body = NewErasure,
    responses(
    (status = 200, body = SubjectErased),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn purge_subject(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    JsonBody(erasure): JsonBody<NewErasure>,
) -> Result<Response, Problem> {
    let dry_run = erasure.dry_run;
    let subject = Subject::parse(&erasure.subject).map_err(|error| malformed(&error))?;
    let store = state.writer(dry_run);
    let erased = store.purge_subject(&sender.caller, &subject, &erasure.reason).await?;
    if !dry_run {
        state.settle().await;
    }
    let (pseudonym, records, tokens) = match erased {
        Some(erased) => (Some(erased.pseudonym.to_string()), erased.records, erased.tokens),
        None => (None, 0, 0),
    };
    // The pseudonym of a trial would be another one than that of the erasure.
    let pseudonym = pseudonym.filter(|_| !dry_run);
    Ok(json(&SubjectErased { pseudonym, records, tokens, dry_run }))
}

/// Erases the bytes of a version for good, for legal reasons. Its number, content identity and publisher stay.
#[utoipa::path(post, operation_id = "purgeVersion",
    path = "/api/v1/skills/{namespace}/{name}/versions/{version}/purge",
    tag = "operating", params(("namespace" = String, Path), ("name" = String, Path),
    ("version" = String, Path)), request_body = Confirmation, responses(
    (status = 200, body = StateChanged),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn purge(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, version)): Segments<(String, String, String)>,
    JsonBody(confirmation): JsonBody<Confirmation>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let version = parse_version(&version).map_err(|error| malformed(&error))?;
    let caller = &sender.caller;
    caller.require_administrator(Action::Operate)?;
    let before = state.version(caller, &id, &version).await?;
    let record = if confirmation.dry_run {
        before.clone()
    } else {
        let version = VersionRef::new(id.clone(), version.clone());
        let record = state.store.purge_version(caller, &version, &confirmation.reason).await?;
        state.settle().await;
        record
    };
    Ok(json(&StateChanged {
        versions: vec![version_info(&record, None)],
        changed: record.purged != before.purged,
        dry_run: confirmation.dry_run,
    }))
}
