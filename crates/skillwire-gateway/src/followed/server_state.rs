//! The state that a followed server's source, its files and the task that follows it share.

use std::{fmt, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use skillwire_core::SkillUri;
use skillwire_host::Relay;
use skillwire_source::{ChangeTracker, ContentOwner, InspectedSkill, LookupOutcome};
use skillwire_trust::{ListedSkill, Origin, Reason, Refusal, RefusalClass};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore, watch},
    time::{Instant, timeout},
};

use crate::{
    followed::server::FollowOptions,
    followed::servers::ServerStart,
    followed::signal::ChangeSignal,
    followed::skills::{FollowedSkills, PassedOnSkill},
    passing_on::admission::Admission,
    passing_on::provenance::GatewayId,
    passing_on::skill::{inspected, serve},
    passing_on::uri_mapping::UriMapping,
};

/// The most requests for files and entries that one server gets at the same time.
const MAX_REQUESTS: usize = 16;

/// The state that a followed server's source, its files and the task that follows it share.
pub(crate) struct ServerState {
    pub(crate) relay: Relay,
    pub(crate) uris: UriMapping,
    pub(crate) admission: Arc<dyn Admission>,
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
    /// The skills that the last scan reported, by fingerprint.
    pub(crate) reported: ChangeTracker,
    skills: Mutex<FollowedSkills>,
    /// A copy of the two facts about `skills` that every response needs. Admission runs under the
    /// lock of `skills` and may take a while; with this copy, responses do not wait for that lock.
    freshness: Mutex<Freshness>,
    pub(crate) signal: ChangeSignal,
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
        let origin = Origin::Server(relay.label().clone());
        Self {
            uris: UriMapping::new(start.options.scheme.clone(), origin),
            relay,
            admission: Arc::clone(&start.admission),
            gateway: start.gateway.clone(),
            options: start.options.clone(),
            owner: ContentOwner::unique(),
            runtime: start.runtime.clone(),
            permits: Semaphore::new(MAX_REQUESTS),
            relist: Notify::new(),
            tried: watch::Sender::new(false),
            skills: Mutex::default(),
            freshness: Mutex::default(),
            reported: ChangeTracker::default(),
            signal: ChangeSignal::default(),
            listener: start.listener.clone(),
        }
    }

    /// Runs a request for a client, once the server has fewer than [`MAX_REQUESTS`] of them.
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
        timeout(self.relay.answer_time(), permitted)
            .await
            .unwrap_or_else(|_| Err(Refusal::new(Reason::ServerTimeout).about(self.relay.label())))
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
        self.signal.mark();
        match &self.listener {
            Some(listener) => listener.notify_one(),
            None => self.signal.wake(),
        }
    }

    /// Asks the server for a skill, and passes it on if the admission allows that. A skill that the
    /// admission denies is reported as not found, so that a client cannot learn that it exists.
    pub(crate) async fn find(&self, uri: &SkillUri) -> LookupOutcome {
        match self.asked(self.relay.get(uri)).await {
            Ok(entry) => {
                let lifetime = entry.lifetime.unwrap_or(self.options.min_pause);
                let known = {
                    let mut skills = self.skills();
                    skills.name(entry.listed, lifetime, self.options.named_for);
                    skills.passes_on(uri, &*self.admission)
                };
                self.announce();
                if known { LookupOutcome::Found } else { LookupOutcome::NotFound }
            }
            Err(refusal) => {
                tracing::info!("{refusal}");
                match refusal.class() {
                    RefusalClass::NotFound
                    | RefusalClass::Verification
                    | RefusalClass::Declined => LookupOutcome::NotFound,
                    _ => LookupOutcome::Failed,
                }
            }
        }
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

    /// Makes the report that a scan returns for one skill.
    pub(crate) fn inspect(self: &Arc<Self>, passed: &PassedOnSkill) -> Vec<InspectedSkill> {
        inspected(passed.skill.id(), serve(self, passed))
    }
}
