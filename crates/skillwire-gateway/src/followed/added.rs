//! The servers that a running gateway was told of after its start, as one source.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use skillwire_core::Finding;
use skillwire_source::{
    ChangeCallback, GroupKey, ScanRequest, SkillSource, SourceChange, SourceUnavailable,
};

use crate::followed::server::FollowedServer;

/// Servers that were added after the start, as one source; a catalogue has its sources from the
/// start. A server that was removed stays among them and has no skills.
#[derive(Clone, Default)]
pub(crate) struct AddedServers(Arc<Mutex<AddedState>>);

#[derive(Default)]
struct AddedState {
    servers: Vec<FollowedServer>,
    callback: Option<ChangeCallback>,
}

impl fmt::Debug for AddedServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddedServers").finish_non_exhaustive()
    }
}

impl AddedServers {
    pub(crate) fn add(&self, server: &FollowedServer) {
        let callback = {
            let mut state = self.0.lock();
            state.servers.push(server.clone());
            state.callback.clone()
        };
        // The callback may scan at once, and a scan takes the lock.
        if let Some(callback) = callback {
            server.on_change(callback);
        }
    }
}

impl SkillSource for AddedServers {
    fn scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let servers = self.0.lock().servers.clone();
        for (number, server) in servers.iter().enumerate() {
            // Two servers may have skills with the same URI.
            let own = |key: GroupKey| GroupKey(format!("{number} {}", key.0).into());
            // A server that fails keeps what it listed before; `list_skills` says that it failed.
            let _ = server.scan(request, &mut |change| {
                report(match change {
                    SourceChange::Updated(key, skills) => SourceChange::Updated(own(key), skills),
                    SourceChange::Removed(key) => SourceChange::Removed(own(key)),
                });
            });
        }
        Ok(Vec::new())
    }

    fn on_change(&self, callback: ChangeCallback) {
        let servers = {
            let mut state = self.0.lock();
            state.callback = Some(Arc::clone(&callback));
            state.servers.clone()
        };
        for server in servers {
            server.on_change(Arc::clone(&callback));
        }
    }
}
