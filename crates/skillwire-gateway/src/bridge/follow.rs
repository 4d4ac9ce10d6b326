//! Keeping the view up to date.
//!
//! Changes go one way. A server, a folder or an approval changes and notifies the bridge; the bridge
//! makes a new view of what is known and approved; then it wakes the sources, whose scan passes on
//! what the new view approves.

use std::{collections::BTreeMap, time::Duration};

use futures_util::FutureExt;
use skillwire_source::SkillSource;
use skillwire_trust::ServerLabel;

use super::{
    Bridge,
    view::{BridgeView, ServerStatus},
};
use crate::followed::{server::FollowedServer, servers::FollowedServers};

impl Bridge {
    /// Keeps what clients are shown up to date, until the future is dropped.
    pub async fn follow(&self) {
        loop {
            self.refresh().await;
            self.changed().await;
        }
    }

    /// Waits until every server has been tried once, but no longer than this, and shows what is
    /// known then. Clients of the legacy era read the instructions only once, so they should be
    /// complete by then.
    #[tracing::instrument(skip(self))]
    pub async fn settle(&self, at_most: Duration) {
        self.servers().settle(at_most).await;
        self.refresh().await;
    }

    /// The skills of every server and of folders as sources for a catalogue, which then holds those
    /// that are approved.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        let folders = Box::new(self.folders().clone()) as Box<dyn SkillSource>;
        self.servers().sources().into_iter().chain([folders]).collect()
    }

    /// Makes a new view and shows it.
    async fn refresh(&self) {
        let found = self.host().known().await;
        let statuses = statuses(self.servers());
        let bridge = self.clone();
        // Ten thousand skills take a while, and clients wait for answers meanwhile.
        let made = tokio::task::spawn_blocking(move || {
            BridgeView::new(bridge.host(), &bridge.view(), found, statuses, bridge.options())
        });
        if let Ok(view) = made.await {
            self.show(view);
        }
    }
}

/// Whether each server could be listed.
pub(crate) fn statuses(servers: &FollowedServers) -> BTreeMap<ServerLabel, ServerStatus> {
    let status = |server: &FollowedServer| match server.failure() {
        Some(reason) => ServerStatus::Failed(reason),
        None if server.tried().now_or_never().is_some() => ServerStatus::Listed,
        None => ServerStatus::Pending,
    };
    servers.all().iter().map(|server| (server.label().clone(), status(server))).collect()
}
