//! Several servers, whose skills are passed on side by side.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use skillwire_core::SkillUri;
use skillwire_host::Host;
use skillwire_source::{BoxFuture, CachePolicy, LookupOutcome, SkillLookup, SkillSource};
use skillwire_trust::{Refusal, ServerLabel};
use tokio::{runtime::Handle, sync::Notify, time::timeout};

use crate::{
    followed::{
        added::AddedServers,
        server::{FollowOptions, FollowedServer},
    },
    passing_on::admission::{Admission, AdmitAll},
    passing_on::provenance::{GatewayId, NoRandomness},
};

/// Several servers whose skills are passed on.
///
/// Each server has its own task, so one that is slow, dead or hostile does not delay the others.
///
/// Servers can be added and removed later; clones share the same servers.
#[derive(Debug, Clone)]
pub struct FollowedServers {
    all: Arc<ArcSwap<Vec<FollowedServer>>>,
    /// Those that were added after the start, which one source reports together.
    added: AddedServers,
    start: Arc<ServerStart>,
}

/// What is needed to begin to follow a server.
pub(crate) struct ServerStart {
    pub(crate) host: Host,
    /// Decides which skills are passed on.
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) options: FollowOptions,
    /// Runs the task that follows the server, and all requests to it.
    pub(crate) runtime: Handle,
    /// Notified of every change. Without a listener, a change has the source scanned at once.
    pub(crate) listener: Option<Arc<Notify>>,
    pub(crate) gateway: GatewayId,
}

impl fmt::Debug for ServerStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerStart").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

impl FollowedServer {
    /// Begins to follow one server of a host. It has no source yet that a catalogue uses; see
    /// [`FollowedServer::source`].
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn follow(
        host: &Host,
        label: &ServerLabel,
        options: &FollowOptions,
        runtime: &Handle,
        gateway: &GatewayId,
    ) -> Result<Self, Refusal> {
        let start = ServerStart {
            host: host.clone(),
            admission: Arc::new(AdmitAll),
            options: options.clone(),
            runtime: runtime.clone(),
            listener: None,
            gateway: gateway.clone(),
        };
        start.follow(label)
    }
}

impl ServerStart {
    fn follow(&self, label: &ServerLabel) -> Result<FollowedServer, Refusal> {
        Ok(FollowedServer::start(self.host.relay(label)?, self))
    }
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
        let start = ServerStart {
            host: host.clone(),
            admission: Arc::clone(admission),
            options: options.clone(),
            runtime: runtime.clone(),
            listener: listener.cloned(),
            gateway: GatewayId::random()?,
        };
        let labels: Vec<&ServerLabel> = labels.into_iter().collect();
        // All labels are checked before the first server is followed.
        for label in &labels {
            host.relay(label)?;
        }
        let all = labels.into_iter().map(|label| start.follow(label)).collect::<Result<_, _>>()?;
        Ok(Self {
            all: Arc::new(ArcSwap::from_pointee(all)),
            added: AddedServers::default(),
            start: Arc::new(start),
        })
    }

    /// Begins to follow a server that the host knows by now, in place of one with the same label.
    #[tracing::instrument(skip(self))]
    pub fn add(&self, label: &ServerLabel) -> Result<(), Refusal> {
        let server = self.start.follow(label)?;
        self.remove(label);
        self.added.add(&server);
        let mut all = Vec::clone(&self.all());
        all.push(server);
        self.all.store(Arc::new(all));
        Ok(())
    }

    /// Ends following a server, and tells whether it was followed.
    #[tracing::instrument(skip(self))]
    pub fn remove(&self, label: &ServerLabel) -> bool {
        let mut all = Vec::clone(&self.all());
        let Some(at) = all.iter().position(|server| server.label() == label) else { return false };
        let removed = all.remove(at);
        self.all.store(Arc::new(all));
        removed.stop();
        true
    }

    /// Returns each server as a source, and one source of those that are added later.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        let now = self.all();
        let now = now.iter().map(|server| Box::new(server.clone()) as Box<dyn SkillSource>);
        now.chain([Box::new(self.added.clone()) as Box<dyn SkillSource>]).collect()
    }

    /// Returns the id by which this gateway recognises its own skills when they come back to it.
    pub fn gateway(&self) -> &GatewayId {
        &self.start.gateway
    }

    /// Returns the servers that are followed now, in the order in which their labels were given.
    pub fn all(&self) -> Arc<Vec<FollowedServer>> {
        self.all.load_full()
    }

    /// Waits until the first listing of every server has ended, but no longer than `at_most`.
    pub async fn settle(&self, at_most: Duration) {
        let servers = self.all();
        let all = async {
            for server in servers.iter() {
                server.tried().await;
            }
        };
        // After a timeout, the skills of slower servers are added when their listings end.
        let _ = timeout(at_most, all).await;
    }

    /// Returns the server with a label.
    #[cfg(feature = "bridge")]
    pub(crate) fn get(&self, label: &ServerLabel) -> Option<FollowedServer> {
        self.all().iter().find(|server| server.label() == label).cloned()
    }

    /// Has the sources scanned if servers changed since the last scan.
    #[cfg(feature = "bridge")]
    pub(crate) fn wake(&self) {
        self.all().iter().for_each(FollowedServer::wake);
    }

    /// Has every source scanned again, because the admission decides differently now.
    pub fn reconsider(&self) {
        self.all().iter().for_each(FollowedServer::reconsider);
    }
}

impl SkillLookup for FollowedServers {
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri> {
        self.all().iter().filter_map(|server| server.uris().passed_on_skill(uri)).collect()
    }

    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let all = self.all();
        let found = all.iter().find_map(|server| Some((server, server.uris().own_skill(uri)?)));
        found.map(|(server, uri)| server.find(uri))
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::strictest(self.all().iter().map(FollowedServer::cache_policy))
    }
}
