//! Notifies the SDK's clients of changes.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::SubscriptionSink,
};
use serde_json::Value;
use skillwire_catalog::{Catalog, CatalogChanges, ViewId};
use skillwire_protocol::{message::Request, method};
use tokio::{sync::broadcast, task::AbortHandle};

use super::ask;
use skillwire_engine::{Feed, Filter, Followed, LegacySubscriptions, MAX_SUBSCRIBED_URIS};

/// The most subscriptions that may be accepted but not yet started.
const BEGINNING: usize = 64;

/// The state of one session.
#[derive(Debug)]
pub(super) struct SessionChanges {
    subscriptions: Arc<LegacySubscriptions>,
    /// The task that notifies a legacy client of changes once it has initialised.
    feed: Mutex<Option<AbortHandle>>,
    /// Subscriptions that are accepted but not yet started. The SDK asks what is accepted and
    /// acknowledges it before it calls `listen`. Listening starts when the SDK asks, because a
    /// change between the acknowledgment and `listen` would be lost otherwise.
    beginning: Mutex<VecDeque<(SubscriptionFilter, broadcast::Receiver<Arc<CatalogChanges>>)>>,
}

impl Default for SessionChanges {
    fn default() -> Self {
        Self {
            subscriptions: Arc::new(LegacySubscriptions::alone(&[])),
            feed: Mutex::default(),
            beginning: Mutex::default(),
        }
    }
}

impl Drop for SessionChanges {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.lock().take() {
            feed.abort();
        }
    }
}

impl SessionChanges {
    /// Records what a legacy request changes about the session.
    pub(super) fn note(
        &self,
        request: &Request<'_>,
        follow: impl FnOnce(&str) -> Option<Followed>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.note(request, follow).map_err(|refusal| ask::error(&refusal))
    }

    /// Notifies a legacy client of changes from now on.
    pub(super) fn tell(&self, catalog: &Catalog, peer: Peer<RoleServer>) {
        let mut feed = Feed::new(ViewId::EVERYTHING, catalog.changes());
        let followed = Arc::clone(&self.subscriptions);
        let task = tokio::spawn(async move {
            while let Some(found) = feed.next(|| followed.filter()).await {
                for (method, params) in found {
                    let sent = match updated_uri(method, &params) {
                        None => peer.notify_resource_list_changed().await,
                        Some(uri) => {
                            let params = ResourceUpdatedNotificationParam::new(uri);
                            peer.notify_resource_updated(params).await
                        }
                    };
                    if sent.is_err() {
                        return;
                    }
                }
            }
        });
        if let Some(old) = self.feed.lock().replace(task.abort_handle()) {
            old.abort();
        }
    }

    /// Returns the accepted part of a subscription, which adds ours to what the wrapped handler
    /// accepts.
    pub(super) fn accept(
        &self,
        catalog: &Catalog,
        requested: &SubscriptionFilter,
        mut accepted: SubscriptionFilter,
    ) -> SubscriptionFilter {
        let mut beginning = self.beginning.lock();
        beginning.push_back((requested.clone(), catalog.changes()));
        if beginning.len() > BEGINNING {
            beginning.pop_front();
        }
        let snapshot = catalog.now(ViewId::EVERYTHING);
        let served = |uri: &&String| snapshot.as_ref().is_some_and(|s| s.file(uri).is_some());
        let wanted = requested.resource_subscriptions.iter().flatten();
        let ours: Vec<String> = wanted.filter(served).take(MAX_SUBSCRIBED_URIS).cloned().collect();
        if !ours.is_empty() {
            accepted.resource_subscriptions.get_or_insert_default().extend(ours);
        }
        if requested.resources_list_changed == Some(true) {
            accepted.resources_list_changed = Some(true);
        }
        accepted
    }

    /// Returns the changes since a subscription was accepted.
    pub(super) fn begin(&self, catalog: &Catalog, requested: &SubscriptionFilter) -> Feed {
        let mut beginning = self.beginning.lock();
        let at = beginning.iter().position(|(filter, _)| filter == requested);
        let since = at.and_then(|at| beginning.remove(at)).map(|(_, changes)| changes);
        Feed::new(ViewId::EVERYTHING, since.unwrap_or_else(|| catalog.changes()))
    }
}

/// Notifies a subscriber of changes until it is gone.
pub(super) async fn forward(mut feed: Feed, accepted: &SubscriptionFilter, sink: SubscriptionSink) {
    let uris = accepted.resource_subscriptions.iter().flatten();
    let filter = Filter {
        list: accepted.resources_list_changed == Some(true),
        uris: uris.map(|uri| Arc::from(uri.as_str())).collect(),
        ..Filter::default()
    };
    while let Some(found) = feed.next(|| filter.clone()).await {
        for (method, params) in found {
            let sent = match updated_uri(method, &params) {
                None => sink.notify_resource_list_changed().await,
                Some(uri) => sink.notify_resource_updated(uri).await,
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

/// Returns the file that a notification is about, or `None` for one about the lists.
fn updated_uri(method: &str, params: &Value) -> Option<String> {
    let uri = params.get("uri").and_then(Value::as_str);
    uri.filter(|_| method == method::RESOURCES_UPDATED).map(str::to_owned)
}
