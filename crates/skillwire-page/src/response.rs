//! Answers of the page.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use maud::Markup;
use tokio::sync::mpsc;

use crate::{assets::Asset, guard, model::Image};

/// The body of an answer.
#[derive(Debug)]
pub enum PageBody {
    /// It is ready.
    Full(Bytes),
    /// Events, as they happen.
    Events(mpsc::Receiver<Bytes>),
}

/// An answer of the page.
pub type PageResponse = Response<PageBody>;

pub(crate) fn html(status: StatusCode, page: Markup) -> PageResponse {
    full(status, "text/html; charset=utf-8", page.into_string())
}

pub(crate) fn text(status: StatusCode, text: &str) -> PageResponse {
    full(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

pub(crate) fn full(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> PageResponse {
    let mut response = Response::new(PageBody::Full(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

pub(crate) fn asset(asset: &Asset) -> PageResponse {
    let mut response = full(StatusCode::OK, asset.media_type, asset.bytes.clone());
    let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, keep);
    response
}

/// An image of a skill. Opened by itself it may do nothing, whatever its bytes are.
pub(crate) fn image(image: Image) -> PageResponse {
    let mut response = full(StatusCode::OK, image.media_type, image.bytes);
    let policy = HeaderValue::from_static(guard::IMAGE_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// A file to be saved.
pub(crate) fn download(name: &str, media_type: &'static str, text: String) -> PageResponse {
    let mut response = full(StatusCode::OK, media_type, text);
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

pub(crate) fn see_other(address: &str) -> PageResponse {
    let mut response = full(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    let location = HeaderValue::from_str(address);
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    response
}

pub(crate) fn set_cookie(mut response: PageResponse, cookie: &str) -> PageResponse {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}
