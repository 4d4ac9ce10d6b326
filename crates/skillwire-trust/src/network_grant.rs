//! Destinations in a network that a user grants to the scripts of a skill.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Serialize};

/// The longest host name that DNS knows.
const MAX_HOST: usize = 253;

/// A host and a port, or every host below a domain and a port: `api.example.com:443`,
/// `*.example.com:443`, `192.0.2.7:80`, `[2001:db8::1]:443`.
///
/// `*.example.com` means every name below `example.com`, at any depth, and not `example.com` itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NetworkGrant {
    host: GrantedHost,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum GrantedHost {
    Address(IpAddr),
    /// A name, in lower case and without a dot at its end.
    Name(String),
    /// Every name that ends in a dot and this domain.
    Below(String),
}

/// The error for a text that names no destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is neither `HOST:PORT` nor `*.DOMAIN:PORT` with a domain of two or more names",
    .0.escape_debug()
)]
pub struct InvalidNetworkGrant(String);

impl NetworkGrant {
    /// Reads `HOST:PORT` or `*.DOMAIN:PORT`; an IPv6 address stands in brackets.
    ///
    /// A domain below `*.` needs two names or more: `*.com` would be half of the internet.
    pub fn parse(text: &str) -> Result<Self, InvalidNetworkGrant> {
        read(text).ok_or_else(|| InvalidNetworkGrant(text.chars().take(MAX_HOST + 16).collect()))
    }

    /// Tells whether everything that `other` allows is allowed by this grant too.
    pub fn covers(&self, other: &Self) -> bool {
        self.port == other.port
            && match (&self.host, &other.host) {
                (GrantedHost::Below(domain), GrantedHost::Name(name)) => is_below(name, domain),
                (GrantedHost::Below(domain), GrantedHost::Below(other)) => {
                    other == domain || is_below(other, domain)
                }
                (own, other) => own == other,
            }
    }

    /// Returns the port, which is never 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
}

fn read(text: &str) -> Option<NetworkGrant> {
    let (host, port) = text.rsplit_once(':')?;
    // `u16` also reads `+443`.
    let port = port.parse().ok().filter(|number: &u16| *number != 0 && !port.starts_with('+'))?;
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        let address = address.parse::<std::net::Ipv6Addr>().ok()?;
        return Some(NetworkGrant { host: GrantedHost::Address(address.into()), port });
    }
    if let Ok(address) = host.parse::<std::net::Ipv4Addr>() {
        return Some(NetworkGrant { host: GrantedHost::Address(address.into()), port });
    }
    let host = match host.strip_prefix("*.") {
        Some(domain) => GrantedHost::Below(name(domain).filter(|domain| domain.contains('.'))?),
        None => GrantedHost::Name(name(host)?),
    };
    Some(NetworkGrant { host, port })
}

fn name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    // Resolvers read a name whose last label is a number, such as `127.1`, as an address.
    let ends_in_number = |text: &str| {
        let last = text.rsplit('.').next().unwrap_or_default();
        last.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_name = text.len() <= MAX_HOST && text.split('.').all(is_label) && !ends_in_number(text);
    is_name.then(|| text.to_ascii_lowercase())
}

impl fmt::Display for NetworkGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            GrantedHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{port}"),
            GrantedHost::Address(address) => write!(f, "{address}:{port}"),
            GrantedHost::Name(name) => write!(f, "{name}:{port}"),
            GrantedHost::Below(domain) => write!(f, "*.{domain}:{port}"),
        }
    }
}

impl FromStr for NetworkGrant {
    type Err = InvalidNetworkGrant;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<String> for NetworkGrant {
    type Error = InvalidNetworkGrant;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<NetworkGrant> for String {
    fn from(grant: NetworkGrant) -> Self {
        grant.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> NetworkGrant {
        NetworkGrant::parse(text).unwrap()
    }

    #[test]
    fn a_destination_is_written_in_one_way_and_read_back() {
        for (written, rendered) in [
            ("API.example.com:443", "api.example.com:443"),
            ("api.example.com.:443", "api.example.com:443"),
            ("*.Example.com:8443", "*.example.com:8443"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("[2001:DB8:0::1]:443", "[2001:db8::1]:443"),
            ("localhost:8080", "localhost:8080"),
        ] {
            let read = grant(written);
            assert_eq!(read.to_string(), rendered);
            assert_eq!(grant(rendered), read);
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<NetworkGrant>(&json).unwrap(), read);
        }
    }

    #[test]
    fn what_names_no_single_host_or_domain_is_refused() {
        let long = format!("{}:443", "a.".repeat(128));
        for bad in [
            "",
            "host",
            ":443",
            "host:",
            "host:0",
            "host:65536",
            "host:+443",
            "*:443",
            "*.com:443",
            "*.*.example.com:443",
            "a.*.example.com:443",
            "*example.com:443",
            "https://example.com:443",
            "user@example.com:443",
            "exa mple.com:443",
            "example..com:443",
            "-example.com:443",
            "2001:db8::1:443",
            "[192.0.2.7]:443",
            "127.1:80",
            "0x7f.1:80",
            "host:443\n",
            &long,
        ] {
            assert!(NetworkGrant::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_domain_covers_what_is_below_it_and_nothing_else() {
        let domain = grant("*.example.com:443");
        for below in ["a.example.com:443", "a.b.example.com:443", "*.a.example.com:443"] {
            assert!(domain.covers(&grant(below)), "{below}");
            assert!(!grant(below).covers(&domain), "{below}");
        }
        for other in [
            "example.com:443",
            "a.example.com:80",
            "badexample.com:443",
            "a.example.com.evil.net:443",
            "*.org.example:443",
            "192.0.2.7:443",
        ] {
            assert!(!domain.covers(&grant(other)), "{other}");
        }
        assert!(domain.covers(&domain) && grant("h:1").covers(&grant("H:1")));
    }
}
