//! Steps in the life of versions.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_core::ContentId;
use skillwire_hub::{Action, Transition, VersionRef, VersionState, parse_version};
use skillwire_hub_store::TransitionNote;

use super::{
    ApiState, Confirmation, NewState, Problem, ProblemKind, StateChanged,
    extract::{JsonBody, Segments, Sender, json},
    malformed, skill_id,
    skills::version_info,
};

pub(super) fn parse_content(text: &str) -> Result<ContentId, Problem> {
    text.parse().map_err(|_| {
        ProblemKind::Malformed.because("A content is `sha256:` and 64 hexadecimal digits.")
    })
}

/// Approves, rejects, reopens, deprecates, yanks, restores or revokes a version.
#[utoipa::path(post, operation_id = "changeVersionState",
    path = "/api/v1/skills/{namespace}/{name}/versions/{version}/state",
    tag = "versions", params(("namespace" = String, Path), ("name" = String, Path),
    ("version" = String, Path)), request_body = NewState, responses(
    (status = 200, body = StateChanged),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn change(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, version)): Segments<(String, String, String)>,
    JsonBody(new): JsonBody<NewState>,
) -> Result<Response, Problem> {
    let id = skill_id(&namespace, &name)?;
    let version = parse_version(&version).map_err(|error| malformed(&error))?;
    let transition: Transition = new.transition.parse().map_err(|()| {
        let all = Transition::ALL.map(|known| format!("`{known}`")).join(", ");
        ProblemKind::Malformed.because(format!("A transition is one of {all}."))
    })?;
    let seen = new.content.as_deref().map(parse_content).transpose()?;
    let caller = &sender.caller;
    state.require(caller, transition.action(), &id.namespace).await?;
    let before = state.version(caller, &id, &version).await?;
    let note = TransitionNote::because(new.reason).with_seen(seen);
    let version = VersionRef::new(id.clone(), version);
    let record = state.writer(new.dry_run).transition(caller, &version, transition, note).await?;
    if !new.dry_run {
        state.settle().await;
    }
    let skill = state.store.skill(caller, &id).await?;
    Ok(json(&StateChanged {
        changed: record.state != before.state,
        versions: vec![version_info(&record, Some(&skill))],
        dry_run: new.dry_run,
    }))
}

/// Revokes a content in every skill that has it, now and later.
#[utoipa::path(post, operation_id = "revokeContent",
    path = "/api/v1/content/{content}/revoke", tag = "versions",
    params(("content" = String, Path)), request_body = Confirmation, responses(
    (status = 200, body = StateChanged),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn revoke_content(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(content): Segments<String>,
    JsonBody(confirmation): JsonBody<Confirmation>,
) -> Result<Response, Problem> {
    let content = parse_content(&content)?;
    let caller = &sender.caller;
    caller.require_administrator(Action::Operate)?;
    let dry_run = confirmation.dry_run;
    let store = state.writer(dry_run);
    let revoked = store.revoke_content(caller, &content, &confirmation.reason).await?;
    if !dry_run {
        state.settle().await;
    }
    let mut versions = Vec::new();
    for version in &revoked {
        let mut record = state.version(caller, &version.skill, &version.version).await?;
        record.state = VersionState::Revoked;
        versions.push(version_info(&record, None));
    }
    Ok(json(&StateChanged { versions, changed: true, dry_run }))
}
