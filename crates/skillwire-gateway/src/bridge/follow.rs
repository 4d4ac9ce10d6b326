//! Keeps the view up to date.
//!
//! Changes go one way. A server, a folder or an approval changes and notifies the bridge. The
//! bridge makes a new view of the known skills and the user's approvals, and only then wakes the
//! sources, whose scan asks that view which skills to pass on.

use std::time::Duration;

use futures_util::FutureExt;
use skillwire_host::{OriginAddress, local::Discovery};
use skillwire_source::SkillSource;
use skillwire_trust::{Refusal, ServerLabel};
use tokio::time::timeout_at;

use super::{
    Bridge,
    view::{BridgeView, FoldersStatus, OriginStatuses, ServerStatus},
};
use crate::followed::{server::FollowedServer, servers::FollowedServers};

impl Bridge {
    /// Keeps the lists that clients get up to date, until the caller drops the future.
    pub async fn follow(&self) {
        loop {
            self.refresh().await;
            self.changed().await;
        }
    }

    /// Waits until the first listing of every server has ended, but no longer than `at_most`, and
    /// then shows the skills that are known.
    ///
    /// A program should call this before it answers clients: clients of the legacy era read the
    /// instructions only once, so these should be complete by then.
    #[tracing::instrument(skip(self))]
    pub async fn settle(&self, at_most: Duration) {
        self.servers().settle(at_most).await;
        self.refresh().await;
    }

    /// Returns the servers and folders as sources for a catalogue. They report approved skills
    /// only.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        let folders = Box::new(self.folders().clone()) as Box<dyn SkillSource>;
        self.servers().sources().into_iter().chain([folders]).collect()
    }

    /// Adds a server, in place of one with the same label. Its skills appear when it was listed.
    pub fn add_server(
        &self,
        label: &ServerLabel,
        address: impl Into<OriginAddress>,
    ) -> Result<(), Refusal> {
        self.host().add_server(label.clone(), address);
        self.servers().add(label)
    }

    /// Removes a server. What the user decided about its skills stays.
    pub fn remove_server(&self, label: &ServerLabel) {
        self.host().forget_server(label);
        self.servers().remove(label);
        self.look_again();
    }

    /// Sets the skills found in the folders of this machine, in place of the earlier ones.
    pub fn set_folders(&self, found: Discovery) {
        let status = match found.left_out() {
            None => FoldersStatus::Read,
            Some(reason) => FoldersStatus::Incomplete(reason),
        };
        self.host().set_folders(found);
        self.folders_status().send_replace(status);
        self.look_again();
    }

    /// Waits until every origin was listed once, but not longer after the start of the bridge than
    /// its options say. Without this, a client that calls at once would be told that there are no
    /// skills.
    pub(crate) async fn first_listing(&self) {
        if !self.view().is_pending() {
            return;
        }
        let mut folders = self.folders_status().subscribe();
        let servers = self.servers().all();
        let all = async {
            // The sender lives as long as the bridge, so waiting cannot fail.
            let _ = folders.wait_for(|status| *status != FoldersStatus::Pending).await;
            for server in servers.iter() {
                server.tried().await;
            }
        };
        let _ = timeout_at(self.started() + self.options().first_listing, all).await;
        self.refresh().await;
    }

    /// Makes a new view and shows it.
    async fn refresh(&self) {
        let folders = self.folders_status().borrow().clone();
        let statuses = statuses(self.servers(), folders);
        let bridge = self.clone();
        // With ten thousand skills this takes a while, so it must not block the runtime, on which
        // clients wait for answers.
        let made = tokio::task::spawn_blocking(move || {
            let servers = bridge.servers().all();
            let listed = servers.iter().flat_map(FollowedServer::known);
            let registry = bridge.host().registry_with(listed);
            BridgeView::new(bridge.host(), &bridge.view(), registry, statuses, bridge.options())
        });
        if let Ok(view) = made.await {
            self.show(view);
        }
    }
}

/// Returns whether each origin could be listed.
pub(crate) fn statuses(servers: &FollowedServers, folders: FoldersStatus) -> OriginStatuses {
    let status = |server: &FollowedServer| match server.failure() {
        Some(reason) => ServerStatus::Failed(reason),
        None if server.tried().now_or_never().is_some() => ServerStatus::Listed,
        None => ServerStatus::Pending,
    };
    let servers = servers.all();
    let servers = servers.iter().map(|server| (server.label().clone(), status(server)));
    OriginStatuses { servers: servers.collect(), folders }
}
