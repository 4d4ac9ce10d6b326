//! One server as a source of skills.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use skillwire_core::{Finding, Scheme, SkillResource, SkillUri};
use skillwire_host::Relay;
use skillwire_source::{
    BoxFuture, CachePolicy, ChangeCallback, LookupOutcome, ScanRequest, SkillSource, SourceChange,
    SourceUnavailable,
};
#[cfg(feature = "bridge")]
use skillwire_trust::KnownSkill;
use skillwire_trust::{ListedSkill, Origin, Refusal, ServerLabel, UriMapping, VerifiedFile};
use tokio::{sync::watch, task::AbortHandle, time::Instant};

use crate::{
    followed::follow,
    followed::server_state::{Freshness, ServerState},
    followed::servers::ServerStart,
    followed::source::{PassingRules, ServerSource},
};

/// Options for following a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FollowOptions {
    /// The scheme of the URIs its skills are passed on under.
    pub scheme: Scheme,
    /// The shortest time between two listings of a server that announces no changes.
    pub min_pause: Duration,
    /// The longest time between two listings, whatever lifetime the server states.
    pub max_pause: Duration,
    /// The pause before a server that failed once is tried again; it doubles with each failure.
    pub first_retry: Duration,
    /// The longest pause before a server that failed is tried again.
    pub max_retry: Duration,
    /// How long an unlisted skill stays known after a client asked for it by name.
    pub named_for: Duration,
    /// The most requests of clients that the server gets at the same time.
    pub concurrency: usize,
    /// How many requests in a row fail before the server is left alone, and for how long; none if it is
    /// always asked.
    pub breaker: Option<(u32, Duration)>,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            min_pause: Duration::from_mins(1),
            max_pause: Duration::from_hours(1),
            first_retry: Duration::from_secs(1),
            max_retry: Duration::from_mins(1),
            named_for: Duration::from_mins(10),
            concurrency: 16,
            breaker: None,
        }
    }
}

impl FollowOptions {
    /// Sets the scheme of the URIs under which skills are passed on.
    #[must_use]
    pub fn scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// Sets the shortest and the longest time between two listings.
    #[must_use]
    pub fn pauses(self, min_pause: Duration, max_pause: Duration) -> Self {
        Self { min_pause, max_pause, ..self }
    }

    /// Sets the first and the longest pause before a server that failed is tried again.
    #[must_use]
    pub fn retries(self, first_retry: Duration, max_retry: Duration) -> Self {
        Self { first_retry, max_retry, ..self }
    }

    /// Sets how long an unlisted skill stays known after a client asked for it by name.
    #[must_use]
    pub fn named_for(self, named_for: Duration) -> Self {
        Self { named_for, ..self }
    }

    /// Sets the most requests of clients that the server gets at the same time.
    #[must_use]
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Leaves the server alone for `pause` after so many failures in a row.
    #[must_use]
    pub fn breaker(self, failures: u32, pause: Duration) -> Self {
        Self { breaker: Some((failures, pause)), ..self }
    }
}

/// How a server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStanding {
    /// When it was last listed.
    pub listed_at: Option<SystemTime>,
    /// Whether that listing came to its end.
    pub is_complete: bool,
    /// How many skills it has that can be passed on.
    pub skills: usize,
    /// Why the last listing failed, if it did.
    pub failure: Option<String>,
    /// Whether it is left alone now, because too many requests in a row failed.
    pub is_paused: bool,
}

/// One server whose skills are passed on; clones share one state and one task.
///
/// The task runs in the background: it lists the server, listens for changes, and lists it again. A
/// scan of this source only reports what the task has found, and never waits for the server.
#[derive(Debug, Clone)]
pub struct FollowedServer {
    shared: Arc<ServerState>,
    following: Arc<FollowTask>,
    source: ServerSource,
}

/// Ends the task that follows a server when the last clone of the server is dropped.
#[derive(Debug)]
struct FollowTask(AbortHandle);

impl Drop for FollowTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FollowedServer {
    /// Begins to follow a server.
    pub(crate) fn start(relay: Relay, start: &ServerStart) -> Self {
        let shared = Arc::new(ServerState::new(relay, start));
        let task = start.runtime.spawn(follow::follow(Arc::clone(&shared)));
        let origin = Origin::Server(shared.relay.label().clone());
        let uris = UriMapping::new(start.options.scheme.clone(), origin);
        let rules = PassingRules::new(uris, Arc::clone(&start.admission));
        let source = ServerSource::new(&shared, rules);
        Self { shared, following: Arc::new(FollowTask(task.abort_handle())), source }
    }

