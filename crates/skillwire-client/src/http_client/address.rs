//! Which machines a request may go to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fluent_uri::UriRef;
use http::{Uri, uri::Scheme};

use crate::error::ClientError;

/// The addresses that a client may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destinations {
    /// Every address, because the user typed the URL.
    Configured,
    /// Public addresses over `https`, and some others: for tokens and for addresses that a server
    /// names.
    Confidential {
        /// Whether this machine is allowed, also over `http`, because the server is on it.
        this_machine: bool,
        /// Whether private networks are allowed, because the user typed the address or the server
        /// that names it is on such a network. Otherwise a server of the internet could have this
        /// program send requests into the user's network.
        private_network: bool,
    },
    /// The public internet over `https`.
    Public,
    /// This machine alone.
    ThisMachine,
}

impl Destinations {
    /// Refuses a URL that leads elsewhere, as far as that shows without looking up its name.
    pub(crate) fn check(self, url: &Uri) -> Result<(), ClientError> {
        let host = url.host().unwrap_or_default();
        let encrypted = url.scheme() == Some(&Scheme::HTTPS);
        let known = encrypted || url.scheme() == Some(&Scheme::HTTP);
        let private = is_loopback(host) || is_private(host);
        match self {
            Self::Confidential { this_machine: true, .. } if known && is_loopback(host) => Ok(()),
            Self::Confidential { private_network: false, .. } if encrypted && private => {
                Err(ClientError::Forbidden(
                    "it is an address of a private network, and the server is not",
                ))
            }
            Self::Confidential { .. } if encrypted && !is_loopback(host) => Ok(()),
            Self::Confidential { .. } => {
                Err(ClientError::Forbidden("it is neither `https` nor on the server's own machine"))
            }
            Self::Public if !encrypted => {
                Err(ClientError::Forbidden("it is an address without TLS"))
            }
            Self::Public if private => {
                Err(ClientError::Forbidden("it is an address of a private network"))
            }
            Self::ThisMachine if !is_loopback(host) => {
                Err(ClientError::Forbidden("it is not an address of this machine"))
            }
            Self::Configured | Self::Public | Self::ThisMachine => Ok(()),
        }
    }

    /// Tells whether a connection may go to an address that a name led to.
    pub(super) fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Configured | Self::Confidential { private_network: true, .. } => true,
            Self::Confidential { this_machine, .. } => {
                is_public(address) || (this_machine && address.is_loopback())
            }
            Self::Public => is_public(address),
            Self::ThisMachine => address.is_loopback(),
        }
    }
}

/// Resolves a reference relative to a URL.
pub(crate) fn resolve(base: &str, reference: &str) -> Option<String> {
    let base = fluent_uri::Uri::parse(base).ok()?;
    let reference = UriRef::parse(reference).ok()?;
    let resolved = reference.resolve_against(&base).ok()?;
    Some(resolved.normalize().into_string())
}

/// Tells whether two URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && a.host() == b.host() && port(a) == port(b)
}

fn port(url: &Uri) -> u16 {
    let usual = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    url.port_u16().unwrap_or(usual)
}

/// Returns the IP address that a host is written as, if it is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Tells whether a host, as the user typed it, is this machine, without looking up any name.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || literal(host).is_some_and(|ip| ip.is_loopback())
}

/// Tells whether a host is written as an IP address that is not one of the public internet.
pub(crate) fn is_private(host: &str) -> bool {
    literal(host).is_some_and(|ip| !is_public(ip))
}

/// Tells whether a server is on this machine or on a private network, by its address or else by
/// looking up its name.
///
/// A name that leads to the internet as well does not count: its owner could add a private address
/// to be let into that network.
#[cfg(feature = "oauth")]
pub(crate) async fn is_on_private_network(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    if is_loopback(host) || literal(host).is_some() {
        return is_loopback(host) || is_private(host);
    }
    match tokio::net::lookup_host((host, 0)).await {
        Ok(mut found) => {
            let first = found.next();
            first.is_some_and(|first| !is_public(first.ip())) && found.all(|a| !is_public(a.ip()))
        }
        Err(_) => false,
    }
}

/// Tells whether an address is one of the public internet.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !(special
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || ip.is_broadcast())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    // An IPv4 address inside an IPv6 address is judged as IPv4, so that it cannot hide a private
    // network.
    if let Some(old) = ip.to_ipv4() {
        return !ip.is_loopback() && !ip.is_unspecified() && is_public_v4(old);
    }
    let [first, second, ..] = ip.segments();
    let translated = first == 0x64 && second == 0xff9b;
    // Only this block is assigned to the public internet; the rest is local, special or unassigned.
    !translated
        && first & 0xe000 == 0x2000
        && !(first == 0x2001 && second == 0xdb8)
        && first != 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_coat_d11() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_loopback_host_is_told_by_its_name_or_address_d11() {
        for own in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "[::1]", "::1"] {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1", "0x7f000001"] {
            assert!(!is_loopback(other), "{other}");
        }
    }

    #[test]
    fn tokens_go_to_https_and_to_this_machine_only_from_this_machine() {
        for (url, from_outside, from_inside) in [
            ("https://id.example.com/x", true, true),
            ("http://id.example.com/x", false, false),
            ("http://127.0.0.1/x", false, true),
            ("https://localhost/x", false, true),
            ("http://[::1]:8080/x", false, true),
            ("javascript://127.0.0.1/x", false, false),
        ] {
            let url: Uri = url.parse().unwrap();
            let may_reach = |this_machine| {
                Destinations::Confidential { this_machine, private_network: true }
                    .check(&url)
                    .is_ok()
            };
            assert_eq!((may_reach(false), may_reach(true)), (from_outside, from_inside), "{url}");
        }
    }

    #[test]
    fn a_server_of_the_internet_names_no_address_of_a_private_network_sec_20() {
        let named =
            |private_network| Destinations::Confidential { this_machine: false, private_network };
        for url in ["https://10.0.0.1/token", "https://[fd00::1]/token", "https://169.254.169.254/"]
        {
            let url: Uri = url.parse().unwrap();
            assert!(named(false).check(&url).is_err(), "{url}");
            assert!(named(true).check(&url).is_ok(), "{url}");
        }
        for (address, from_internet) in
            [("10.0.0.1", false), ("127.0.0.1", false), ("fd00::1", false), ("1.1.1.1", true)]
        {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(named(false).allows(address), from_internet, "{address}");
            assert!(named(true).allows(address), "{address}");
        }
    }

    #[cfg(feature = "oauth")]
    #[tokio::test]
    async fn where_a_server_is_shows_in_its_address_sec_20() {
        for (url, private) in [
            ("https://10.1.2.3/mcp", true),
            ("https://[fd00::1]/mcp", true),
            ("http://localhost:8080/mcp", true),
            ("https://93.184.216.34/mcp", false),
        ] {
            assert_eq!(is_on_private_network(&url.parse().unwrap()).await, private, "{url}");
        }
    }
}
