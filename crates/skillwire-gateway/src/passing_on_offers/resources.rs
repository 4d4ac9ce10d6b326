//! Follows changes of resources that clients subscribed to.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use skillwire_client::{Change, Changes, Client, ClientError, Interest, Limits};
use skillwire_protocol::{Era, method};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::offer::OfferState;

/// The most resources of one server that are followed at the same time.
const MOST_FOLLOWED: usize = 1_000;

/// Clients subscribe one resource at a time; a subscription at the server covers what came together.
const SPACING: Duration = Duration::from_millis(50);

/// The pause before a subscription that broke or was refused is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// How long a server has to accept a subscription.
const ACCEPTING: Duration = Duration::from_secs(5);

/// The resources that clients follow, by the server's own URIs, and how many clients follow each.
///
/// Offers of one server share it. They have one connection, and a legacy session has one subscription of
/// each resource: an offer must not end what another one still needs.
#[derive(Debug, Default)]
pub(super) struct FollowedUris {
    counts: Mutex<HashMap<String, usize>>,
    changed: watch::Sender<u64>,
}

/// The resources of one server that clients subscribed to. Give the same to all offers of a server.
#[derive(Debug, Clone, Default)]
pub struct FollowedResources(pub(super) Arc<FollowedUris>);

/// The interest of one client in one resource.
pub(super) struct ResourceInterest {
    uris: Weak<FollowedUris>,
    own: String,
}

impl Drop for ResourceInterest {
    fn drop(&mut self) {
        let Some(uris) = self.uris.upgrade() else { return };
        let mut counts = uris.counts.lock();
        if let Some(count) = counts.get_mut(&self.own) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.own);
                uris.changed.send_modify(|count| *count += 1);
            }
        }
    }
}

impl FollowedUris {
    /// Follows a resource until the value is dropped; `None` if too many are followed.
    pub(super) fn follow(self: &Arc<Self>, own: &str) -> Option<ResourceInterest> {
        let mut counts = self.counts.lock();
        if counts.len() >= MOST_FOLLOWED && !counts.contains_key(own) {
            tracing::warn!("more resources of a server are subscribed to than are followed");
            return None;
        }
        let count = counts.entry(own.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.changed.send_modify(|count| *count += 1);
        }
        Some(ResourceInterest { uris: Arc::downgrade(self), own: own.to_owned() })
    }

    fn now(&self) -> BTreeSet<String> {
        self.counts.lock().keys().cloned().collect()
    }

    fn has(&self, own: &str) -> bool {
        self.counts.lock().contains_key(own)
    }
}

/// A subscription at the server, and what it covers.
#[derive(Debug)]
struct OpenSubscription {
    client: Client,
    changes: Changes,
    covers: BTreeSet<String>,
}

/// Subscribes at the server to what clients follow, until the task is aborted.
pub(super) async fn follow_resources(state: Arc<OfferState>) {
    let uris = &state.followed;
    let mut changed = uris.changed.subscribe();
    let mut open: Option<OpenSubscription> = None;
    // Whether changes may have been missed, because a subscription broke.
    let mut missed = false;
    loop {
        changed.mark_unchanged();
        let wanted = uris.now();
        if open.as_ref().map(|open| &open.covers) != Some(&wanted) {
            if wanted.is_empty() {
                if let Some(open) = open.take() {
                    open.unsubscribe(&wanted).await;
                }
                missed = false;
            } else {
                match timeout(ACCEPTING, subscribe(&state, open.take(), &wanted)).await {
                    Ok(Ok(Some(subscription))) => {
                        if std::mem::take(&mut missed) {
                            subscription.covers.iter().for_each(|own| state.updated(own));
                        }
                        open = Some(subscription);
                    }
                    // A server that announces no changes is asked for none.
                    Ok(Ok(None)) => {
                        // The sender lives as long as the state, so waiting cannot fail.
                        let _ = changed.changed().await;
                        sleep(SPACING).await;
                        continue;
                    }
                    failed => {
                        let upstream = state.relay.label();
                        tracing::info!(%upstream, ?failed, "resources cannot be subscribed to");
                        missed = true;
                        sleep(RETRY).await;
                        continue;
                    }
                }
            }
        }
        tokio::select! {
            _ = changed.changed() => sleep(SPACING).await,
            change = next(&mut open) => match change {
                Some(Change::Updated(own)) => {
                    if uris.has(&own) {
                        state.updated(&own);
                    }
                }
                // A listener that fell behind is told so in the same way as of a changed listing.
                Some(_) => uris.now().iter().for_each(|own| state.updated(own)),
                None => {
                    (open, missed) = (None, true);
                    sleep(RETRY).await;
                }
            },
        }
    }
}

