//! The headers of requests and responses.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header, uri::Scheme};
use skillwire_protocol::{truncated, version::MODERN};

use crate::{call::OutgoingRequest, error::ClientError, secret::Secret};

/// The header that names a legacy session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Parses the configured URL. Errors never repeat it, because it may hold a token.
pub(super) fn url(text: &str) -> Result<Uri, ClientError> {
    let wrong = |why: &str| ClientError::unreachable(format!("the configured URL {why}"));
    let url: Uri = text.parse().map_err(|_| wrong("is malformed"))?;
    let known = [&Scheme::HTTP, &Scheme::HTTPS];
    if url.scheme().is_none_or(|scheme| !known.contains(&scheme)) {
        return Err(wrong("is neither `http` nor `https`"));
    }
    match url.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            Err(wrong("holds credentials; configure an `Authorization` header"))
        }
        Some(_) => Ok(url),
        None => Err(wrong("has no host")),
    }
}

/// Returns the `Authorization` value for a token.
pub(super) fn bearer(token: &Secret) -> Result<HeaderValue, ClientError> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
    let mut value = value.map_err(|_| ClientError::protocol("a token cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Parses the configured headers and marks their values as sensitive, so that the HTTP stack does
/// not print them.
pub(super) fn configured(headers: &[(String, Secret)]) -> Result<HeaderMap, ClientError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || {
            let name = truncated(name);
            ClientError::unreachable(format!("the configured header `{name}` is malformed"))
        };
        let name: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

/// Adds the headers that the transport requires; they replace configured ones.
pub(super) fn add(
    headers: &mut HeaderMap,
    version: Option<&'static str>,
    call: Option<&OutgoingRequest>,
    session: Option<HeaderValue>,
) -> Result<(), ClientError> {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, both);
    if let Some(version) = version {
        headers.insert(VERSION, HeaderValue::from_static(version));
    }
    if let Some(session) = session {
        headers.insert(SESSION, session);
    }
    if let Some(call) = call.filter(|call| call.version == Some(MODERN)) {
        headers.insert(METHOD, value(&call.method)?);
        if let Some(name) = &call.name {
            headers.insert(NAME, value(name)?);
        }
    }
    Ok(())
}

/// Writes a text as a header value, encoded if a header cannot carry it as it is.
fn value(text: &str) -> Result<HeaderValue, ClientError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.starts_with("=?base64?");
    let written = if plain && !text.is_empty() {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text)))
    };
    written.map_err(|_| ClientError::protocol("a name cannot be sent"))
}

/// Tells whether a response holds events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    essence(headers).as_deref() == Some("text/event-stream")
}

/// Checks that the response has a content type for messages and is not compressed.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), ClientError> {
    let coding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        return Err(ClientError::protocol("an answer is compressed, which was not asked for"));
    }
    match essence(headers).as_deref() {
        Some("application/json" | "text/event-stream") => Ok(()),
        Some(other) => {
            let other = truncated(other);
            Err(ClientError::protocol(format!("an answer is `{other}` and not JSON or events")))
        }
        None => Err(ClientError::protocol("an answer has no content type")),
    }
}

fn essence(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next()?.trim().to_ascii_lowercase())
}

/// Returns the target of a redirect, reduced to what the user has to know.
pub(super) fn target(headers: &HeaderMap) -> String {
    let text = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("");
    let host = text.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    host.map_or_else(|| "another path".to_owned(), |host| format!("`{}`", truncated(&host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_header_cannot_carry_are_encoded_hst_05() {
        assert_eq!(value("skill://a/SKILL.md").unwrap(), "skill://a/SKILL.md");
        for text in ["skill://é/x", "a b", "=?base64?x?=", "", "a\nb"] {
            let expected = format!("=?base64?{}?=", STANDARD.encode(text));
            assert_eq!(value(text).unwrap(), expected.as_str());
        }
    }

    #[test]
    fn a_url_is_never_repeated_hst_05() {
        for wrong in ["ftp://h/secret", "http://user:secret@h/", "/secret", "http://", "sec ret"] {
            let error = url(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(url("http://127.0.0.1:1/mcp?key=1").is_ok());
    }

    #[test]
    fn secrets_do_not_show_in_headers_or_errors_hst_05() {
        let secret = |text| vec![("X-Key".to_owned(), Secret::new(text))];
        let map = configured(&secret("hush")).unwrap();
        assert!(!format!("{map:?}").contains("hush"));
        let error = configured(&secret("hush\n")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hush"));
    }

    #[test]
    fn a_redirect_names_only_the_host_hst_05() {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, "https://evil.test/a?token=1".parse().unwrap());
        assert_eq!(target(&headers), "`evil.test`");
        headers.insert(header::LOCATION, "/elsewhere".parse().unwrap());
        assert_eq!(target(&headers), "another path");
    }
}
