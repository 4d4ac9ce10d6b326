//! The task that follows one server: it lists the server, listens for changes, and tries again when
//! the server fails.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use skillwire_client::{Change, Changes};
use skillwire_core::{ResourceUri, SkillUri, visible::one_line};
use skillwire_host::FreshListing;
use skillwire_trust::{Refusal, RefusalClass};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::followed::server_state::ServerState;

/// The most skills that the task subscribes to one by one. Changes of the others show in the next
/// listing.
const MAX_SUBSCRIBED: usize = 500;

/// The most refused entries that one listing logs.
const MAX_LOGGED: usize = 10;

/// The shortest time between two listings of a server that announces changes without end.
const SPACING: Duration = Duration::from_millis(200);

/// How long a server has to accept a subscription.
const LISTENING: Duration = Duration::from_secs(2);

/// Follows a server until the task is aborted.
pub(crate) async fn follow(shared: Arc<ServerState>) {
    let mut following = Follower {
        retry: shared.options.first_retry,
        shared,
        subscriptions: ChangeSubscriptions::default(),
    };
    loop {
        // The subscription begins before the listing. In the other order, a change between the two
        // would be in neither, and clients would see the old skills until the next listing.
        following.listen_to_listing().await;
        let started = Instant::now();
        let pause = following.list().await;
        following.shared.tried.send_replace(true);
        if following.shared.skills().failure().is_none() {
            following.listen_to_skills().await;
        }
        let spaced = Instant::now() + SPACING.max(4 * started.elapsed());
        following.wait(Instant::now() + pause).await;
        sleep_until(spaced).await;
        following.shared.relay.expire_listing();
    }
}

struct Follower {
    shared: Arc<ServerState>,
    subscriptions: ChangeSubscriptions,
    /// How long to wait after the next failure before the server is tried again.
    retry: Duration,
}

/// The subscriptions to a server.
///
/// They are two, because notifications can be lost while a subscription is replaced: the one to the
/// listing stays when the one to the skills is replaced.
#[derive(Default)]
struct ChangeSubscriptions {
    listing: Option<Changes>,
    skills: Option<SkillSubscription>,
}

/// A subscription to skills, and which they are.
struct SkillSubscription {
    changes: Changes,
    uris: BTreeSet<SkillUri>,
}

impl Follower {
    async fn listen_to_listing(&mut self) {
        if self.subscriptions.listing.is_none() {
            let heard = timeout(LISTENING, self.shared.relay.listen()).await;
            self.subscriptions.listing = heard.ok().and_then(Result::ok);
        }
    }

    /// Subscribes to the listed skills. A server that refuses this may still announce changes of
    /// its listing.
    async fn listen_to_skills(&mut self) {
        let uris: BTreeSet<SkillUri> =
            self.shared.skills().listed_uris().take(MAX_SUBSCRIBED).cloned().collect();
        if self.subscriptions.skills.as_ref().is_some_and(|named| named.uris == uris) {
            return;
        }
        if uris.is_empty() {
            self.subscriptions.skills = None;
            return;
        }
        let wanted: Vec<&str> = uris.iter().map(SkillUri::as_str).collect();
        let heard = timeout(LISTENING, self.shared.relay.listen_to(&wanted)).await;
        if let Ok(Ok(Some(changes))) = heard {
            self.subscriptions.skills = Some(SkillSubscription { changes, uris });
        }
    }

    /// Lists the server, and returns how long to wait before the next listing.
    async fn list(&mut self) -> Duration {
        let options = &self.shared.options;
        let listing = self.shared.relay.list().await;
        self.shared.note_outcome(&listing);
        match listing {
            Ok(fresh) => {
                self.retry = options.first_retry;
                let lifetime = fresh.lifetime.unwrap_or(options.min_pause);
                let pause = lifetime.clamp(options.min_pause, options.max_pause);
                self.take(&fresh, lifetime.min(pause));
                pause
            }
            Err(refusal) => {
                let retry = self.retry;
                self.retry = (2 * retry).min(options.max_retry);
                self.fail(&refusal, retry).await;
                retry
            }
        }
    }

