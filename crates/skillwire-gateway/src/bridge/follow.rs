//! Keeping up with every origin: servers are followed one by one, and the view is made from them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use crate::followed::servers::FollowedServers;
use futures_util::FutureExt;
use skillwire_core::Finding;
use skillwire_source::{ChangeCallback, ScanRequest, SkillSource, SourceChange, SourceUnavailable};
use skillwire_trust::ServerLabel;
use tokio::sync::Notify;

use super::{
    Bridge,
    view::{BridgeView, ServerStatus},
};

impl Bridge {
    /// Keeps what is shown up to date, until the future is dropped.
    pub async fn follow(&self) {
        loop {
            self.refresh().await;
            self.rung().await;
        }
    }

    /// Waits until every server has been tried once, but no longer than this, and shows what is
    /// known then; clients of the legacy era are told of the catalogue only once.
    pub async fn settle(&self, at_most: Duration) {
        self.upstreams().settle(at_most).await;
        self.refresh().await;
    }

    /// The skills of every server and of folders as sources for a catalogue; it holds those that are
    /// approved.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        let heard = |source| {
            let bell = Arc::clone(self.bell());
            Box::new(Heard { source, bell }) as Box<dyn SkillSource>
        };
        let servers = self.upstreams().sources().into_iter().map(heard);
        // What is in folders is news because the bridge says so; it need not hear of it.
        let folders = Box::new(self.folders().clone()) as Box<dyn SkillSource>;
        servers.chain([folders]).collect()
    }

    /// Puts together what is known now.
    async fn refresh(&self) {
        let found = self.host().known().await;
        let statuses = statuses(self.upstreams());
        let bridge = self.clone();
        // Ten thousand skills take a while, and clients are waiting.
        let made = tokio::task::spawn_blocking(move || {
            BridgeView::new(bridge.host(), &bridge.view(), found, statuses, bridge.options())
        });
        if let Ok(view) = made.await {
            self.show(view);
        }
    }
}

/// How each server could be listed.
pub(crate) fn statuses(upstreams: &FollowedServers) -> BTreeMap<ServerLabel, ServerStatus> {
    let status = |upstream: &crate::followed::server::FollowedServer| match upstream.failure() {
        Some(reason) => ServerStatus::Failed(reason),
        None if upstream.tried().now_or_never().is_some() => ServerStatus::Listed,
        None => ServerStatus::Pending,
    };
    let all = upstreams.all().iter();
    all.map(|upstream| (upstream.label().clone(), status(upstream))).collect()
}

/// A source whose news the bridge hears as well.
#[derive(Debug)]
struct Heard {
    source: Box<dyn SkillSource>,
    bell: Arc<Notify>,
}

impl SkillSource for Heard {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let scanned = self.source.scan(look, report);
        // News that come before a look are told once for all of them, perhaps before the last came.
        self.bell.notify_one();
        scanned
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        self.source.watched_directories()
    }

    fn on_change(&self, wake: ChangeCallback) {
        let bell = Arc::clone(&self.bell);
        self.source.on_change(Arc::new(move || {
            bell.notify_one();
            wake();
        }));
    }
}
