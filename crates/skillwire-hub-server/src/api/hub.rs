//! What the hub is.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::{HeaderValue, header};

use super::{
    ApiState, CallerInfo, HubInfo, Problem,
    extract::{Sender, json},
    openapi::openapi_document,
};
use crate::upload::MAX_UPLOAD_BYTES;

/// Says what the hub is, and who the caller is there.
#[utoipa::path(get, operation_id = "showHub", path = "/api/v1/hub", tag = "hub", responses(
    (status = 200, body = HubInfo),
    (status = 401, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
) -> Result<Response, Problem> {
    let caller = sender.caller;
    let namespaces = caller.namespaces.as_ref();
    Ok(json(&HubInfo {
        name: state.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        you: CallerInfo {
            subject: caller.subject.to_string(),
            administrator: caller.administrator,
            scopes: caller.scopes.iter().map(ToString::to_string).collect(),
            namespaces: namespaces.map(|all| all.iter().map(ToString::to_string).collect()),
        },
        max_upload_bytes: MAX_UPLOAD_BYTES,
    }))
}

/// Returns the description of this API.
#[utoipa::path(get, operation_id = "describeApi",
    path = "/api/v1/openapi.json", tag = "hub", security(()), responses(
    (status = 200, description = "The description of this API, as OpenAPI."),
))]
pub(crate) async fn document() -> Response {
    let mut response = Response::new(openapi_document().into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
