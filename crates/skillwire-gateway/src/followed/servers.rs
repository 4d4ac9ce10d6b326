//! Several servers, whose skills are passed on side by side.

use std::{sync::Arc, time::Duration};

use skillwire_core::SkillUri;
use skillwire_host::Host;
use skillwire_source::{BoxFuture, CachePolicy, LookupOutcome, SkillLookup, SkillSource};
use skillwire_trust::{Refusal, ServerLabel};
use tokio::{runtime::Handle, time::timeout};

use crate::{
    followed::server::{FollowOptions, FollowedServer},
    passing_on::admission::Admission,
    passing_on::provenance::{GatewayId, NoRandomness},
};

/// Servers whose skills are passed on. Each is followed on its own: one that is slow, dead or hostile
/// costs the others nothing.
#[derive(Debug, Clone)]
pub struct FollowedServers {
    all: Vec<FollowedServer>,
    instance: GatewayId,
}

/// Why servers cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There is no such server.
    #[error(transparent)]
    Unknown(#[from] Refusal),
    /// This server could not recognise itself.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

impl FollowedServers {
    /// Begins to follow servers of a host; `admission` says what of them is passed on.
    ///
    /// Requests to the servers run on `runtime`, whoever waits for them. The host's policy should
    /// keep the text of entries, else they are passed on as they were understood.
    pub fn start<'a>(
        host: &Host,
        labels: impl IntoIterator<Item = &'a ServerLabel>,
        admission: &Arc<dyn Admission>,
        options: &FollowOptions,
        runtime: &Handle,
    ) -> Result<Self, StartError> {
        let instance = GatewayId::random()?;
        let relays: Vec<_> =
            labels.into_iter().map(|label| host.relay(label)).collect::<Result<_, _>>()?;
        let start = |relay| {
            let (admission, instance) = (Arc::clone(admission), instance.clone());
            FollowedServer::start(relay, admission, instance, options.clone(), runtime)
        };
        Ok(Self { all: relays.into_iter().map(start).collect(), instance })
    }

    /// Each server as a source.
    pub fn sources(&self) -> Vec<Box<dyn SkillSource>> {
        self.all.iter().map(|upstream| Box::new(upstream.clone()) as Box<dyn SkillSource>).collect()
    }

    /// What this server recognises itself by in skills that come back to it.
    pub fn instance(&self) -> &GatewayId {
        &self.instance
    }

    /// The servers.
    pub fn all(&self) -> &[FollowedServer] {
        &self.all
    }

    /// Waits until every server has been tried once, but no longer than this.
    pub async fn settle(&self, at_most: Duration) {
        let all = async {
            for upstream in &self.all {
                upstream.tried().await;
            }
        };
        // Who is late is listed when it comes.
        let _ = timeout(at_most, all).await;
    }

    /// Asks the admission anew about everything, since it decides otherwise than before.
    pub fn reconsider(&self) {
        self.all.iter().for_each(FollowedServer::reconsider);
    }
}

impl SkillLookup for FollowedServers {
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri> {
        self.all.iter().filter_map(|upstream| upstream.rewriting().down_skill(uri)).collect()
    }

    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let mut all = self.all.iter();
        let found = all.find_map(|upstream| Some((upstream, upstream.rewriting().up_skill(uri)?)));
        found.map(|(upstream, uri)| upstream.find(uri))
    }

    fn cache_policy(&self) -> CachePolicy {
        let all = self.all.iter().map(FollowedServer::cache_policy);
        all.fold(CachePolicy::default(), |sum, one| CachePolicy {
            max_age: [sum.max_age, one.max_age].into_iter().flatten().min(),
            private: sum.private || one.private,
        })
    }
}