    /// Returns the label that the user gave to the server.
    pub fn label(&self) -> &ServerLabel {
        self.shared.relay.label()
    }

    /// Returns the mapping between the server's own URIs and those that clients of the gateway see.
    pub fn uris(&self) -> &UriMapping {
        self.source.uris()
    }

    /// Waits until the first listing of the server has ended, with or without success.
    pub async fn tried(&self) {
        let mut tried = self.shared.tried.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = tried.wait_for(|tried| *tried).await;
    }

    /// Has the task list the server again without waiting for its next turn.
    pub fn relist(&self) {
        self.shared.relist.notify_one();
    }

    /// Has the source scanned again, because the admission decides differently now.
    pub fn reconsider(&self) {
        self.source.reconsider();
    }

    /// Has the source scanned if the server's skills changed since the last scan.
    #[cfg(feature = "bridge")]
    pub(crate) fn wake(&self) {
        self.shared.wake();
    }

    /// Returns the reason why the last listing failed, if it did.
    pub fn failure(&self) -> Option<String> {
        self.shared.skills().failure().map(str::to_owned)
    }

    /// Returns every skill that the server lists, as the host knows it.
    #[cfg(feature = "bridge")]
    pub(crate) fn known(&self) -> Vec<KnownSkill> {
        self.shared.skills().known().cloned().collect()
    }

    /// Takes an entry that the host got for a client. If it is another one than before, the bridge
    /// hears of it, and sources report it.
    #[cfg(feature = "bridge")]
    pub(crate) fn learn(&self, skill: &ListedSkill) {
        let is_new = self.shared.skills().learn(skill);
        if is_new {
            self.shared.announce();
        }
    }

    /// Tells whether the server was listed and its listing may not be used any more.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_stale(&self) -> bool {
        let stale_at = self.shared.freshness().stale_at;
        self.failure().is_none() && stale_at.is_some_and(|stale_at| stale_at <= Instant::now())
    }

    /// Ends following the server. Its source reports that its skills are gone.
    pub(crate) fn stop(&self) {
        self.following.0.abort();
        self.shared.forget_skills();
    }

    /// Returns how long, and by whom, answers made from the present skills may be reused.
    pub fn cache_policy(&self) -> CachePolicy {
        let Freshness { stale_at, private } = self.shared.freshness();
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        let max_age = stale_at.map_or(Duration::ZERO, left);
        CachePolicy::default().with_max_age(max_age).with_private(private)
    }

    /// Asks the server for a skill by the server's own URI of it.
    pub fn find(&self, uri: SkillUri) -> BoxFuture<LookupOutcome> {
        self.source.find(uri)
    }

    /// Returns the skills as the source of another catalogue, under rules of its own.
    pub fn source(&self, rules: PassingRules) -> ServerSource {
        ServerSource::new(&self.shared, rules)
    }

    /// Returns every skill that the server lists and that can be passed on.
    pub fn listed(&self) -> Vec<ListedSkill> {
        self.shared.skills().listed().cloned().collect()
    }

    /// Tells whether a URI names something in a skill that the server is known to have, in any spelling that
    /// the server may understand so. Before the first listing has ended, everything may be.
    pub fn has_skill_around(&self, uri: &str) -> bool {
        let was_tried = *self.shared.tried.borrow();
        !was_tried || self.shared.skills().has_around(uri)
    }

    /// Tells whether the server is known to have a skill of this name, or with this path. Before the first
    /// listing has ended, any may be.
    pub fn has_skill_named(&self, name: &str) -> bool {
        let was_tried = *self.shared.tried.borrow();
        !was_tried || self.shared.skills().has_named(name)
    }

    /// Returns when the server was last listed, whether that listing was complete, and whether the server is
    /// left alone now because it failed too often.
    pub fn standing(&self) -> ServerStanding {
        let skills = self.shared.skills();
        ServerStanding {
            listed_at: *self.shared.listed_at.lock(),
            is_complete: skills.is_complete(),
            skills: skills.listed().count(),
            failure: skills.failure().map(str::to_owned),
            is_paused: self.shared.breaker.is_paused(),
        }
    }

    /// Returns a counter of changes, for a caller that waits for the next one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Reads a listed file and verifies its size and digest, within the limits of requests of clients.
    pub async fn read(
        &self,
        skill: &ListedSkill,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        self.shared.asked(self.shared.relay.read(skill, file)).await
    }
}

impl SkillSource for FollowedServer {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        self.source.scan(look, report)
    }

    fn on_change(&self, callback: ChangeCallback) {
        self.source.on_change(callback);
    }
}
