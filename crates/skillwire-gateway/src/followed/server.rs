//! One server as a source of skills.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use skillwire_core::{Finding, Scheme, SkillUri};
use skillwire_host::Relay;
use skillwire_source::{
    BoxFuture, CachePolicy, ChangeCallback, GroupKey, LookupOutcome, ScanRequest, SkillSource,
    SourceChange, SourceUnavailable,
};
use skillwire_trust::{Origin, ServerLabel};
use tokio::{runtime::Handle, task::AbortHandle, time::Instant};

use crate::{
    followed::follow,
    followed::shared::{Fresh, Shared},
    followed::skills::PassedOnSkill,
    passing_on::admission::Admission,
    passing_on::provenance::GatewayId,
    passing_on::uri_mapping::UriMapping,
};

/// How a server is followed.
#[derive(Debug, Clone)]
pub struct FollowOptions {
    /// The scheme of the URIs its skills are passed on under.
    pub scheme: Scheme,
    /// The shortest time between two listings of a server that tells of no changes.
    pub pause: Duration,
    /// The longest time between two listings, whatever the server says about lifetimes.
    pub longest_pause: Duration,
    /// The first and the longest pause before a server that failed is tried again.
    pub retry: (Duration, Duration),
    /// How long a skill is known that is not listed and was asked for by name.
    pub named_for: Duration,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            pause: Duration::from_mins(1),
            longest_pause: Duration::from_hours(1),
            retry: (Duration::from_secs(1), Duration::from_mins(1)),
            named_for: Duration::from_mins(10),
        }
    }
}

/// One server whose skills are passed on; clones are the same one.
///
/// It is followed in the background: listed, listened to, and listed again. A [`ScanRequest`] at it only
/// reports what has become known, and never waits for the server.
#[derive(Debug, Clone)]
pub struct FollowedServer {
    shared: Arc<Shared>,
    _following: Arc<Following>,
}

/// The task that follows a server until nobody needs it.
#[derive(Debug)]
struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FollowedServer {
    /// Begins to follow a server on a runtime; `admission` says what is passed on.
    pub fn start(
        relay: Relay,
        admission: Arc<dyn Admission>,
        instance: GatewayId,
        options: FollowOptions,
        runtime: &Handle,
    ) -> Self {
        let rewriting =
            UriMapping::new(options.scheme.clone(), Origin::Server(relay.label().clone()));
        let shared = Arc::new(Shared::new(relay, rewriting, admission, instance, options, runtime));
        let task = runtime.spawn(follow::follow(Arc::clone(&shared)));
        Self { shared, _following: Arc::new(Following(task.abort_handle())) }
    }

    /// The label that the user gave to the server.
    pub fn label(&self) -> &ServerLabel {
        self.shared.relay.label()
    }

    /// How its URIs are rewritten.
    pub fn rewriting(&self) -> &UriMapping {
        &self.shared.rewriting
    }

    /// Waits until the server has been tried once.
    pub async fn tried(&self) {
        let mut tried = self.shared.tried.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = tried.wait_for(|tried| *tried).await;
    }

    /// Has the server listed again at once.
    pub fn relist(&self) {
        self.shared.wanted.notify_one();
    }

    /// Asks the admission anew about everything, since it decides otherwise than before.
    pub fn reconsider(&self) {
        self.shared.tell();
    }

    /// Why the server cannot be listed now, if it cannot.
    pub fn failure(&self) -> Option<String> {
        self.shared.stock().failure().map(str::to_owned)
    }

    /// How answers made from what is known now may be reused.
    pub fn cache_policy(&self) -> CachePolicy {
        let Fresh { stale_at, private } = *self.shared.fresh();
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        CachePolicy { max_age: Some(stale_at.map_or(Duration::ZERO, left)), private }
    }

    /// Asks for a skill by the URI it has at the server.
    pub fn find(&self, uri: SkillUri) -> BoxFuture<LookupOutcome> {
        let shared = Arc::clone(&self.shared);
        let asked = self.shared.runtime.spawn(async move { shared.find(&uri).await });
        Box::pin(async move { asked.await.unwrap_or(LookupOutcome::Failed) })
    }
}

impl SkillSource for FollowedServer {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let shared = &self.shared;
        // Before the stock is looked at, so that what comes later is told again.
        let pending = shared.news.take();
        if pending || look.forces_pathless_read() {
            self.report(report);
        }
        match self.failure() {
            None => Ok(Vec::new()),
            Some(reason) => {
                let origin = format!("The server `{}`", self.label());
                Err(SourceUnavailable { origin, reason })
            }
        }
    }

    fn on_change(&self, wake: ChangeCallback) {
        self.shared.news.on_change(wake);
    }
}

impl FollowedServer {
    /// Reports every skill that is news.
    fn report(&self, report: &mut (dyn FnMut(SourceChange) + Send)) {
        let shared = &self.shared;
        let passed = shared.stock().passed_on(&*shared.admission);
        let sites: BTreeMap<GroupKey, PassedOnSkill> = passed
            .into_iter()
            .map(|passed| (GroupKey(passed.skill.id().uri.file().shared()), passed))
            .collect();
        let now = sites.iter().map(|(key, passed)| (key.clone(), passed.fingerprint)).collect();
        let inspect = |key: &GroupKey| sites.get(key).map_or_else(Vec::new, |p| shared.inspect(p));
        shared.ledger.report(&now, inspect, report);
    }
}
