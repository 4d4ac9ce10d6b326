//! Fetching files of a web origin that the user named, never from a private network.
//!
//! This is the only place that follows an address that a server or an index wrote. The address is
//! checked before the request, the IP addresses of its host are checked when the name is looked up,
//! and the connection goes to exactly the addresses that were checked.

pub(crate) mod address;
mod resolver;

use std::time::Duration;

use bytes::Bytes;
use fluent_uri::UriRef;
use http::{Method, Request, Response, StatusCode, Uri, header, uri::Scheme};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use skillwire_trust::{Reason, Refusal};

use self::resolver::Guarded;

/// The most redirects that are followed, all of them within the origin.
const MOST_REDIRECTS: usize = 3;

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
        let loopback = address::is_loopback(host);
        match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme == Scheme::HTTP && loopback => {}
            _ => return Err(InvalidOrigin("must be `https`; plain `http` only for this machine")),
        }
        if !loopback && address::literal(host).is_some_and(|ip| !address::is_public(ip)) {
            return Err(InvalidOrigin("is one of a private network"));
        }
        Ok(Self { url, loopback })
    }

    /// Resolves a reference in an index relative to the index.
    pub fn resolve(base: &str, reference: &str) -> Option<String> {
        let base = fluent_uri::Uri::parse(base).ok()?;
        let reference = UriRef::parse(reference).ok()?;
        let resolved = reference.resolve_against(&base).ok()?;
        Some(resolved.normalize().into_string())
    }

    /// Returns the URL of a path on this origin.
    pub fn at(&self, path: &str) -> String {
        let text = self.url.to_string();
        format!("{}{path}", text.trim_end_matches('/'))
    }

    /// Tells whether a URL is on this origin.
    pub fn holds(&self, url: &str) -> bool {
        url.parse::<Uri>().is_ok_and(|url| {
            url.scheme() == self.url.scheme()
                && url.host() == self.url.host()
                && port(&url) == port(&self.url)
        })
    }

    /// Fetches a URL within a limit; returns `None` if there is nothing at it.
    pub async fn get(
        &self,
        url: &str,
        most: u64,
        time: Duration,
    ) -> Result<Option<FetchedContent>, Refusal> {
        let late = || Refusal::new(Reason::ServerTimeout).file(url);
        tokio::time::timeout(time, self.follow(url, most)).await.map_err(|_| late())?
    }

    async fn follow(&self, url: &str, most: u64) -> Result<Option<FetchedContent>, Refusal> {
        let mut url = url.to_owned();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.ask(&url).await?;
            let status = response.status();
            if status.is_redirection() {
                url = Self::redirected(&url, &response)?;
                continue;
            }
            return match status {
                StatusCode::OK => collect(&url, response, most).await.map(Some),
                StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
                other => Err(Refusal::new(Reason::ServerError)
                    .file(&url)
                    .actual(format!("HTTP status {}", other.as_u16()))),
            };
        }
        Err(Refusal::new(Reason::ProtocolError)
            .file(url)
            .expected(format!("at most {MOST_REDIRECTS} redirects"))
            .actual("more"))
    }

    /// Returns the target of a redirect, which must be on the origin that sent it.
    fn redirected(from: &str, response: &Response<Incoming>) -> Result<String, Refusal> {
        let location =
            response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| Self::resolve(from, location)).unwrap_or_default();
        let same = |a: &Uri, b: &Uri| {
            a.scheme() == b.scheme() && a.host() == b.host() && port(a) == port(b)
        };
        let stays = from.parse::<Uri>().ok().zip(to.parse::<Uri>().ok());
        if stays.is_some_and(|(from, to)| same(&from, &to)) {
            return Ok(to);
        }
        Err(Refusal::new(Reason::RedirectOutside).file(from).actual(to.escape_debug()))
    }

    async fn ask(&self, url: &str) -> Result<Response<Incoming>, Refusal> {
        let refuse = |reason, actual: &str| Refusal::new(reason).file(url).actual(actual);
        let uri: Uri = url.parse().map_err(|_| refuse(Reason::AddressForbidden, "no URL"))?;
        let host = uri.host().unwrap_or_default();
        let own = self.loopback && self.holds(url);
        if uri.scheme() != Some(&Scheme::HTTPS) && !own {
            return Err(refuse(Reason::AddressForbidden, "an address without TLS"));
        }
        let private = address::literal(host).is_some_and(|ip| !address::is_public(ip))
            || address::is_loopback(host);
        if private && !own {
            return Err(refuse(Reason::AddressForbidden, "an address of a private network"));
        }
        let request = Request::builder()
            .method(Method::GET)
            .uri(uri)
            .header(header::ACCEPT, "application/json, text/markdown, */*;q=0.1")
            .body(Full::<Bytes>::default())
            .map_err(|_| refuse(Reason::AddressForbidden, "no URL"))?;
        let sent = send(request, own).await;
        sent.map_err(|problem| refuse(Reason::ServerUnreachable, &problem))
    }
}

/// Sends one request; the resolver allows only checked IP addresses.
async fn send(request: Request<Full<Bytes>>, loopback: bool) -> Result<Response<Incoming>, String> {
    let mut connector = HttpConnector::new_with_resolver(Guarded::new(loopback));
    connector.set_nodelay(true);
    let builder = Client::builder(TokioExecutor::new());
    let sent = if request.uri().scheme() == Some(&Scheme::HTTP) {
        builder.build(connector).request(request).await
    } else {
        #[cfg(feature = "tls")]
        {
            connector.enforce_http(false);
            let https = hyper_rustls::HttpsConnectorBuilder::new()
                .with_tls_config(crate::tls::config()?)
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            builder.build(https).request(request).await
        }
        #[cfg(not(feature = "tls"))]
        return Err("this program was built without TLS".to_owned());
    };
    sent.map_err(|error| {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    })
}

/// Reads a whole body within a limit.
async fn collect(
    url: &str,
    response: Response<Incoming>,
    most: u64,
) -> Result<FetchedContent, Refusal> {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| Some(value.to_str().ok()?.to_owned()));
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let cut = |_| Refusal::new(Reason::ServerUnreachable).file(url).actual("cut off");
        let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
        if (bytes.len() + data.len()) as u64 > most {
            return Err(Refusal::new(Reason::ResponseTooLarge)
                .file(url)
                .expected(format!("at most {most} bytes")));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(FetchedContent { bytes: bytes.into(), media_type })
}

fn port(url: &Uri) -> u16 {
    let usual = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    url.port_u16().unwrap_or(usual)
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
