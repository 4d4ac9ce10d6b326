//! Parts of requests, read within bounds; what cannot be read becomes a problem document.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    response::{IntoResponse, Response},
};
use http::request::Parts;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use skillwire_hub::PageRequest;

use super::{ApiState, Page, Problem, ProblemKind};
use crate::{
    api_access::CallerSlot,
    auth::{Authenticated, LocalOperator},
};

/// The most bytes of a body in JSON.
const MAX_JSON_BYTES: usize = 64 * 1024;

/// The sender of a request.
pub(crate) struct Sender(pub(crate) Authenticated);

impl FromRequestParts<Arc<ApiState>> for Sender {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<ApiState>,
    ) -> Result<Self, Self::Rejection> {
        let local = parts.extensions.get::<LocalOperator>().is_some();
        let sender = state.authenticator.authenticate(&parts.headers, local).await?;
        if let Some(slot) = parts.extensions.get::<CallerSlot>() {
            slot.fill(&sender.caller.subject);
        }
        Ok(Self(sender))
    }
}

/// The variable segments of an address.
pub(crate) struct Segments<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(value)| Self(value)).map_err(|error| malformed(&error.body_text()))
    }
}

/// The query of an address.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|error| malformed(&error.body_text()))
    }
}

/// A body in JSON; an empty one has the default of every member.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let bytes =
            axum::body::to_bytes(request.into_body(), MAX_JSON_BYTES).await.map_err(|_| {
                ProblemKind::TooLarge.because("The body is incomplete, or larger than 64 KiB.")
            })?;
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(bytes).map(Self).map_err(|error| malformed(&error.to_string()))
    }
}

fn malformed(text: &str) -> Problem {
    ProblemKind::Malformed.because(format!("{}.", text.trim_end_matches('.')))
}

/// Whether a request only asks what it would do.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Trial {
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

/// Which page of a list a caller wants.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// The cursor of a page before.
    pub(crate) cursor: Option<String>,
    /// The most elements, at most 1000.
    pub(crate) limit: Option<u32>,
}

impl Paging {
    pub(crate) fn request(&self) -> Result<PageRequest, Problem> {
        let cursor = self.cursor.as_deref().map(str::parse).transpose();
        let cursor = cursor.map_err(|error| super::malformed(&error))?;
        let request = self.limit.map_or_else(PageRequest::default, PageRequest::first);
        Ok(request.after(cursor))
    }
}

/// Turns a page of the store into one of the API.
pub(crate) fn page_of<T, U>(page: skillwire_hub::Page<T>, make: impl FnMut(T) -> U) -> Page<U> {
    let next = page.next.map(|cursor| cursor.to_string());
    Page { items: page.items.into_iter().map(make).collect(), next }
}

/// An answer in JSON.
pub(crate) fn json(value: &impl Serialize) -> Response {
    Json(value).into_response()
}
