//! Several servers, whose skills are passed on side by side.

use std::{sync::Arc, time::Duration};

use skillwire_core::SkillUri;
use skillwire_host::Host;
use skillwire_source::{BoxFuture, CachePolicy, LookupOutcome, SkillLookup, SkillSource};
use skillwire_trust::{Refusal, ServerLabel};
use tokio::{runtime::Handle, sync::Notify, time::timeout};

use crate::{
    followed::server::{FollowOptions, FollowedServer},
    passing_on::admission::Admission,
    passing_on::provenance::{GatewayId, NoRandomness},
};

/// Several servers whose skills are passed on.
///
/// Each server has its own task, so one that is slow, dead or hostile does not delay the others.
#[derive(Debug, Clone)]
pub struct FollowedServers {
    all: Vec<FollowedServer>,
    gateway: GatewayId,
}

/// The reason why servers cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The host does not know a server of this label.
    #[error(transparent)]
    UnknownServer(#[from] Refusal),
    /// The system gave no random id, without which the gateway could not recognise its own skills
    /// when another gateway passes them back to it.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl FollowedServers {
    /// Begins to follow servers of a host; `admission` decides which of their skills are passed on.
    ///
    /// All requests to the servers run on `runtime`. The host's policy should keep the text of
    /// entries; otherwise members that this program does not know are not passed on.
    #[tracing::instrument(skip_all)]
    pub fn start<'a>(
        host: &Host,
        labels: impl IntoIterator<Item = &'a ServerLabel>,
        admission: &Arc<dyn Admission>,
        options: &FollowOptions,
        runtime: &Handle,
    ) -> Result<Self, StartError> {
        Self::start_with(host, labels, admission, options, runtime, None)
    }

    /// Does the same as [`Self::start`] for a caller that wants to hear of changes first, through
    /// `listener`, and then [wakes](Self::wake) the sources itself.
    pub(crate) fn start_with<'a>(
        host: &Host,
        labels: impl IntoIterator<Item = &'a ServerLabel>,
        admission: &Arc<dyn Admission>,
        options: &FollowOptions,
        runtime: &Handle,
        listener: Option<&Arc<Notify>>,
    ) -> Result<Self, StartError> {
        let gateway = GatewayId::random()?;
        let relays: Vec<_> =
            labels.into_iter().map(|label| host.relay(label)).collect::<Result<_, _>>()?;
        let start = |relay| {
            let admission = Arc::clone(admission);
            let gateway = gateway.clone();
            let options = options.clone();
            FollowedServer::start(relay, admission, gateway, options, runtime, listener.cloned())
        };
        Ok(Self { all: relays.into_iter().map(start).collect(), gateway })
    }

    /// Returns each server as a source.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        self.all.iter().map(|server| Box::new(server.clone()) as Box<dyn SkillSource>).collect()
    }

    /// Returns the id by which this gateway recognises its own skills when they come back to it.
    pub fn gateway(&self) -> &GatewayId {
        &self.gateway
    }

    /// Returns the servers, in the order in which their labels were given.
    pub fn all(&self) -> &[FollowedServer] {
        &self.all
    }

    /// Waits until the first listing of every server has ended, but no longer than `at_most`.
    pub async fn settle(&self, at_most: Duration) {
        let all = async {
            for server in &self.all {
                server.tried().await;
            }
        };
        // After a timeout, the skills of slower servers are added when their listings end.
        let _ = timeout(at_most, all).await;
    }

    /// Has the sources scanned if servers changed since the last scan.
    #[cfg(feature = "bridge")]
    pub(crate) fn wake(&self) {
        self.all.iter().for_each(FollowedServer::wake);
    }

    /// Has every source scanned again, because the admission decides differently now.
    pub fn reconsider(&self) {
        self.all.iter().for_each(FollowedServer::reconsider);
    }
}

impl SkillLookup for FollowedServers {
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri> {
        self.all.iter().filter_map(|server| server.uris().passed_on_skill(uri)).collect()
    }

    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let mut all = self.all.iter();
        let found = all.find_map(|server| Some((server, server.uris().own_skill(uri)?)));
        found.map(|(server, uri)| server.find(uri))
    }

    fn cache_policy(&self) -> CachePolicy {
        let all = self.all.iter().map(FollowedServer::cache_policy);
        all.fold(CachePolicy::default(), |sum, one| CachePolicy {
            max_age: [sum.max_age, one.max_age].into_iter().flatten().min(),
            private: sum.private || one.private,
        })
    }
}
