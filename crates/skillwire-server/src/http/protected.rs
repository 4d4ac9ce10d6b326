//! Says where clients get tokens (RFC 9728, protected resource metadata).

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::json;
use skillwire_engine::Config;

use super::{ENDPOINT, body::ResponseBody, reply};

/// The path of the document; the path of the endpoint may follow.
pub(super) const DOCUMENT: &str = "/.well-known/oauth-protected-resource";

/// Where clients of a server with tokens get one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The authorization servers, by their issuer URLs; shared by clones, and replaced while the server runs.
    issuers: Arc<ArcSwap<Vec<String>>>,
    /// The address of the endpoint as clients write it; without it, the `Host` header of a request
    /// decides.
    pub url: Option<String>,
    /// The path of the endpoint, where the address is not given.
    pub path: String,
    /// The scopes that tokens should have, for clients that ask for some.
    pub scopes: Vec<String>,
}

impl ProtectedResource {
    /// Names the authorization servers.
    pub fn new(issuers: impl IntoIterator<Item = String>) -> Self {
        Self {
            issuers: Arc::new(ArcSwap::from_pointee(issuers.into_iter().collect())),
            url: None,
            path: ENDPOINT.to_owned(),
            scopes: Vec::new(),
        }
    }

    /// Names other authorization servers from now on, also in clones of this value.
    pub fn replace_issuers(&self, issuers: Vec<String>) {
        self.issuers.store(Arc::new(issuers));
    }

    /// Sets the path of the endpoint, where its address is not given.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the scopes that clients should ask for.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = String>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// Sets the address of the endpoint as clients write it.
    #[must_use]
    pub fn url(mut self, url: Option<String>) -> Self {
        self.url = url;
        self
    }

    /// Answers a request for the document.
    pub(crate) fn document<B>(
        &self,
        request: &Request<B>,
        config: &Config,
    ) -> Response<ResponseBody> {
        let path = request.uri().path();
        if self.issuers.load().is_empty() {
            return reply::refuse(StatusCode::NOT_FOUND, "No authorization server issues tokens.");
        }
        let Some(resource) = self.resource(request.headers()) else {
            return reply::refuse(StatusCode::BAD_REQUEST, "The request names no host.");
        };
        if path != DOCUMENT && path.strip_prefix(DOCUMENT) != Some(path_of(&resource)) {
            return reply::refuse(StatusCode::NOT_FOUND, "The endpoint is `/mcp`.");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return reply::not_allowed("GET");
        }
        let mut document = json!({
            "resource": resource,
            "authorization_servers": **self.issuers.load(),
            "bearer_methods_supported": ["header"],
        });
        if !self.scopes.is_empty() {
            document["scopes_supported"] = self.scopes.clone().into();
        }
        if let Some(title) = &config.identity.title {
            document["resource_name"] = title.as_str().into();
        }
        let mut response = reply::text(StatusCode::OK, "application/json", document.to_string());
        // Web clients of any origin may have to log in.
        let any = HeaderValue::from_static("*");
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any);
        response
    }

    /// Returns the challenge for a request without a valid token.
    pub fn challenge(&self, headers: &HeaderMap, error: Option<&str>) -> Option<HeaderValue> {
        if self.issuers.load().is_empty() {
            return None;
        }
        let resource = self.resource(headers)?;
        let root = resource.strip_suffix(path_of(&resource))?;
        let document = format!("{root}{DOCUMENT}{}", path_of(&resource));
        let mut challenge = format!("Bearer resource_metadata=\"{document}\"");
        if let Some(error) = error {
            challenge = format!("{challenge}, error=\"{error}\"");
        }
        if !self.scopes.is_empty() {
            challenge = format!("{challenge}, scope=\"{}\"", self.scopes.join(" "));
        }
        HeaderValue::from_str(&challenge).ok()
    }

    /// Returns the address of the endpoint as the client of a request writes it.
    pub fn resource(&self, headers: &HeaderMap) -> Option<String> {
        if let Some(url) = &self.url {
            return Some(url.clone());
        }
        // The access rules have checked that the host is one of this server's.
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if !host.chars().all(is_plain) {
            return None;
        }
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let local = matches!(name, "localhost" | "[::1]") || name.starts_with("127.");
        let scheme = if local { "http" } else { "https" };
        Some(format!("{scheme}://{host}{}", self.path))
    }
}

/// Returns the path of an address, which begins with a slash unless it is empty.
fn path_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find('/').map_or("", |at| &url[authority + at..])
}
