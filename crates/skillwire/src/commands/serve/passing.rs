//! Follows the servers whose skills `serve` passes on.

use std::{sync::Arc, time::Duration};

use futures_util::future::{join, join_all};
use skillwire_gateway::{
    Admission, AdmitAll, AllowedTools, FollowOptions, FollowedServers, NamePrefix, ToolAdmission,
    UpstreamOffer, UpstreamOfferOptions,
};
use skillwire_host::Host;
use skillwire_server::{
    SkillsBuilder,
    offer::{ListChanges, Offer},
};
use skillwire_trust::{Budgets, Policy, ServerLabel};
use tokio::{runtime::Runtime, time::timeout};

use super::no_threads;
use crate::{exit::Exit, failure::Failure, session::client_options, settings::UpstreamSettings};

/// How long the first scan waits for the listings of these servers.
const SETTLING: Duration = Duration::from_secs(3);

/// The servers that are passed on. A thread of their own receives what they send, so that it does
/// not delay the answers to clients.
pub(super) struct PassedOnServers {
    host: Host,
    upstreams: FollowedServers,
    offers: Vec<UpstreamOffer>,
    changes: ListChanges,
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
        // Each file and each listing has its own limit. A limit for the whole session would stop a
        // server that runs long enough.
        let budgets = Budgets::default().with_session_bytes(u64::MAX);
        let policy = Policy::default().with_entry_text(true).with_budgets(budgets);
        let UpstreamSettings { servers, legacy, tools, scheme } = settings;
        let asks =
            if tools.is_empty() { client_options() } else { client_options().relaying_forms() };
        let host = Host::builder().policy(policy).client_options(asks).build();
        let labels: Vec<ServerLabel> = servers.iter().map(|(label, _)| label.clone()).collect();
        for (label, address) in servers {
            host.add_server(label.clone(), address);
            if legacy.contains(&label) {
                host.allow_legacy_discovery(&label)?;
            }
        }
        let admission: Arc<dyn Admission> = Arc::new(AdmitAll);
        let options = FollowOptions::default().scheme(scheme);
        let upstreams =
            FollowedServers::start(&host, &labels, &admission, &options, runtime.handle())
                .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        let changes = ListChanges::default();
        let mut offers = Vec::new();
        if !tools.is_empty() {
            // An upstream's own skills do not let its tools in: only the operator does.
            let allowed = AllowedTools::matching(tools.clone()).with_prompts(tools);
            let allowed: Arc<dyn ToolAdmission> = Arc::new(allowed);
            for label in &labels {
                let options =
                    UpstreamOfferOptions::new(NamePrefix::of(label), Arc::clone(&allowed))
                        .changes(changes.clone());
                offers.push(UpstreamOffer::start(host.relay(label)?, options, runtime.handle()));
            }
        }
        Ok(Self { host, upstreams, offers, changes, runtime })
    }

    /// Adds the skills of these servers to what a server offers.
    pub(super) fn added_to(&self, skills: SkillsBuilder) -> SkillsBuilder {
        skills.sources(self.upstreams.sources()).lookup(Arc::new(self.upstreams.clone()))
    }

    /// Returns the tools and prompts of these servers, and what announces their changes.
    pub(super) fn offers(&self) -> (Vec<Arc<dyn Offer>>, ListChanges) {
        let offers = self.offers.iter().map(|offer| Arc::new(offer.clone()) as Arc<dyn Offer>);
        (offers.collect(), self.changes.clone())
    }

    /// Waits up to [`SETTLING`] for the first listings. A slower server is listed when it answers.
    pub(super) fn settled(&self) -> impl Future<Output = ()> + Send + 'static {
        let (upstreams, offers) = (self.upstreams.clone(), self.offers.clone());
        async move {
            let offers = join_all(offers.iter().map(UpstreamOffer::tried));
            let _ = timeout(SETTLING, join(upstreams.settle(SETTLING), offers)).await;
        }
    }

    /// Closes the connections, and ends the server processes that were started for them.
    pub(super) async fn stop(self) {
        self.host.disconnect().await;
        self.runtime.shutdown_background();
    }
}
