//! Decisions that the hub signed, and the keys that it signs with.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_hub::Cursor;
use skillwire_hub_replica::sign;

use super::{
    ApiState, DecisionInfo, KeyInfo, Page, Problem,
    extract::{Paging, Parameters, Segments, Sender, json, page_of},
    malformed,
    states::parse_content,
};

/// Lists the signed decisions about a content, in every skill that the caller may read.
#[utoipa::path(get, operation_id = "listDecisions",
    path = "/api/v1/content/{content}/decisions", tag = "versions",
    params(("content" = String, Path), Paging), responses(
    (status = 200, body = Page<DecisionInfo>),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(content): Segments<String>,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let content = parse_content(&content)?;
    let page = state.store.versions_with(&sender.caller, &content, &paging.request()?).await?;
    let signed = page_of(page, |served| {
        let envelope = sign(&state.signer, &served, &state.name)?;
        let (skill, version) = (served.id.to_string(), served.version.to_string());
        Some(DecisionInfo { skill, version, envelope })
    });
    Ok(json(&Page { items: signed.items.into_iter().flatten().collect(), next: signed.next }))
}

/// Lists the public keys that the hub signs its decisions with. Trust is worth what the way is worth on which
/// a user got a key.
#[utoipa::path(get, operation_id = "listKeys",
    path = "/api/v1/keys", tag = "hub", params(Paging), responses(
    (status = 200, body = Page<KeyInfo>),
))]
pub(crate) async fn keys(
    State(state): State<Arc<ApiState>>,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let request = paging.request()?;
    let before = match &request.after {
        Some(cursor) => cursor.number("keys").map_err(|error| malformed(&error))?,
        None => 0,
    };
    let keys = (1..).zip(state.signer.public_keys()).filter(|(place, _)| *place > before);
    let page =
        skillwire_hub::Page::cut(keys.collect(), request.limit(), |(place, _): &(u64, _)| {
            Cursor::new("keys", &[&place.to_string()])
        });
    Ok(json(&page_of(page, |(_, key)| KeyInfo { id: key.id().to_string(), key: key.to_line() })))
}
