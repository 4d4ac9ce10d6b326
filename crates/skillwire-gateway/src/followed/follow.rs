//! Keeping up with one server: listing it, hearing of changes, and trying again when it fails.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use skillwire_client::{Change, Changes};
use skillwire_core::{ResourceUri, SkillUri};
use skillwire_host::FreshListing;
use skillwire_trust::{Class, Refusal};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::followed::shared::Shared;

/// The most skills whose changes are subscribed to one by one; the listing tells of the others.
const MAX_SUBSCRIBED: usize = 500;

/// The most refused entries that one listing logs.
const MAX_LOGGED: usize = 10;

/// A server that tells of changes without end is asked no more often than this.
const SPACING: Duration = Duration::from_millis(200);

/// How long a server has to take a subscription.
const LISTENING: Duration = Duration::from_secs(2);

/// Follows a server for ever.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let mut following =
        Follower { retry: shared.options.retry.0, shared, ears: ChangeSubscriptions::default() };
    loop {
        // Listening begins before the listing, so that no change falls between.
        following.listen_to_listing().await;
        let started = Instant::now();
        let pause = following.list().await;
        following.shared.tried.send_replace(true);
        if following.shared.stock().failure().is_none() {
            following.listen_to_skills().await;
        }
        let spaced = Instant::now() + SPACING.max(4 * started.elapsed());
        following.wait(Instant::now() + pause).await;
        sleep_until(spaced).await;
        following.shared.relay.expire_listing();
    }
}

struct Follower {
    shared: Arc<Shared>,
    ears: ChangeSubscriptions,
    /// How long to wait before a server that fails again is tried again.
    retry: Duration,
}

/// The subscriptions to a server.
///
/// They are two, so that the one to the listing stays as it is when the skills are others: what is
/// told while a subscription is replaced can be lost.
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
        if self.ears.listing.is_none() {
            let heard = timeout(LISTENING, self.shared.relay.listen()).await;
            self.ears.listing = heard.ok().and_then(Result::ok);
        }
    }

    /// Some take no subscriptions to resources, and tell of the listing all the same.
    async fn listen_to_skills(&mut self) {
        let uris: BTreeSet<SkillUri> =
            self.shared.stock().listed_uris().take(MAX_SUBSCRIBED).cloned().collect();
        if self.ears.skills.as_ref().is_some_and(|named| named.uris == uris) {
            return;
        }
        if uris.is_empty() {
            self.ears.skills = None;
            return;
        }
        let wanted: Vec<&str> = uris.iter().map(SkillUri::as_str).collect();
        let heard = timeout(LISTENING, self.shared.relay.listen_to(&wanted)).await;
        if let Ok(Ok(Some(changes))) = heard {
            self.ears.skills = Some(SkillSubscription { changes, uris });
        }
    }

    /// Lists the server, and says when to do so again.
    async fn list(&mut self) -> Duration {
        let options = &self.shared.options;
        let (first, longest) = options.retry;
        match self.shared.relay.list().await {
            Ok(fresh) => {
                self.retry = first;
                let lifetime = fresh.lifetime.unwrap_or(options.pause);
                let pause = lifetime.clamp(options.pause, options.longest_pause);
                self.take(&fresh, lifetime.min(pause));
                pause
            }
            Err(refusal) => {
                let retry = self.retry;
                self.retry = (2 * retry).min(longest);
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
            let mut stock = shared.stock();
            let recovered = stock.failure().is_some();
            stock.list(fresh, lifetime);
            recovered
        };
        if recovered {
            tracing::info!("`{label}` can be listed again.");
        }
        shared.tell();
    }

    async fn fail(&mut self, refusal: &Refusal, retry: Duration) {
        let shared = &self.shared;
        let reason = refusal.to_string();
        let known = shared.stock().failure() == Some(&reason);
        if !known {
            tracing::warn!("`{}` cannot be listed. {reason}", shared.relay.label());
        }
        shared.stock().fail(reason, retry);
        shared.tell();
        // It may have been restarted as something else: what it is, is found out anew.
        self.ears = ChangeSubscriptions::default();
        shared.relay.disconnect().await;
    }

    /// Waits until the server has to be listed again.
    async fn wait(&mut self, mut until: Instant) {
        loop {
            let shared = Arc::clone(&self.shared);
            tokio::select! {
                () = sleep_until(until) => return,
                () = shared.wanted.notified() => return,
                change = self.ears.hear() => match change {
                    Some(Change::SkillsChanged) => return,
                    Some(Change::Updated(uri)) => {
                        update(&shared, &uri).await;
                        sleep(SPACING / 10).await;
                    }
                    // Who tells of nothing any more has to be looked at, however long the listing
                    // was said to stay as it is.
                    None => until = until.min(Instant::now() + shared.options.pause),
                },
            }
        }
    }
}

impl ChangeSubscriptions {
    /// Waits for a change, or for the end of a subscription, which is told once.
    async fn hear(&mut self) -> Option<Change> {
        let Self { listing, skills } = self;
        loop {
            tokio::select! {
                change = next(listing.as_mut()) => match change {
                    Some(Change::SkillsChanged) => return change,
                    // Nobody asked for this here.
                    Some(Change::Updated(_)) => {}
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

/// The next change that a subscription tells; one that is not there tells nothing.
async fn next(changes: Option<&mut Changes>) -> Option<Change> {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

/// Asks anew for the skills that a changed resource belongs to.
async fn update(shared: &Shared, uri: &str) {
    let Ok(uri) = ResourceUri::parse(uri) else { return };
    let around = shared.stock().around(&uri);
    for skill in around {
        let id = &skill.id().uri;
        if skill.integrity().is_dynamic() {
            shared.stock().revise(id);
        }
        match shared.relay.get(id).await {
            Ok(entry) => {
                let lifetime = entry.lifetime.unwrap_or(shared.options.pause);
                shared.stock().name(entry.listed, lifetime, shared.options.named_for);
            }
            Err(refusal) if refusal.class() == Class::NotFound => shared.stock().remove(id),
            // The next listing says what became of it.
            Err(refusal) => tracing::info!("{refusal}"),
        }
        shared.tell();
    }
}