async fn next(open: &mut Option<OpenSubscription>) -> Option<Change> {
    match open {
        Some(open) => open.changes.next().await,
        None => std::future::pending().await,
    }
}

/// Has a subscription cover these resources; `None` if the server announces no changes of any.
async fn subscribe(
    state: &OfferState,
    before: Option<OpenSubscription>,
    wanted: &BTreeSet<String>,
) -> Result<Option<OpenSubscription>, SubscribeError> {
    let client = state.relay.client().await?;
    let server = client.server();
    let resources = server.capabilities.get("resources");
    if resources.and_then(|it| it.get("subscribe")) != Some(&Value::Bool(true)) {
        return Ok(None);
    }
    let limits = Limits::default().with_timeout(ACCEPTING);
    // A modern subscription is one request, and the new one begins before the old one ends. A legacy
    // session subscribes to each resource once.
    let is_legacy = server.era == Era::Legacy;
    let same_session = |before: &&OpenSubscription| is_legacy && before.client.is_same(&client);
    let covered = before.as_ref().filter(same_session).map(|before| &before.covers);
    let new: Vec<&str> = wanted
        .iter()
        .filter(|own| covered.is_none_or(|covered| !covered.contains(*own)))
        .map(String::as_str)
        .collect();
    let listening = client.listen(Interest::Resources(&new), limits).await;
    let changes = match listening {
        Ok(changes) => changes,
        Err(error) => {
            state.relay.noticed(&error).await;
            return Err(error.into());
        }
    };
    if let Some(before) = before {
        before.unsubscribe(wanted).await;
    }
    Ok(Some(OpenSubscription { client, changes, covers: wanted.clone() }))
}

#[derive(Debug, thiserror::Error)]
enum SubscribeError {
    #[error(transparent)]
    Unconnected(#[from] skillwire_trust::Refusal),
    #[error(transparent)]
    Refused(#[from] ClientError),
}

impl OpenSubscription {
    /// Ends what a legacy session is subscribed to and is not wanted any more. A modern subscription ends
    /// when it is dropped.
    async fn unsubscribe(self, wanted: &BTreeSet<String>) {
        if self.client.server().era != Era::Legacy {
            return;
        }
        let limits = Limits::default().with_timeout(ACCEPTING);
        for own in self.covers.difference(wanted) {
            let params = Map::from_iter([("uri".to_owned(), own.as_str().into())]);
            let ended = self.client.request(method::RESOURCES_UNSUBSCRIBE, params, limits).await;
            if ended.is_err() {
                // The session is gone, and its subscriptions with it.
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_followed_as_long_as_a_client_follows_it_gw_23() {
        let uris = Arc::new(FollowedUris::default());
        let (one, two) = (uris.follow("x:1").unwrap(), uris.follow("x:1").unwrap());
        drop(one);
        assert!(uris.has("x:1"));
        drop(two);
        assert!(uris.now().is_empty());
        let many: Vec<_> = (0..MOST_FOLLOWED).map(|n| uris.follow(&format!("x:{n}"))).collect();
        assert!(uris.follow("x:more").is_none(), "there is no room");
        assert!(uris.follow("x:0").is_some(), "what is followed already needs none");
        drop(many);
        assert!(uris.now().is_empty());
    }
}
