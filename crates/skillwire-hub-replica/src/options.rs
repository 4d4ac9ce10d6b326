//! How a hub is served.

use std::{sync::Arc, time::Duration};

use skillwire_hub::ChannelName;
use skillwire_hub_upstreams::{InspectContent, UpstreamOptions};
use skillwire_server::{
    Catalog, Config, Metrics,
    http::{ENDPOINT, HttpOptions, ProtectedResource},
    offer::{DuplicateTool, Offers},
};

use crate::{
    access::AccessHandle,
    reads::{RecordedReads, subject_of},
    signing::DecisionSigner,
};

/// Makes the tools of one channel from its catalogue.
pub type MakeOffers = Arc<dyn Fn(&Arc<Catalog>) -> Result<Offers, DuplicateTool> + Send + Sync>;

/// How a hub is served.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServingOptions {
    /// How requests are answered.
    pub config: Config,
    /// Which hosts are accepted, and other options of HTTP.
    pub http: HttpOptions,
    /// How long a replica that lost the database goes on serving.
    pub stale_limit: Duration,
    /// How often the database is asked for changes.
    pub poll: Duration,
    /// The tools that each channel offers.
    pub offers: Option<MakeOffers>,
    /// Which reads are written to the audit log.
    pub reads: RecordedReads,
    /// Who is admitted and what decides.
    pub access: AccessHandle,
    /// What the hub signs with.
    pub signer: DecisionSigner,
    /// How upstreams are followed; without it, their skills are not served.
    pub upstreams: Option<UpstreamOptions>,
    /// What looks at uploads; without it, nothing is known of their findings and signers.
    pub inspector: Option<Arc<dyn InspectContent>>,
    /// The address of the hub as clients write it, without a path.
    pub url: Option<String>,
    /// The metrics of the hub; each mount has its own among them.
    pub metrics: Arc<Metrics>,
    /// The issuers that clients are told of, by all mounts.
    pub(crate) protected: ProtectedResource,
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            config: Config::default(),
            http: HttpOptions::default(),
            stale_limit: Duration::from_mins(5),
            poll: Duration::from_millis(250),
            offers: None,
            reads: RecordedReads::default(),
            access: AccessHandle::default(),
            signer: DecisionSigner::default(),
            upstreams: None,
            inspector: None,
            url: None,
            metrics: Arc::default(),
            protected: ProtectedResource::new([]),
        }
    }
}

impl ServingOptions {
    /// Sets how requests are answered.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the options of HTTP.
    #[must_use]
    pub fn http(mut self, mut http: HttpOptions) -> Self {
        // One subject may have several tokens, and each mount its own table of them.
        http.rate = http.rate.by_subject(subject_of);
        self.http = http;
        self
    }

    /// Sets how long a replica that lost the database goes on serving.
    #[must_use]
    pub fn stale_limit(mut self, limit: Duration) -> Self {
        self.stale_limit = limit;
        self
    }

    /// Sets how often the database is asked for changes.
    #[must_use]
    pub fn poll(mut self, time: Duration) -> Self {
        self.poll = time;
        self
    }

    /// Sets the tools that each channel offers.
    #[must_use]
    pub fn offers(mut self, make: MakeOffers) -> Self {
        self.offers = Some(make);
        self
    }

    /// Sets who is admitted and what decides.
    #[must_use]
    pub fn access(mut self, access: AccessHandle) -> Self {
        self.protected.replace_issuers(access.now().issuer_names());
        self.access = access;
        self
    }

    /// Sets what the hub signs with.
    #[must_use]
    pub fn signer(mut self, signer: DecisionSigner) -> Self {
        self.signer = signer;
        self
    }

    /// Sets how upstreams are followed.
    #[must_use]
    pub fn upstreams(mut self, upstreams: UpstreamOptions) -> Self {
        self.upstreams = Some(upstreams);
        self
    }

    /// Sets what looks at uploads.
    #[must_use]
    pub fn inspector(mut self, inspector: Arc<dyn InspectContent>) -> Self {
        self.inspector = Some(inspector);
        self
    }

    /// Sets the address of the hub as clients write it, without a path.
    #[must_use]
    pub fn url(mut self, url: Option<String>) -> Self {
        self.url = url.map(|url| url.trim_end_matches('/').to_owned());
        self
    }

    /// Describes what is reached at a path, for clients that need a token.
    pub fn protected(&self, path: &str) -> ProtectedResource {
        let url = self.url.as_ref().map(|url| format!("{url}{path}"));
        self.protected.clone().path(path).url(url)
    }

    /// The options of HTTP for a channel.
    pub(crate) fn http_of(&self, channel: &ChannelName) -> HttpOptions {
        self.http.clone().protected(self.protected(&mount_of(channel)))
    }

    /// The metrics of a channel, which are written with those of all others.
    pub(crate) fn metrics_of(&self, channel: &ChannelName) -> Arc<Metrics> {
        self.metrics.mount(&mount_of(channel))
    }

    /// Sets the metrics in which the hub counts.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets which reads are written to the audit log.
    #[must_use]
    pub fn reads(mut self, reads: RecordedReads) -> Self {
        self.reads = reads;
        self
    }
}

/// The path of a channel.
fn mount_of(channel: &ChannelName) -> String {
    if *channel == ChannelName::latest() {
        ENDPOINT.to_owned()
    } else {
        format!("{ENDPOINT}/c/{channel}")
    }
}

impl std::fmt::Debug for ServingOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingOptions")
            .field("stale_limit", &self.stale_limit)
            .finish_non_exhaustive()
    }
}
