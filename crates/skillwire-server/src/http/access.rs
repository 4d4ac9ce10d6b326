//! Which `Host` and `Origin` a request may name.
//!
//! A web page in a user's browser can be made to talk to a server on the same machine. It cannot
//! choose these two headers, so they are what keeps it out.

use http::{HeaderMap, header};

/// Names that always mean this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Hosts and origins that are let in.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    /// Host names besides the loopback ones, without port, in lower case.
    pub hosts: Vec<String>,
    /// Origins besides the server's own, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// Whether any host name is good, as for a server that others reach by a name it cannot know.
    pub any_host: bool,
}

/// Why a request is kept out; the text is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forbidden(pub(super) &'static str);

/// A request that was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admitted<'a> {
    /// An origin other than our own that the operator allows; a browser must be told so.
    pub(super) foreign_origin: Option<&'a str>,
}

impl AccessRules {
    /// Judges a request by its headers; `authority` is what an absolute request target named.
    pub(super) fn admit<'a>(
        &self,
        headers: &'a HeaderMap,
        authority: Option<&str>,
    ) -> Result<Admitted<'a>, Forbidden> {
        let host = match (single(headers, header::HOST)?, authority) {
            (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority) => {
                return Err(Forbidden("The request names two hosts."));
            }
            (host, authority) => host.or(authority),
        };
        let host = host.ok_or(Forbidden("The request names no host."))?;
        let name = without_port(host);
        let is_name = |allowed: &str| allowed.eq_ignore_ascii_case(name);
        let known = LOOPBACK.into_iter().any(is_name) || self.hosts.iter().any(|h| is_name(h));
        if !known && !self.any_host {
            return Err(Forbidden("This host name is not served; see `--allow-host`."));
        }
        let Some(origin) = single(headers, header::ORIGIN)? else {
            return Ok(Admitted { foreign_origin: None });
        };
        if self.origins.iter().any(|allowed| allowed == origin) {
            return Ok(Admitted { foreign_origin: Some(origin) });
        }
        // A page served by this very host and port is no stranger, if the host is really ours.
        let own = known
            && origin.split_once("://").is_some_and(|(scheme, rest)| {
                matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(host)
            });
        if own {
            Ok(Admitted { foreign_origin: None })
        } else {
            Err(Forbidden("This origin is not allowed; see `--allow-origin`."))
        }
    }
}

/// The one value of a header; two values, or bytes that are no text, are refused.
fn single(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, Forbidden> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Forbidden("The request repeats `Host` or `Origin`."));
    }
    first.to_str().map(Some).map_err(|_| Forbidden("`Host` or `Origin` is not text."))
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
