//! Decides which `Host` and `Origin` headers a request may have.
//!
//! Trust boundary: a malicious web page can make a user's browser send requests to a server on the
//! same machine, if need be by pointing a name of its own at that machine. The page cannot choose
//! these two headers, so the server refuses hosts and origins it does not know.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderMap, header};

/// Names that always mean this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Hosts and origins from which the server accepts requests.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AccessRules {
    /// Host names besides the loopback ones, without port, in lower case.
    pub hosts: Vec<String>,
    /// Origins besides the server's own, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// Whether any host name is accepted, for a server that clients reach by a name it cannot know.
    pub any_host: bool,
}

/// The rules of a running server, which may be replaced; clones share them.
#[derive(Debug, Clone, Default)]
pub struct LiveAccessRules(Arc<ArcSwap<AccessRules>>);

impl LiveAccessRules {
    /// Returns the rules of now.
    pub fn now(&self) -> Arc<AccessRules> {
        self.0.load_full()
    }

    /// Applies other rules from the next request on.
    pub fn replace(&self, rules: AccessRules) {
        self.0.store(Arc::new(rules));
    }

    /// Checks the headers of a request by the rules of now.
    pub(super) fn admit<'a>(
        &self,
        headers: &'a HeaderMap,
        authority: Option<&str>,
    ) -> Result<Admitted<'a>, AccessRefusal> {
        self.0.load().admit(headers, authority)
    }
}

impl From<AccessRules> for LiveAccessRules {
    fn from(rules: AccessRules) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(rules)))
    }
}

/// The reason why a request is refused; the text is sent to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessRefusal {
    /// The `Host` header and the request target name different hosts.
    #[error("The request names two hosts.")]
    TwoHosts,
    /// The request names no host.
    #[error("The request names no host.")]
    NoHost,
    /// The server does not go by this name ([`AccessRules::hosts`]).
    #[error("This host name is not served.")]
    UnknownHost,
    /// Pages of this origin may not talk to the server ([`AccessRules::origins`]).
    #[error("This origin is not allowed.")]
    UnknownOrigin,
    /// A header that decides about access occurs twice.
    #[error("The request repeats `Host` or `Origin`.")]
    Repeated,
    /// A header that decides about access is not text.
    #[error("`Host` or `Origin` is not text.")]
    NotText,
}

/// A request that passed the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admitted<'a> {
    /// The origin, if it is not the server's own but the operator allows it; the response must tell
    /// the browser.
    pub(super) foreign_origin: Option<&'a str>,
}

impl AccessRules {
    /// Accepts requests that name one of these hosts, besides the names of this machine.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.hosts.extend(hosts);
        self
    }

    /// Accepts requests of pages of these origins, such as `https://app.example.com`.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.origins.extend(origins);
        self
    }

    /// Sets whether any host name is accepted, for a server that clients reach by a name it cannot
    /// know.
    #[must_use]
    pub fn any_host(mut self, any_host: bool) -> Self {
        self.any_host = any_host;
        self
    }

    /// Checks the headers of a request; `authority` is the host of an absolute request target.
    pub(super) fn admit<'a>(
        &self,
        headers: &'a HeaderMap,
        authority: Option<&str>,
    ) -> Result<Admitted<'a>, AccessRefusal> {
        let host = match (single(headers, header::HOST)?, authority) {
            (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority) => {
                return Err(AccessRefusal::TwoHosts);
            }
            (host, authority) => host.or(authority),
        };
        let host = host.ok_or(AccessRefusal::NoHost)?;
        let name = without_port(host);
        let is_name = |allowed: &str| allowed.eq_ignore_ascii_case(name);
        let known = LOOPBACK.into_iter().any(is_name) || self.hosts.iter().any(|h| is_name(h));
        if !known && !self.any_host {
            return Err(AccessRefusal::UnknownHost);
        }
        let Some(origin) = single(headers, header::ORIGIN)? else {
            return Ok(Admitted { foreign_origin: None });
        };
        if self.origins.iter().any(|allowed| allowed == origin) {
            return Ok(Admitted { foreign_origin: Some(origin) });
        }
        // A page that this host and port served may talk to the server, but only if the host is a
        // known one: with `any_host`, a page could reach the server under its own name and pass
        // for one of its pages.
        let own = known
            && origin.split_once("://").is_some_and(|(scheme, rest)| {
                matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(host)
            });
        if own { Ok(Admitted { foreign_origin: None }) } else { Err(AccessRefusal::UnknownOrigin) }
    }
}

/// Returns the one value of a header; refuses two values, or a value that is not text.
fn single(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, AccessRefusal> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(AccessRefusal::Repeated);
    }
    first.to_str().map(Some).map_err(|_| AccessRefusal::NotText)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(rules: &AccessRules, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        rules.admit(&headers, None).is_ok()
    }

    #[test]
    fn only_allowed_origins_are_let_in_srv_97() {
        let rules =
            AccessRules { origins: vec!["https://app.example".into()], ..Default::default() };
        assert!(admit(&rules, "127.0.0.1:80", None));
        assert!(admit(&rules, "127.0.0.1:80", Some("http://127.0.0.1:80")));
        assert!(admit(&rules, "[::1]:80", Some("http://[::1]:80")));
        assert!(admit(&rules, "localhost", Some("https://app.example")));
        for origin in
            ["http://evil", "null", "http://127.0.0.1:81", "https://app.example.evil", "file://"]
        {
            assert!(!admit(&rules, "127.0.0.1:80", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn foreign_hosts_are_kept_out_even_without_origin_v_21() {
        let rules = AccessRules { hosts: vec!["skills.example".into()], ..Default::default() };
        assert!(admit(&rules, "skills.example:443", None));
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "evil:80"] {
            assert!(!admit(&rules, host, None), "{host}");
            assert!(!admit(&rules, host, Some(&format!("http://{host}"))), "{host}");
        }
        let open = AccessRules { any_host: true, ..Default::default() };
        assert!(admit(&open, "10.0.0.1", None));
        assert!(!admit(&open, "evil", Some("http://evil")));
    }
}
