//! What is shared by the source, the files it serves and the task that follows the server.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use skillwire_core::SkillUri;
use skillwire_host::Relay;
use skillwire_source::{ChangeTracker, ContentOwner, InspectedSkill, LookupOutcome};
use skillwire_trust::{Class, ListedSkill, Reason, Refusal};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore, watch},
    time::Instant,
};

use crate::{
    followed::server::FollowOptions,
    followed::signal::ChangeSignal,
    followed::skills::{FollowedSkills, PassedOnSkill},
    passing_on::admission::Admission,
    passing_on::provenance::GatewayId,
    passing_on::skill::{inspected, serve},
    passing_on::uri_mapping::UriMapping,
};

/// Requests for files and entries that one server is sent at the same time.
const TURNS: usize = 16;

/// What the source, the files it serves and the task that follows the server have in common.
pub(crate) struct Shared {
    pub(crate) relay: Relay,
    pub(crate) rewriting: UriMapping,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) instance: GatewayId,
    pub(crate) options: FollowOptions,
    pub(crate) owner: ContentOwner,
    /// Where requests to the server run, whoever waits for them.
    pub(crate) runtime: Handle,
    pub(crate) turns: Semaphore,
    /// Set off when the server should be listed at once.
    pub(crate) wanted: Notify,
    /// Whether the server has been tried once.
    pub(crate) tried: watch::Sender<bool>,
    pub(crate) ledger: ChangeTracker,
    stock: Mutex<FollowedSkills>,
    /// What every answer needs to know of the stock, which may be in use for a while.
    fresh: Mutex<Fresh>,
    pub(crate) news: ChangeSignal,
}

/// How long the stock may be taken for current, and by whom.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fresh {
    pub(crate) stale_at: Option<Instant>,
    pub(crate) private: bool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedServer").field("label", self.relay.label()).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        relay: Relay,
        rewriting: UriMapping,
        admission: Arc<dyn Admission>,
        instance: GatewayId,
        options: FollowOptions,
        runtime: &Handle,
    ) -> Self {
        Self {
            relay,
            rewriting,
            admission,
            instance,
            options,
            owner: ContentOwner::unique(),
            runtime: runtime.clone(),
            turns: Semaphore::new(TURNS),
            wanted: Notify::new(),
            tried: watch::Sender::new(false),
            stock: Mutex::default(),
            fresh: Mutex::default(),
            ledger: ChangeTracker::default(),
            news: ChangeSignal::default(),
        }
    }

    pub(crate) fn stock(&self) -> MutexGuard<'_, FollowedSkills> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fresh(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever looks at this source that there is something to report.
    pub(crate) fn tell(&self) {
        let fresh = {
            let stock = self.stock();
            Fresh { stale_at: stock.stale_at(), private: stock.is_private() }
        };
        *self.fresh() = fresh;
        self.news.tell();
    }

    /// Asks for a skill and takes it over, if it may be passed on.
    pub(crate) async fn find(&self, uri: &SkillUri) -> LookupOutcome {
        let asked = {
            let _turn = self.turns.acquire().await;
            self.relay.get(uri).await
        };
        match asked {
            Ok(entry) => {
                let lifetime = entry.lifetime.unwrap_or(self.options.pause);
                let known = {
                    let mut stock = self.stock();
                    stock.name(entry.listed, lifetime, self.options.named_for);
                    stock.passes_on(uri, &*self.admission)
                };
                self.tell();
                if known { LookupOutcome::Found } else { LookupOutcome::NotFound }
            }
            Err(refusal) => {
                tracing::info!("{refusal}");
                match refusal.class() {
                    Class::NotFound | Class::Verification | Class::Declined => {
                        LookupOutcome::NotFound
                    }
                    _ => LookupOutcome::Failed,
                }
            }
        }
    }

    /// Takes over the entry that was asked for when a file was not what this one lists.
    pub(crate) fn look_again(&self, listed: &ListedSkill, refusal: &Refusal) {
        let uri = &listed.id().uri;
        let newer = self.relay.newer(uri).filter(|newer| newer.entry() != listed.entry());
        match newer {
            _ if refusal.reason == Reason::SkillNotFound => self.stock().remove(uri),
            Some(newer) => {
                let Self { options, .. } = self;
                self.stock().name(newer, options.pause, options.named_for);
            }
            // The server still lists what it does not serve.
            None => return,
        }
        self.tell();
    }

    /// Makes the report of one skill.
    pub(crate) fn inspect(self: &Arc<Self>, passed: &PassedOnSkill) -> Vec<InspectedSkill> {
        inspected(passed.skill.id(), serve(self, passed))
    }
}
