//! Public skills under `/.well-known/`, with everything a cache needs to know.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use skillwire_catalog::ViewId;

use super::{body::ResponseBody, reply};
use skillwire_engine::{Engine, dialect::Published};

/// Answers a request for a published file or index; the caller does not matter.
pub(super) async fn answer(
    engine: &Engine,
    view: ViewId,
    (method, path, headers): (&Method, &str, &HeaderMap),
) -> Response<ResponseBody> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    engine.catalog().ready().await;
    match engine.published(view, path).await {
        Ok(Some(found)) => respond(found, engine.config().ttl_ms, method, headers),
        Ok(None) => reply::text(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "Nothing is published here.\n",
        ),
        // Usually the file changed since the last scan; the next scan publishes the new one.
        Err(_) => reply::text(
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain; charset=utf-8",
            "Try again.\n",
        ),
    }
}

fn respond(
    found: Published,
    ttl_ms: u64,
    method: &Method,
    headers: &HeaderMap,
) -> Response<ResponseBody> {
    let tag = format!("\"{}\"", found.digest);
    let mut response = if matches(headers, &tag) {
        reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        let length = found.bytes.len();
        let media_type = content_type(found.media_type);
        let body = if *method == Method::HEAD { Vec::new() } else { vec![found.bytes] };
        let mut response = Response::new(ResponseBody::ready(body).within(found.memory));
        let headers = response.headers_mut();
        insert(headers, header::CONTENT_TYPE, &media_type);
        insert(headers, header::CONTENT_LENGTH, &length.to_string());
        response
    };
    let headers = response.headers_mut();
    insert(headers, header::ETAG, &tag);
    insert(headers, header::CACHE_CONTROL, &format!("public, max-age={}", ttl_ms / 1_000));
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // A skill may contain a web page. The sandbox keeps its scripts from acting with the origin of
    // this server.
    insert(headers, header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox");
    // Published skills are public, so web pages of any origin may read them too.
    insert(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    response
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Adds the charset to text types: the server sends a file as text only if it is UTF-8.
fn content_type(media_type: &str) -> String {
    if media_type.starts_with("text/") {
        format!("{media_type}; charset=utf-8")
    } else {
        media_type.to_owned()
    }
}

/// Tells whether the client already has the version with this entity tag.
fn matches(headers: &HeaderMap, tag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter();
    given.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    })
}
