//! Keeps the view up to date.
//!
//! Changes go one way. A server, a folder or an approval changes and notifies the bridge. The
//! bridge makes a new view of the known skills and the user's approvals, and only then wakes the
//! sources, whose scan asks that view which skills to pass on.

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

    /// Makes a new view and shows it.
    async fn refresh(&self) {
        let found = self.host().known().await;
        let statuses = statuses(self.servers());
        let bridge = self.clone();
        // With ten thousand skills this takes a while, so it must not block the runtime, on which
        // clients wait for answers.
        let made = tokio::task::spawn_blocking(move || {
            BridgeView::new(bridge.host(), &bridge.view(), found, statuses, bridge.options())
        });
        if let Ok(view) = made.await {
            self.show(view);
        }
    }
}

/// Returns whether each server could be listed.
pub(crate) fn statuses(servers: &FollowedServers) -> BTreeMap<ServerLabel, ServerStatus> {
    let status = |server: &FollowedServer| match server.failure() {
        Some(reason) => ServerStatus::Failed(reason),
        None if server.tried().now_or_never().is_some() => ServerStatus::Listed,
        None => ServerStatus::Pending,
    };
    servers.all().iter().map(|server| (server.label().clone(), status(server))).collect()
}