    fn take(&self, fresh: &FreshListing, lifetime: Duration) {
        let shared = &self.shared;
        let FreshListing { listing, .. } = fresh;
        let label = shared.relay.label();
        for refusal in listing.refused.iter().take(MAX_LOGGED) {
            tracing::warn!("{refusal}");
        }
        if listing.refused.len() > MAX_LOGGED {
            tracing::warn!("`{label}` lists {} unusable entries.", listing.refused.len());
        }
        if let Some(refusal) = &listing.truncated {
            tracing::warn!("`{label}` could not be listed to its end. {refusal}");
        }
        let recovered = {
            let mut skills = shared.skills();
            let recovered = skills.failure().is_some();
            skills.list(fresh, lifetime);
            recovered
        };
        *shared.listed_at.lock() = Some(std::time::SystemTime::now());
        if recovered {
            tracing::info!("`{label}` can be listed again.");
        }
        shared.announce();
    }

    async fn fail(&mut self, refusal: &Refusal, retry: Duration) {
        let shared = &self.shared;
        // Models read this reason in `list_skills`. The log has the server's own words too.
        let reason = refusal.in_own_words().to_string();
        let known = shared.skills().failure() == Some(&reason);
        if !known {
            let server_text = refusal.server_text.as_deref().map(one_line);
            tracing::warn!(server_text, "`{}` cannot be listed. {refusal}", shared.relay.label());
        }
        shared.skills().fail(reason, retry);
        shared.announce();
        // The server may come back as another version, so the next attempt connects anew.
        self.subscriptions = ChangeSubscriptions::default();
        shared.relay.disconnect().await;
    }

    /// Waits until the server has to be listed again, and meanwhile updates single skills that the
    /// server says have changed.
    async fn wait(&mut self, mut until: Instant) {
        loop {
            let shared = Arc::clone(&self.shared);
            tokio::select! {
                () = sleep_until(until) => return,
                () = shared.relist.notified() => return,
                change = self.subscriptions.next() => match change {
                    Some(Change::SkillsChanged) => return,
                    Some(Change::ToolsChanged | Change::PromptsChanged) => {}
                    Some(Change::Updated(uri)) => {
                        update(&shared, &uri).await;
                        sleep(SPACING / 10).await;
                    }
                    // Without this subscription, changes show only in the next listing, which must
                    // then not wait for the whole stated lifetime.
                    None => until = until.min(Instant::now() + shared.options.min_pause),
                },
            }
        }
    }
}

impl ChangeSubscriptions {
    /// Waits for a change, or for the end of a subscription, which is returned once as `None`.
    async fn next(&mut self) -> Option<Change> {
        let Self { listing, skills } = self;
        loop {
            tokio::select! {
                change = next(listing.as_mut()) => match change {
                    Some(Change::SkillsChanged) => return change,
                    // This subscription is for the list of skills; a legacy server has one
                    // stream for every change.
                    Some(Change::Updated(_) | Change::ToolsChanged | Change::PromptsChanged) => {}
                    None => {
                        *listing = None;
                        return None;
                    }
                },
                change = next(skills.as_mut().map(|named| &mut named.changes)) => {
                    if change.is_none() {
                        *skills = None;
                    }
                    return change;
                }
            }
        }
    }
}

/// Waits for the next change of a subscription; without a subscription, it waits forever.
async fn next(changes: Option<&mut Changes>) -> Option<Change> {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

/// Asks the server again for the skills that a changed resource belongs to.
async fn update(shared: &ServerState, uri: &str) {
    let Ok(uri) = ResourceUri::parse(uri) else { return };
    let around = shared.skills().around(&uri);
    for skill in around {
        let id = &skill.id().uri;
        if skill.content().is_none() {
            shared.skills().revise(id);
        }
        match shared.relay.get(id).await {
            Ok(entry) => {
                let lifetime = entry.lifetime.unwrap_or(shared.options.min_pause);
                shared.skills().name(entry.listed, lifetime, shared.options.named_for);
            }
            Err(refusal) if refusal.class() == RefusalClass::NotFound => shared.skills().remove(id),
            // The next listing shows what became of the skill.
            Err(refusal) => tracing::info!("{refusal}"),
        }
        shared.announce();
    }
}
