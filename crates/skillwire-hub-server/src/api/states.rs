//! Steps in the life of versions.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_core::ContentId;
use skillwire_hub::{Action, Refusal, Transition, VersionRef, parse_version};
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
#[utoipa::path(post, path = "/api/v1/skills/{namespace}/{name}/versions/{version}/state",
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
    let record = if new.dry_run {
        let mut after = before.clone();
        let (skill, actual) = (id.clone(), before.content);
        if let Some(decided) = seen.filter(|seen| *seen != actual) {
            return Err(Refusal::ContentMoved { decided, actual }.into());
        }
        let state = before.state;
        after.state = state.after(transition).ok_or(Refusal::IllegalTransition {
            skill,
            version: version.clone(),
            state,
            transition,
        })?;
        after.reason = Some(new.reason.clone());
        after
    } else {
        let note = TransitionNote::because(new.reason).with_seen(seen);
        let version = VersionRef::new(id.clone(), version);
        let record = state.store.transition(caller, &version, transition, note).await?;
        state.settle().await;
        record
    };
    let skill = state.store.skill(caller, &id).await?;
    Ok(json(&StateChanged {
        changed: record.state != before.state,
        versions: vec![version_info(&record, Some(&skill))],
        dry_run: new.dry_run,
    }))
}

/// Revokes a content in every skill that has it, now and later.
#[utoipa::path(post, path = "/api/v1/content/{content}/revoke", tag = "versions",
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
    if confirmation.dry_run {
        let answer = StateChanged { versions: Vec::new(), changed: false, dry_run: true };
        return Ok(json(&answer));
    }
    let revoked = state.store.revoke_content(caller, &content, &confirmation.reason).await?;
    state.settle().await;
    let mut versions = Vec::new();
    for version in &revoked {
        let record = state.version(caller, &version.skill, &version.version).await?;
        versions.push(version_info(&record, None));
    }
    Ok(json(&StateChanged { versions, changed: true, dry_run: false }))
}
