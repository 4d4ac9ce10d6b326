//! Agreement between the headers and the body of a modern request.
//!
//! A proxy between client and server may decide by the headers alone. If they said something else
//! than the body, the proxy would check one request and the server would answer another.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName};
use skillwire_protocol::{
    ErrorCode, RpcError,
    message::{Request, string},
    meta, method, truncated,
    version::MODERN,
};

/// The protocol revision of a request.
pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of a request.
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The name or URI a request is about.
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Checks everything a modern request must say about itself, in headers and in `_meta`.
pub(super) fn check(headers: &HeaderMap, request: &Request<'_>) -> Result<(), RpcError> {
    let version = required(headers, &VERSION)?;
    let meta = meta::read(request.params.meta)?;
    if version != meta.protocol_version {
        return Err(mismatch(&VERSION, version, &meta.protocol_version));
    }
    if version != MODERN {
        return Err(RpcError::unsupported_version(version));
    }
    let named = required(headers, &METHOD)?;
    if named != request.method {
        return Err(mismatch(&METHOD, named, &request.method));
    }
    check_name(headers, request)
}

fn check_name(headers: &HeaderMap, request: &Request<'_>) -> Result<(), RpcError> {
    let params = &request.params;
    let (source, is_required) = match &*request.method {
        method::TOOLS_CALL | method::PROMPTS_GET => (params.name, true),
        method::RESOURCES_READ => (params.uri, true),
        _ => (params.uri.or(params.name), false),
    };
    let header = match optional(headers, &NAME)? {
        Some(header) => decode(header)?,
        None if is_required => return Err(missing(&NAME)),
        None => return Ok(()),
    };
    let Some(source) = source else {
        // The body lacks a required name: the method itself reports that.
        return if is_required { Ok(()) } else { Err(mismatch(&NAME, &header, "")) };
    };
    let body = string(source, "params.uri")?;
    if header == body { Ok(()) } else { Err(mismatch(&NAME, &header, &body)) }
}

/// Decodes values that a client had to encode because a header cannot carry them.
fn decode(value: &str) -> Result<Cow<'_, str>, RpcError> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(Cow::Borrowed(value));
    };
    STANDARD
        .decode(encoded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Cow::Owned)
        .ok_or_else(|| RpcError::new(ErrorCode::HeaderMismatch, "`Mcp-Name` is not valid base64."))
}

fn required<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, RpcError> {
    optional(headers, name)?.ok_or_else(|| missing(name))
}

/// Returns the one value of a header, if the header is present.
pub(super) fn optional<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, RpcError> {
    let malformed = || {
        RpcError::new(
            ErrorCode::HeaderMismatch,
            format!("Header `{name}` is malformed or repeated."),
        )
    };
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed());
    }
    first.to_str().map(|value| Some(value.trim())).map_err(|_| malformed())
}

fn missing(name: &HeaderName) -> RpcError {
    RpcError::new(ErrorCode::HeaderMismatch, format!("Header `{name}` is required."))
}

fn mismatch(name: &HeaderName, header: &str, body: &str) -> RpcError {
    RpcError::new(
        ErrorCode::HeaderMismatch,
        format!(
            "Header `{name}` says `{}`, but the body says `{}`.",
            truncated(header),
            truncated(body)
        ),
    )
}
