//! Servers that the user adds or removes while a bridge runs.

use skillwire_gateway::Bridge;
use skillwire_state::{Configured, Servers};
use skillwire_trust::ServerLabel;

use crate::settings::address;

/// The configured servers, as a running bridge last read them.
pub(super) struct ConfiguredServers {
    bridge: Bridge,
    servers: Servers,
    known: Configured,
}

impl ConfiguredServers {
    pub(super) fn new(bridge: Bridge, servers: Servers, known: &Configured) -> Self {
        Self { bridge, servers, known: known.clone() }
    }

    /// Reads the configuration again and follows what differs. A configuration that cannot be read
    /// changes nothing.
    pub(super) fn read_again(&mut self) {
        let now = match self.servers.load() {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!("{error}.");
                return;
            }
        };
        if now == self.known {
            return;
        }
        for label in self.known.servers.keys() {
            if !now.servers.contains_key(label) {
                self.bridge.remove_server(label);
            }
        }
        for (label, config) in &now.servers {
            let is_legacy = |configured: &Configured| configured.legacy.contains(label);
            if self.known.servers.get(label) != Some(config)
                || is_legacy(&self.known) != is_legacy(&now)
            {
                self.add(label, config, is_legacy(&now));
            }
        }
        self.known = now;
    }

    fn add(&self, label: &ServerLabel, config: &skillwire_client::ServerConfig, is_legacy: bool) {
        let added = address(label, config).and_then(|address| {
            self.bridge.add_server(label, address)?;
            if is_legacy { self.bridge.host().allow_legacy_discovery(label) } else { Ok(()) }
        });
        if let Err(refusal) = added {
            tracing::warn!("{refusal}");
        }
    }
}
