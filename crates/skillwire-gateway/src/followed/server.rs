//! One server as a source of skills.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use skillwire_core::{Finding, Scheme, SkillUri};
use skillwire_host::Relay;
use skillwire_source::{
    BoxFuture, CachePolicy, ChangeCallback, GroupKey, LookupOutcome, ScanRequest, SkillSource,
    SourceChange, SourceUnavailable,
};
use skillwire_trust::ServerLabel;
#[cfg(feature = "bridge")]
use skillwire_trust::{KnownSkill, ListedSkill};
use tokio::{task::AbortHandle, time::Instant};

use crate::{
    followed::follow,
    followed::server_state::{Freshness, ServerState},
    followed::servers::ServerStart,
    followed::skills::PassedOnSkill,
    passing_on::uri_mapping::UriMapping,
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
}

/// One server whose skills are passed on; clones share one state and one task.
///
/// The task runs in the background: it lists the server, listens for changes, and lists it again. A
/// scan of this source only reports what the task has found, and never waits for the server.
#[derive(Debug, Clone)]
pub struct FollowedServer {
    shared: Arc<ServerState>,
    following: Arc<FollowTask>,
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
        Self { shared, following: Arc::new(FollowTask(task.abort_handle())) }
    }

    /// Returns the label that the user gave to the server.
    pub fn label(&self) -> &ServerLabel {
        self.shared.relay.label()
    }

    /// Returns the mapping between the server's own URIs and those that clients of the gateway see.
    pub fn uris(&self) -> &UriMapping {
        &self.shared.uris
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
        self.shared.signal.mark();
        self.shared.signal.wake();
    }

    /// Has the source scanned if the server's skills changed since the last scan.
    #[cfg(feature = "bridge")]
    pub(crate) fn wake(&self) {
        self.shared.signal.wake();
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
        CachePolicy { max_age: Some(stale_at.map_or(Duration::ZERO, left)), private }
    }

    /// Asks the server for a skill by the server's own URI of it.
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
        // The mark is cleared before the skills are read. A change in between then marks the source
        // again; in the other order, its mark would be cleared without the change being reported.
        let is_marked = shared.signal.take();
        if is_marked || look.forces_pathless_read() {
            self.report(report);
        }
        match self.failure() {
            None => Ok(Vec::new()),
            Some(reason) => {
                let origin = format!("The server `{}`", self.label());
                Err(SourceUnavailable::new(origin, reason))
            }
        }
    }

    fn on_change(&self, callback: ChangeCallback) {
        self.shared.signal.on_change(callback);
    }
}

impl FollowedServer {
    /// Reports every skill that differs from what was reported before.
    fn report(&self, report: &mut (dyn FnMut(SourceChange) + Send)) {
        let shared = &self.shared;
        let passed = shared.skills().passed_on(&*shared.admission);
        let sites: BTreeMap<GroupKey, PassedOnSkill> = passed
            .into_iter()
            .map(|passed| (GroupKey(passed.skill.id().uri.file().shared()), passed))
            .collect();
        let now = sites.iter().map(|(key, passed)| (key.clone(), passed.fingerprint)).collect();
        let inspect = |key: &GroupKey| sites.get(key).map_or_else(Vec::new, |p| shared.inspect(p));
        shared.reported.report(&now, inspect, report);
    }
}
