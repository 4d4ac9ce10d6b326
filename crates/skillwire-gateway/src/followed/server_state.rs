//! The state that a followed server's source, its files and the task that follows it share.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::SystemTime,
};

use parking_lot::{Mutex, MutexGuard};
use skillwire_host::Relay;
use skillwire_source::ContentOwner;
use skillwire_trust::{ListedSkill, Reason, Refusal, RefusalClass};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore, watch},
    time::{Instant, timeout},
};

use crate::{
    followed::breaker::CircuitBreaker, followed::server::FollowOptions,
    followed::servers::ServerStart, followed::skills::FollowedSkills,
    followed::source::SourceState, passing_on::provenance::GatewayId,
};

/// The state that a followed server's source, its files and the task that follows it share.
pub(crate) struct ServerState {
    pub(crate) relay: Relay,
    pub(crate) gateway: GatewayId,
    pub(crate) options: FollowOptions,
    pub(crate) owner: ContentOwner,
    /// The runtime that runs all requests to the server, including those that callers on another
    /// runtime wait for.
    pub(crate) runtime: Handle,
    /// Permits for requests to the server. The semaphore is never closed, so acquiring one
    /// succeeds.
    pub(crate) permits: Semaphore,
    /// Notified when the server should be listed at once.
    pub(crate) relist: Notify,
    /// Whether the first attempt to list the server has ended, with or without success.
    pub(crate) tried: watch::Sender<bool>,
    /// When the server was last listed completely.
    pub(crate) listed_at: Mutex<Option<SystemTime>>,
    pub(crate) breaker: CircuitBreaker,
    skills: Mutex<FollowedSkills>,
    /// A copy of the two facts about `skills` that every response needs. Admission runs under the
    /// lock of `skills` and may take a while; with this copy, responses do not wait for that lock.
    freshness: Mutex<Freshness>,
    /// The sources that report the skills, one for each catalogue.
    sources: Mutex<Vec<Weak<SourceState>>>,
    /// Counts changes, for programs that wait for one.
    pub(crate) changes: watch::Sender<u64>,
    /// Notified of every change. Without a listener, a change has the source scanned at once.
    listener: Option<Arc<Notify>>,
}

/// When the skills go stale, and whether only this user may reuse them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Freshness {
    pub(crate) stale_at: Option<Instant>,
    pub(crate) private: bool,
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedServer").field("label", self.relay.label()).finish_non_exhaustive()
    }
}

impl ServerState {
    pub(crate) fn new(relay: Relay, start: &ServerStart) -> Self {
        Self {
            relay,
            gateway: start.gateway.clone(),
            options: start.options.clone(),
            owner: ContentOwner::unique(),
            runtime: start.runtime.clone(),
            permits: Semaphore::new(start.options.concurrency),
            breaker: CircuitBreaker::new(start.options.breaker),
            listed_at: Mutex::default(),
            relist: Notify::new(),
            tried: watch::Sender::new(false),
            skills: Mutex::default(),
            freshness: Mutex::default(),
            sources: Mutex::default(),
            changes: watch::Sender::new(0),
            listener: start.listener.clone(),
        }
    }

    /// Runs a request for a client, once the server has few enough of them.
    ///
    /// Waiting and request together have one deadline. Otherwise requests to a hanging server would
    /// wait for each other, each as long as one answer may take.
    pub(crate) async fn asked<T>(
        &self,
        request: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let permitted = async {
            let _permit = self.permits.acquire().await;
            request.await
        };
        if self.breaker.is_paused() {
            let refusal = Refusal::new(Reason::ServerUnreachable).about(self.relay.label());
            return Err(refusal.actual("too many failures in a row, so that it is left alone"));
        }
        let answer = timeout(self.relay.answer_time(), permitted)
            .await
            .unwrap_or_else(|_| Err(Refusal::new(Reason::ServerTimeout).about(self.relay.label())));
        self.note_outcome(&answer);
        answer
    }

    /// Notes whether a request failed because of the server.
    pub(crate) fn note_outcome<T>(&self, answer: &Result<T, Refusal>) {
        match answer {
            Err(refusal) if refusal.class() == RefusalClass::Unreachable => self.breaker.failed(),
            _ => self.breaker.succeeded(),
        }
    }

    /// Has a source hear of changes for as long as it exists.
    pub(crate) fn add_source(&self, source: &Arc<SourceState>) {
        let mut sources = self.sources.lock();
        sources.retain(|known| known.strong_count() > 0);
        sources.push(Arc::downgrade(source));
    }

    fn sources(&self) -> Vec<Arc<SourceState>> {
        self.sources.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Has the sources scanned that have something to report.
    pub(crate) fn wake(&self) {
        self.sources().iter().for_each(|source| source.signal.wake());
    }

    pub(crate) fn skills(&self) -> MutexGuard<'_, FollowedSkills> {
        self.skills.lock()
    }

    pub(crate) fn freshness(&self) -> Freshness {
        *self.freshness.lock()
    }

    /// Forgets every skill, because the server is no longer followed.
    pub(crate) fn forget_skills(&self) {
        *self.skills() = FollowedSkills::default();
        self.tried.send_replace(true);
        self.announce();
    }

    /// Announces that the skills have changed: to the listener, or else to the source's scanner.
    pub(crate) fn announce(&self) {
        let freshness = {
            let skills = self.skills();
            Freshness { stale_at: skills.stale_at(), private: skills.is_private() }
        };
        *self.freshness.lock() = freshness;
        self.sources().iter().for_each(|source| source.signal.mark());
        match &self.listener {
            Some(listener) => listener.notify_one(),
            None => self.wake(),
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Replaces an entry after a file did not match it, by the newer entry that the host then got.
    pub(crate) fn look_again(&self, listed: &ListedSkill, refusal: &Refusal) {
        let uri = &listed.id().uri;
        let newer = self.relay.newer(uri).filter(|newer| newer.entry() != listed.entry());
        match newer {
            _ if refusal.reason == Reason::SkillNotFound => self.skills().remove(uri),
            Some(newer) => {
                let Self { options, .. } = self;
                self.skills().name(newer, options.min_pause, options.named_for);
            }
            // There is no newer entry: the server does not serve what it lists.
            None => return,
        }
        self.announce();
    }
}
