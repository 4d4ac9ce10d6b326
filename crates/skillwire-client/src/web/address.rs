//! Which machines a URL may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the IP address that a host is written as, if it is one.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Tells whether a host, as the user typed it, is this machine, without looking up any name.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || literal(host).is_some_and(|ip| ip.is_loopback())
}

/// Tells whether an address is one of the public internet.
pub(super) fn is_public(ip: IpAddr) -> bool {
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
}
