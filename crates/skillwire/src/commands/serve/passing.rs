//! The servers whose skills `serve` passes on.

use std::{sync::Arc, time::Duration};

use skillwire_gateway::{Admission, AdmitAll, FollowOptions, FollowedServers};
use skillwire_host::Host;
use skillwire_server::SkillsBuilder;
use skillwire_trust::{Budgets, Policy, ServerLabel};
use tokio::runtime::Runtime;

use super::no_threads;
use crate::{exit::Exit, failure::Failure, session::client_options, settings::UpstreamSettings};

/// How long the first listings may take before clients are answered without them.
const SETTLING: Duration = Duration::from_secs(3);

/// Servers that are passed on, with a thread of their own: receiving what they send delays no client.
pub(super) struct PassedOnServers {
    host: Host,
    upstreams: FollowedServers,
    runtime: Runtime,
}

impl PassedOnServers {
    /// Begins to follow the servers.
    pub(super) fn start(settings: UpstreamSettings) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("skillwire-upstream")
            .enable_all()
            .build()
            .map_err(no_threads)?;
        // What one file and one listing may cost is bounded; a server runs for longer than any
        // number of them.
        let budgets = Budgets { session_bytes: u64::MAX, ..Budgets::default() };
        let policy = Policy { keeps_entry_text: true, budgets, ..Policy::default() };
        let host = Host::builder().policy(policy).client_options(client_options()).build();
        let UpstreamSettings { servers, legacy, scheme } = settings;
        let labels: Vec<ServerLabel> = servers.iter().map(|(label, _)| label.clone()).collect();
        for (label, endpoint) in servers {
            host.add_server(label.clone(), endpoint);
            if legacy.contains(&label) {
                host.allow_legacy_discovery(&label)?;
            }
        }
        let admission: Arc<dyn Admission> = Arc::new(AdmitAll);
        let options = FollowOptions::default().scheme(scheme);
        let upstreams =
            FollowedServers::start(&host, &labels, &admission, &options, runtime.handle())
                .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        Ok(Self { host, upstreams, runtime })
    }

    /// Lets a server answer for these servers, beside what it answers for already.
    pub(super) fn added_to(&self, skills: SkillsBuilder) -> SkillsBuilder {
        skills.sources(self.upstreams.sources()).lookup(Arc::new(self.upstreams.clone()))
    }

    /// Waits a while for the first listings; a server that takes longer is listed when it answers.
    pub(super) fn settled(&self) -> impl Future<Output = ()> + Send + 'static {
        let upstreams = self.upstreams.clone();
        async move { upstreams.settle(SETTLING).await }
    }

    /// Ends the connections, and the servers that were started for them.
    pub(super) async fn stop(self) {
        self.host.disconnect().await;
        self.runtime.shutdown_background();
    }
}
