//! Fetching files of a web origin that the user named, never from a private network.
//!
//! This is the only place that follows an address that a server or an index wrote. The address is
//! checked before the request, the IP addresses of its host are checked when the name is looked up,
//! and the connection goes to exactly the addresses that were checked.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header, uri::Scheme};
use skillwire_trust::{Reason, Refusal, Remedy};

use crate::{
    endpoint::Limits,
    error::ClientError,
    http_client::{
        Destinations, HttpClient, HttpRequest, Redirects, is_loopback, is_private, is_same_origin,
        resolve,
    },
};

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A web origin that publishes skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin {
    url: Uri,
    /// Whether the user typed an address of this machine.
    loopback: bool,
}

/// The content at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedContent {
    /// The bytes.
    pub bytes: Bytes,
    /// The media type that the site sent.
    pub media_type: Option<String>,
}

/// Why a text is not a web origin, as a clause that follows "the address".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidOrigin(&'static str);

impl WebOrigin {
    /// Parses an origin such as `https://example.com`; plain `http` only for this machine.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let url: Uri = text.parse().map_err(|_| InvalidOrigin("is not a URL"))?;
        let host = url.host().ok_or(InvalidOrigin("has no host"))?;
        if text.contains('@') {
            return Err(InvalidOrigin("holds a user name"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || text.contains('#') {
            return Err(InvalidOrigin("has a path; name the origin alone"));
        }
        let loopback = is_loopback(host);
        match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme == Scheme::HTTP && loopback => {}
            _ => return Err(InvalidOrigin("must be `https`; plain `http` only for this machine")),
        }
        if !loopback && is_private(host) {
            return Err(InvalidOrigin("is one of a private network"));
        }
        Ok(Self { url, loopback })
    }

    /// Resolves a reference in an index relative to the index.
    pub fn resolve(base: &str, reference: &str) -> Option<String> {
        resolve(base, reference)
    }

    /// Returns the URL of a path on this origin.
    pub fn at(&self, path: &str) -> String {
        let text = self.url.to_string();
        format!("{}{path}", text.trim_end_matches('/'))
    }

    /// Tells whether a URL is on this origin.
    pub fn holds(&self, url: &str) -> bool {
        url.parse::<Uri>().is_ok_and(|url| is_same_origin(&url, &self.url))
    }
}

/// Fetches what one web origin publishes.
///
/// A web site is no MCP server: nothing is negotiated, and the client sends it plain `GET` requests
/// without headers of the user.
pub struct WebClient {
    origin: WebOrigin,
    /// Requests to the origin itself, if the user typed an address of this machine.
    own: HttpClient,
    /// Every other request.
    public: HttpClient,
}

impl WebClient {
    /// Creates a client of an origin; it sends nothing yet.
    pub fn new(origin: WebOrigin) -> Self {
        Self {
            origin,
            own: HttpClient::new(Destinations::ThisMachine, CONNECT_TIMEOUT),
            public: HttpClient::new(Destinations::Public, CONNECT_TIMEOUT),
        }
    }

    /// Returns the origin.
    pub fn origin(&self) -> &WebOrigin {
        &self.origin
    }

    /// Fetches a URL within a limit; returns `None` if there is nothing at it.
    #[tracing::instrument(skip_all, fields(url))]
    pub async fn get(
        &self,
        url: &str,
        most: u64,
        time: Duration,
    ) -> Result<Option<FetchedContent>, Refusal> {
        let uri: Uri = url.parse().map_err(|_| {
            Refusal::new(Reason::AddressForbidden).file(url).actual("something that is no URL")
        })?;
        let is_own = self.origin.loopback && is_same_origin(&uri, &self.origin.url);
        let client = if is_own { &self.own } else { &self.public };
        let limits = Limits::default()
            .with_bytes(usize::try_from(most).unwrap_or(usize::MAX))
            .with_timeout(time);
        let fetched = client.fetch(get_request(uri), limits, Redirects::WithinOrigin).await;
        let response = fetched.map_err(|error| refuse(url, &error))?;
        match response.status() {
            StatusCode::OK => {
                let media_type = response.headers().get(header::CONTENT_TYPE);
                let media_type = media_type.and_then(|value| Some(value.to_str().ok()?.to_owned()));
                Ok(Some(FetchedContent { media_type, bytes: response.into_body() }))
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            other => Err(Refusal::new(Reason::ServerError)
                .file(url)
                .actual(format!("HTTP status {}", other.as_u16()))),
        }
    }
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebClient").field("origin", &self.origin).finish_non_exhaustive()
    }
}

fn get_request(uri: Uri) -> HttpRequest {
    let mut request = Request::new(http_body_util::Full::default());
    *request.uri_mut() = uri;
    let accepted = HeaderValue::from_static("application/json, text/markdown, */*;q=0.1");
    request.headers_mut().insert(header::ACCEPT, accepted);
    request
}

/// Converts an error of a request for a URL.
fn refuse(url: &str, error: &ClientError) -> Refusal {
    let refuse = |reason| Refusal::new(reason).file(url);
    match error {
        ClientError::Forbidden(why) => refuse(Reason::AddressForbidden).actual(why),
        ClientError::Timeout(_) => refuse(Reason::ServerTimeout),
        ClientError::TooLarge(most) => {
            refuse(Reason::ResponseTooLarge).expected(format!("at most {most} bytes"))
        }
        ClientError::Protocol(problem) => refuse(Reason::ProtocolError).actual(problem),
        ClientError::Redirected(to) => refuse(Reason::RedirectOutside).actual(to),
        ClientError::Certificate { problem, .. } => {
            refuse(Reason::CertificateUntrusted).actual(problem).remedy(Remedy::TrustCertificate)
        }
        ClientError::Unreachable { problem, .. } | ClientError::Closed { problem, .. } => {
            refuse(Reason::ServerUnreachable).actual(problem)
        }
        other => refuse(Reason::ServerUnreachable).actual(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_and_private_addresses_only_where_the_user_typed_loopback_d11() {
        for good in [
            "https://example.com",
            "https://example.com/",
            "https://example.com:8443",
            "http://127.0.0.1:8080",
            "http://localhost:3000",
            "http://[::1]:80/",
        ] {
            assert!(WebOrigin::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://example.com",
            "http://10.0.0.1",
            "https://10.0.0.1",
            "https://192.168.1.1:8443",
            "https://169.254.169.254",
            "https://[fd00::1]",
            "https://user@example.com",
            "https://example.com/skills",
            "https://example.com/?q",
            "ftp://example.com",
            "example.com",
            "",
        ] {
            assert!(WebOrigin::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn references_resolve_against_the_index_d11() {
        let origin = WebOrigin::parse("https://example.com").unwrap();
        let index = origin.at("/.well-known/agent-skills/index.json");
        for (reference, url) in [
            ("refunds.tar.gz", "https://example.com/.well-known/agent-skills/refunds.tar.gz"),
            ("/x/SKILL.md", "https://example.com/x/SKILL.md"),
            ("https://cdn.example/x.zip", "https://cdn.example/x.zip"),
        ] {
            assert_eq!(WebOrigin::resolve(&index, reference).unwrap(), url);
        }
        assert!(origin.holds("https://example.com:443/x"));
        for other in ["http://example.com/", "https://example.com:8443/", "https://evil.example/"] {
            assert!(!origin.holds(other), "{other}");
        }
    }
}
