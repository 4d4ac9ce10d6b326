//! Hosts and ports that a script may be allowed to connect to.

use std::fmt;

/// A host and a port that a script may connect to, or all names below a domain and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkDestination {
    /// The host, or the domain whose names are meant.
    host: String,
    is_domain: bool,
    port: u16,
}

/// A destination that a script asked for and did not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDestination {
    /// The host and port that the script asked for.
    pub destination: NetworkDestination,
    /// Why it was refused.
    pub reason: RefusalReason,
}

/// Why a script did not reach a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It was not granted.
    NotGranted,
    /// The name was granted, and leads to this machine or a private network.
    NotPublic,
}

/// A text that is not a host and a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not of the form `HOST:PORT` or `*.DOMAIN:PORT`", .0.escape_debug())]
pub struct InvalidDestination(String);

impl NetworkDestination {
    /// Reads `HOST:PORT`. The host is a name or an address; an IPv6 address stands in brackets.
    /// `*.DOMAIN:PORT` means every name below a domain of two or more names.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        let invalid = || InvalidDestination(text.chars().take(256).collect());
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let domain = host.strip_prefix("*.");
        let is_domain = domain.is_some();
        let host = domain.unwrap_or(host);
        if is_domain && !host.contains(|c: char| c.is_ascii_alphabetic()) || is_single(domain) {
            return Err(invalid());
        }
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')),
        };
        if host.is_empty() || host.len() > 253 || !is_host {
            return Err(invalid());
        }
        Ok(Self { host: bare.unwrap_or(host).to_ascii_lowercase(), is_domain, port })
    }

    /// Whether a connection to `other`, which is one host, is a connection to this destination.
    ///
    /// Names are compared before any of them is resolved: what is granted is a name, not an address.
    pub fn covers(&self, other: &Self) -> bool {
        let is_below = |name: &str| {
            let rest = name.strip_suffix(&self.host).and_then(|rest| rest.strip_suffix('.'));
            rest.is_some_and(|rest| !rest.is_empty())
        };
        let host = other.host.strip_suffix('.').unwrap_or(&other.host);
        let is_host = if self.is_domain { is_below(host) } else { self.host == other.host };
        is_host && self.port == other.port && !other.is_domain
    }

    /// Whether this is a domain, whose names are meant, and not one host.
    pub fn is_domain(&self) -> bool {
        self.is_domain
    }

    /// The host or the domain, in lower case and without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address, if the host is one and not a name.
    #[cfg(target_os = "linux")]
    pub(crate) fn address(&self) -> Option<std::net::IpAddr> {
        self.host.parse().ok()
    }

    /// The port, which is never 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for NetworkDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_domain {
            write!(f, "*.{}:{}", self.host, self.port)
        } else if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Whether a domain has one name only, such as `com`.
fn is_single(domain: Option<&str>) -> bool {
    domain.is_some_and(|domain| !domain.trim_end_matches('.').contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_one_host_and_one_port() {
        let named = NetworkDestination::parse("API.example.com:443").unwrap();
        assert_eq!((named.host(), named.port()), ("api.example.com", 443));
        let address = NetworkDestination::parse("[::1]:80").unwrap();
        assert_eq!((address.host(), address.to_string().as_str()), ("::1", "[::1]:80"));
        for bad in ["", "host", ":80", "host:0", "host:99999", "*:80", "a b:1", "u@h:1", "::1:80"] {
            assert!(NetworkDestination::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_domain_covers_the_names_below_it_and_no_address() {
        let destination = |text: &str| NetworkDestination::parse(text).unwrap();
        let domain = destination("*.Example.com:443");
        assert_eq!(domain.to_string(), "*.example.com:443");
        for below in ["a.example.com:443", "A.b.example.com:443", "a.example.com.:443"] {
            assert!(domain.covers(&destination(below)), "{below}");
        }
        for other in [
            "example.com:443",
            "a.example.com:80",
            "badexample.com:443",
            "a.example.com.evil.net:443",
            "192.0.2.7:443",
            "*.example.com:443",
        ] {
            assert!(!domain.covers(&destination(other)), "{other}");
        }
        for bad in ["*.com:443", "*.:443", "*.1.2:443", "a.*.example.com:443", "*.*.example.com:1"]
        {
            assert!(NetworkDestination::parse(bad).is_err(), "{bad}");
        }
    }
}
