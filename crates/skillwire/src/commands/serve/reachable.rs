//! The address at which clients reach a server that listens on every address of a machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use skillwire_server::http::ENDPOINT;

/// Returns an address that a client can use: `0.0.0.0` and `[::]` mean every address of this
/// machine to a server, and none to a client.
pub(super) fn reachable_url(listening: SocketAddr, host: Option<&str>) -> String {
    let port = listening.port();
    if !listening.ip().is_unspecified() {
        return format!("http://{listening}{ENDPOINT}");
    }
    if let Some(host) = host {
        return format!("http://{host}:{port}{ENDPOINT}");
    }
    let address = SocketAddr::new(outgoing_address(listening), port);
    format!("http://{address}{ENDPOINT}")
}

/// Returns the address from which this machine talks to others, or that of this machine itself.
fn outgoing_address(listening: SocketAddr) -> IpAddr {
    // Connecting a datagram socket sends nothing; it only chooses a route. The addresses are of
    // the ranges for documentation.
    let (own, other, loopback): (IpAddr, IpAddr, IpAddr) = match listening {
        SocketAddr::V4(_) => (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
            Ipv4Addr::LOCALHOST.into(),
        ),
        SocketAddr::V6(_) => (
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            Ipv6Addr::LOCALHOST.into(),
        ),
    };
    let chosen = UdpSocket::bind((own, 0))
        .and_then(|socket| socket.connect((other, 9)).and_then(|()| socket.local_addr()));
    chosen.map(|address| address.ip()).ok().filter(|ip| !ip.is_unspecified()).unwrap_or(loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_address_works_for_a_client_fu_19() {
        let url = |listening: &str, host| reachable_url(listening.parse().unwrap(), host);
        assert_eq!(url("127.0.0.1:8640", None), "http://127.0.0.1:8640/mcp");
        let named = url("0.0.0.0:8640", Some("skills.example.com"));
        assert_eq!(named, "http://skills.example.com:8640/mcp");
        for listening in ["0.0.0.0:8640", "[::]:8640"] {
            let url = url(listening, None);
            let host = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix(":8640/mcp"));
            let host = host.unwrap_or_else(|| panic!("{url}")).trim_matches(['[', ']']);
            assert!(!host.parse::<IpAddr>().unwrap().is_unspecified(), "{url}");
        }
    }
}
