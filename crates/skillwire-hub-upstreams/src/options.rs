//! How upstreams are followed.

use std::{fmt, sync::Arc, time::Duration};

use skillwire_client::ClientOptions;
use skillwire_gateway::{FollowOptions, GatewayId, NoRandomness};
use skillwire_git::GitOptions;
use skillwire_host::{Budgets, Host, OriginAddress, Policy, ServerLabel};
use skillwire_hub::{Upstream, UpstreamLimits, UpstreamSource};

use crate::facts::InspectContent;

/// The reason why an upstream's source cannot be used; it continues "it cannot be followed:".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAddress(pub String);

/// Makes the address of a server or web site, with variables such as `${DOCS_TOKEN}` filled in.
pub type MakeAddress = Arc<
    dyn Fn(&ServerLabel, &UpstreamSource) -> Result<OriginAddress, InvalidAddress> + Send + Sync,
>;

/// How upstreams are followed.
#[derive(Clone)]
#[non_exhaustive]
pub struct UpstreamOptions {
    pub(crate) address: MakeAddress,
    pub(crate) inspector: Option<Arc<dyn InspectContent>>,
    pub(crate) client: ClientOptions,
    pub(crate) git: GitOptions,
    pub(crate) follow: FollowOptions,
    pub(crate) folder_pause: Duration,
    pub(crate) repository_pause: Duration,
    pub(crate) gateway: GatewayId,
}

impl fmt::Debug for UpstreamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamOptions").field("follow", &self.follow).finish_non_exhaustive()
    }
}

impl UpstreamOptions {
    /// Follows upstreams at the addresses that `address` makes.
    pub fn new(address: MakeAddress) -> Result<Self, NoRandomness> {
        Ok(Self {
            address,
            inspector: None,
            client: ClientOptions::default(),
            git: GitOptions::default(),
            follow: FollowOptions::default(),
            folder_pause: Duration::from_secs(2),
            repository_pause: Duration::from_secs(30),
            gateway: GatewayId::random()?,
        })
    }

    /// Sets what looks for findings in content that is fetched for its review.
    #[must_use]
    pub fn inspector(self, inspector: Arc<dyn InspectContent>) -> Self {
        Self { inspector: Some(inspector), ..self }
    }

    /// Sets the options of connections to servers.
    #[must_use]
    pub fn client(self, client: ClientOptions) -> Self {
        Self { client, ..self }
    }

    /// Sets how `git` is run.
    #[must_use]
    pub fn git(self, git: GitOptions) -> Self {
        Self { git, ..self }
    }

    /// Sets how often servers are listed.
    #[must_use]
    pub fn follow(self, follow: FollowOptions) -> Self {
        Self { follow, ..self }
    }

    /// Sets how often repositories and folders are looked at.
    #[must_use]
    pub fn local_pause(self, pause: Duration) -> Self {
        Self { folder_pause: pause, repository_pause: pause, ..self }
    }

    /// Returns the id by which the hub recognises its own skills when an upstream passes them back.
    pub fn gateway(&self) -> &GatewayId {
        &self.gateway
    }

    /// Makes the host of one upstream. Each has its own, since its limits are its own.
    pub(crate) fn host(&self, limits: &UpstreamLimits) -> Host {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let usual = Budgets::default();
        let answer_time = Duration::from_millis(limits.answer_ms);
        let listing_time = Duration::from_millis(limits.listing_ms);
        let budgets = usual
            .with_pages(count(limits.pages))
            .with_entries(count(limits.skills))
            .with_listing_bytes(limits.listing_bytes)
            .with_listing_time(listing_time)
            .with_answer_bytes(usual.answer_bytes.min(count(limits.listing_bytes)))
            .with_discovery_time(listing_time)
            .with_answer_time(answer_time)
            // Each file and each listing has its own limit. A limit for the whole session would stop an
            // upstream that runs long enough.
            .with_session_bytes(u64::MAX);
        let policy = Policy::default().with_entry_text(true).with_budgets(budgets);
        // Tools may be let in while a connection is open, and these may ask users.
        let client = self.client.clone().relaying_forms().with_connect_timeout(answer_time);
        let client = client.with_probe_timeout(self.client.probe_timeout.min(answer_time / 2));
        Host::builder().policy(policy).client_options(client).build()
    }

    /// How one upstream is followed.
    pub(crate) fn follow_of(&self, upstream: &Upstream) -> FollowOptions {
        let limits = &upstream.limits;
        let failures = u32::try_from(limits.failures).unwrap_or(u32::MAX);
        let concurrency = usize::try_from(limits.concurrency).unwrap_or(usize::MAX);
        self.follow
            .clone()
            .concurrency(concurrency)
            .breaker(failures, Duration::from_millis(limits.pause_ms))
    }
}
