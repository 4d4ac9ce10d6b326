//! Hosts and ports that a script may be allowed to connect to.

use std::fmt;

/// A host and a port that a script may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkDestination {
    host: String,
    port: u16,
}

/// A text that is not a host and a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not of the form `HOST:PORT`", .0.escape_debug())]
pub struct InvalidDestination(String);

impl NetworkDestination {
    /// Reads `HOST:PORT`. The host is a name or an address; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        let invalid = || InvalidDestination(text.chars().take(256).collect());
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')),
        };
        if host.is_empty() || host.len() > 253 || !is_host {
            return Err(invalid());
        }
        Ok(Self { host: bare.unwrap_or(host).to_ascii_lowercase(), port })
    }

    /// The host, in lower case and without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, which is never 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for NetworkDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
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
}
