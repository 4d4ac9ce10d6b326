//! Which requests are answered at all, and what every answer tells the browser.
//!
//! Trust boundary: any web page can make the user's browser send requests to this server, if need be by
//! pointing a name of its own at this machine. It cannot choose `Host`, `Origin` and `Sec-Fetch-Site`,
//! so these decide, before a cookie is looked at.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

/// Nothing but our own files runs or is drawn, nothing is sent elsewhere, and no page frames ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// What an image may do when a browser opens it by itself: nothing.
pub(crate) const IMAGE_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// The names under which the page is reached.
#[derive(Debug, Clone, Default)]
pub struct PageHosts {
    /// Names with their port, such as `127.0.0.1:8080`; nothing else is accepted.
    exact: Vec<String>,
    /// Names without port, in lower case.
    names: Vec<String>,
    any: bool,
}

impl PageHosts {
    /// The names of this machine, with the port that the page listens on.
    pub fn loopback(port: u16) -> Self {
        let exact = ["127.0.0.1", "localhost", "[::1]"];
        Self {
            exact: exact.iter().map(|name| format!("{name}:{port}")).collect(),
            ..Self::default()
        }
    }

    /// These names and those of this machine, with any port; with `any`, every name, for a server that
    /// cannot know its own.
    pub fn named(names: impl IntoIterator<Item = String>, any: bool) -> Self {
        let own = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        let names = own.into_iter().chain(names).map(|name| name.to_ascii_lowercase());
        Self { names: names.collect(), any, ..Self::default() }
    }

    fn is_known(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &host,
        };
        self.any || self.exact.contains(&host) || self.names.iter().any(|known| known == name)
    }
}

/// Why a request is refused before anything of it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuardRefusal {
    #[error("This host name is not served.")]
    Host,
    #[error("Another site may not use this page.")]
    OtherSite,
    #[error("Only a form of this page may do that.")]
    Origin,
    #[error("Forms of this page are sent as `application/x-www-form-urlencoded`.")]
    MediaType,
    #[error("The page knows `GET`, `HEAD` and `POST`.")]
    Method,
}

/// Checks where a request comes from.
pub(crate) fn admit(
    hosts: &PageHosts,
    method: &Method,
    headers: &HeaderMap,
    authority: Option<&str>,
) -> Result<(), GuardRefusal> {
    let host = single(headers, &header::HOST).ok_or(GuardRefusal::Host)?;
    if authority.is_some_and(|authority| !authority.eq_ignore_ascii_case(host)) {
        return Err(GuardRefusal::Host);
    }
    if !hosts.is_known(host) {
        return Err(GuardRefusal::Host);
    }
    match *method {
        Method::GET | Method::HEAD => admit_reading(headers),
        Method::POST => admit_acting(headers, host),
        _ => Err(GuardRefusal::Method),
    }
}

/// A link on another site may lead to the page. Nothing else of another site, and of another port of
/// this machine, may load anything of it.
fn admit_reading(headers: &HeaderMap) -> Result<(), GuardRefusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if text("sec-fetch-dest") == Some("document") => Ok(()),
        Some(_) => Err(GuardRefusal::OtherSite),
    }
}

/// Only a form that this very host and port served may act.
fn admit_acting(headers: &HeaderMap, host: &str) -> Result<(), GuardRefusal> {
    let origin = single(headers, &header::ORIGIN).ok_or(GuardRefusal::Origin)?;
    let (scheme, rest) = origin.split_once("://").ok_or(GuardRefusal::Origin)?;
    if !matches!(scheme, "http" | "https") || !rest.eq_ignore_ascii_case(host) {
        return Err(GuardRefusal::Origin);
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin") {
        return Err(GuardRefusal::Origin);
    }
    let media_type = single(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(GuardRefusal::MediaType);
    }
    Ok(())
}

/// Returns the one value of a header; two values are none.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

/// Adds what every answer tells the browser.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let fixed = [
        ("content-security-policy", POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        // With `no-referrer`, browsers would send forms with `Origin: null`.
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        let name = HeaderName::from_static(name);
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(method: &Method, pairs: &[(&'static str, &str)]) -> Result<(), GuardRefusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        admit(&PageHosts::loopback(80), method, &headers, None)
    }

    #[test]
    fn only_the_own_name_and_port_are_served() {
        for host in ["127.0.0.1:80", "localhost:80", "LOCALHOST:80", "[::1]:80"] {
            assert_eq!(admitted(&Method::GET, &[("host", host)]), Ok(()), "{host}");
        }
        for host in ["evil.example:80", "127.0.0.1:81", "127.0.0.1", "localhost.evil:80", ""] {
            let refused = admitted(&Method::GET, &[("host", host)]);
            assert_eq!(refused, Err(GuardRefusal::Host), "{host}");
        }
        let twice = [("host", "127.0.0.1:80"), ("host", "127.0.0.1:80")];
        assert_eq!(admitted(&Method::GET, &twice), Err(GuardRefusal::Host));
        assert_eq!(admitted(&Method::GET, &[]), Err(GuardRefusal::Host));
    }

    #[test]
    fn another_site_may_link_to_the_page_and_load_nothing_of_it() {
        let from = |site, dest| {
            let host = ("host", "127.0.0.1:80");
            admitted(&Method::GET, &[host, ("sec-fetch-site", site), ("sec-fetch-dest", dest)])
        };
        assert_eq!(from("cross-site", "document"), Ok(()));
        assert_eq!(from("same-origin", "image"), Ok(()));
        for (site, dest) in
            [("cross-site", "image"), ("same-site", "empty"), ("cross-site", "iframe")]
        {
            assert_eq!(from(site, dest), Err(GuardRefusal::OtherSite), "{site} {dest}");
        }
    }

    #[test]
    fn only_a_form_of_the_same_host_and_port_acts() {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let host = ("host", "127.0.0.1:80");
        let own = ("origin", "http://127.0.0.1:80");
        assert_eq!(admitted(&Method::POST, &[host, own, form]), Ok(()));
        for origin in ["null", "http://127.0.0.1:81", "http://evil", "file://", "127.0.0.1:80"] {
            let refused = admitted(&Method::POST, &[host, ("origin", origin), form]);
            assert_eq!(refused, Err(GuardRefusal::Origin), "{origin}");
        }
        assert_eq!(admitted(&Method::POST, &[host, form]), Err(GuardRefusal::Origin));
        let other = ("sec-fetch-site", "same-site");
        assert_eq!(admitted(&Method::POST, &[host, own, form, other]), Err(GuardRefusal::Origin));
        for media_type in ["text/plain", "application/json", "multipart/form-data"] {
            let refused = admitted(&Method::POST, &[host, own, ("content-type", media_type)]);
            assert_eq!(refused, Err(GuardRefusal::MediaType));
        }
        assert_eq!(admitted(&Method::DELETE, &[host, own, form]), Err(GuardRefusal::Method));
    }
}
