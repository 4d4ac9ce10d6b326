//! The audit log.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::Deserialize;
use skillwire_hub::{Action, AuditAction, AuditEntry, AuditFilter};

use super::{
    ApiState, AuditCheck, AuditEvent, Page, Problem, ProblemKind,
    extract::{Paging, Parameters, Sender, json, page_of},
    malformed,
};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Only events about this content.
    content: Option<String>,
    /// Only what this subject did.
    actor: Option<String>,
    /// Only what was done to this, such as `acme/refunds@1.2.0`; for a skill such as `acme/refunds`, also what was
    /// done to its versions.
    target: Option<String>,
    /// Only this action, such as `publish`.
    action: Option<String>,
    /// Only events from this moment on, as RFC 3339.
    since: Option<String>,
    /// Only events before this moment, as RFC 3339.
    until: Option<String>,
    /// The cursor of a page before.
    cursor: Option<String>,
    /// The most elements, at most 1000.
    limit: Option<u32>,
}

fn event(entry: &AuditEntry) -> AuditEvent {
    AuditEvent {
        number: entry.number,
        at: entry.at.to_string(),
        actor: entry.actor.clone(),
        action: entry.action.to_string(),
        target: entry.target.clone(),
        content: entry.content.map(|content| content.to_string()),
        details: entry.details.clone(),
        hash: entry.hash.digest().to_string(),
    }
}

/// Checks the chain of hashes over all events.
#[utoipa::path(get, operation_id = "checkAuditLog",
    path = "/api/v1/audit/check", tag = "audit", responses(
    (status = 200, body = AuditCheck),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn check(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
) -> Result<Response, Problem> {
    sender.caller.require_administrator(Action::ReadAudit)?;
    Ok(json(&match state.store.verify_audit().await? {
        Ok(events) => AuditCheck { events, broken_at: None },
        Err(broken) => {
            AuditCheck { events: broken.number.saturating_sub(1), broken_at: Some(broken.number) }
        }
    }))
}

/// Lists events, the newest first.
#[utoipa::path(get, operation_id = "listAuditEntries",
    path = "/api/v1/audit", tag = "audit", params(AuditQuery), responses(
    (status = 200, body = Page<AuditEvent>),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(query): Parameters<AuditQuery>,
) -> Result<Response, Problem> {
    let mut filter = AuditFilter::default();
    if let Some(text) = &query.content {
        let content = text.parse().map_err(|_| {
            ProblemKind::Malformed.because("`content` must be `sha256:` and 64 hexadecimal digits.")
        })?;
        filter.content = Some(content);
    }
    if let Some(text) = &query.action {
        let action = text.parse();
        let unknown = |()| {
            let all = AuditAction::ALL.map(|known| format!("`{known}`")).join(", ");
            ProblemKind::Malformed.because(format!("An action of the log is one of {all}."))
        };
        filter.action = Some(action.map_err(unknown)?);
    }
    let time = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
    filter.since = time(&query.since).map_err(|error| malformed(&error))?;
    filter.until = time(&query.until).map_err(|error| malformed(&error))?;
    (filter.actor, filter.target) = (query.actor, query.target);
    let request = Paging { cursor: query.cursor, limit: query.limit }.request()?;
    let page = state.store.audit(&sender.caller, &filter, &request).await?;
    Ok(json(&page_of(page, |entry| event(&entry))))
}
