//! The content that a request may have, and the one that its client must accept.

use http::{HeaderMap, HeaderValue, StatusCode, header};

/// Checks that the client sends uncompressed JSON and accepts JSON.
pub(super) fn check(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    // A header may be spread over several lines, which all count.
    let texts =
        |name| headers.get_all(name).iter().map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    let is_json = |media_type: &str| {
        let essence = media_type.split(';').next().unwrap_or("").trim();
        essence.eq_ignore_ascii_case("application/json")
    };
    let mut content_types = texts(header::CONTENT_TYPE).peekable();
    if content_types.peek().is_none() || !content_types.all(is_json) {
        let reason = "The content type must be `application/json`.";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    if !texts(header::CONTENT_ENCODING).all(|coding| coding.eq_ignore_ascii_case("identity")) {
        let reason = "Compressed bodies are not taken.";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let mut accepted = texts(header::ACCEPT).peekable();
    if accepted.peek().is_some() && !accepted.any(accepts_json) {
        let reason = "Accept `application/json` and `text/event-stream`.";
        return Err((StatusCode::NOT_ACCEPTABLE, reason));
    }
    Ok(())
}

fn accepts_json(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let essence = range.split(';').next().unwrap_or("").trim();
        ["application/json", "application/*", "*/*"]
            .into_iter()
            .any(|taken| essence.eq_ignore_ascii_case(taken))
    })
}
