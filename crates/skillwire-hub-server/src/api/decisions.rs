//! Decisions that the hub signed, and the keys that it signs with.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_hub::Action;

use super::{
    ApiState, DecisionInfo, KeyInfo, Page, Problem,
    extract::{Segments, Sender, json},
    states::parse_content,
};
use crate::serving::sign;

/// Lists the signed decisions about a content, in every skill that the caller may read.
#[utoipa::path(get, path = "/api/v1/content/{content}/decisions", tag = "versions",
    params(("content" = String, Path)), responses(
    (status = 200, body = Page<DecisionInfo>),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(content): Segments<String>,
) -> Result<Response, Problem> {
    let content = parse_content(&content)?;
    let mut items = Vec::new();
    for served in state.store.versions_with(&content).await? {
        let namespace = state.store.namespace(&sender.caller, &served.id.namespace).await;
        // What the caller may not know of is left out.
        let Ok(namespace) = namespace else { continue };
        if !sender.caller.may(Action::Read, &namespace) {
            continue;
        }
        if let Some(envelope) = sign(&state.signer, &served, &state.name) {
            let (skill, version) = (served.id.to_string(), served.version.to_string());
            items.push(DecisionInfo { skill, version, envelope });
        }
    }
    Ok(json(&Page { items, next: None }))
}

/// Lists the public keys that the hub signs its decisions with. Trust is worth what the way is worth on which
/// a user got a key.
#[utoipa::path(get, path = "/api/v1/keys", tag = "hub", responses((status = 200, body = Page<KeyInfo>)))]
pub(crate) async fn keys(State(state): State<Arc<ApiState>>) -> Response {
    let key =
        |key: skillwire_attest::PublicKey| KeyInfo { id: key.id().to_string(), key: key.to_line() };
    let items = state.signer.public_keys().into_iter().map(key).collect();
    json(&Page { items, next: None })
}
