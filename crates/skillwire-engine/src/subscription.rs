//! Which changes each client is notified of, in either era.

use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};
use skillwire_catalog::{CatalogChanges, ViewChange, ViewId};
use skillwire_protocol::{
    ErrorCode, RequestId, RpcError,
    message::{Request, response, string},
    meta, method,
};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use crate::{
    caller::Caller,
    offer::{FollowedResource, ListVersions, Offers, WeakOffers},
};

/// The most URIs that one subscription follows; further ones are left out of the acknowledgment.
pub const MAX_SUBSCRIBED_URIS: usize = 4_096;

/// The longest id of a subscription, as JSON; it is bounded because every notification repeats it.
const MAX_ID_BYTES: usize = 1_024;

#[derive(Deserialize)]
struct RequestedFilter {
    #[serde(rename = "resourcesListChanged", default)]
    resources_list_changed: bool,
    #[serde(rename = "resourceSubscriptions", default)]
    resource_subscriptions: Vec<String>,
    #[serde(rename = "toolsListChanged", default)]
    tools_list_changed: bool,
    #[serde(rename = "promptsListChanged", default)]
    prompts_list_changed: bool,
}

/// The notifications that a client requested.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Whether the client wants changes of the listings.
    pub list: bool,
    /// Files whose changes the client wants.
    pub uris: HashSet<Arc<str>>,
    /// URIs that stand for something else, each with what it stands for.
    pub aliases: Vec<(Arc<str>, Followed)>,
    /// Notifications of dialects that are sent when the listings change, besides the one about
    /// resources.
    pub lists: &'static [&'static str],
    /// Whether the client wants changes of the list of tools.
    pub tools: bool,
    /// Whether the client wants changes of the list of prompts.
    pub prompts: bool,
}

/// The changes that a subscription to a URI reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// Changes of that very file.
    Itself,
    /// Changes of another file; if that is a `SKILL.md`, changes of anything in its skill.
    File(Arc<str>),
    /// Changes of the list of skills.
    List,
    /// Every change.
    Anything,
    /// Changes of a resource that is offered besides files of skills.
    Offered(FollowedResource),
}

impl Followed {
    fn concerns(&self, change: &ViewChange) -> bool {
        match self {
            Self::Itself | Self::Offered(_) => false,
            Self::File(uri) => change.updated.contains(uri),
            Self::List => change.list,
            Self::Anything => !change.is_empty(),
        }
    }
}

impl Filter {
    /// Creates a filter for these URIs.
    fn following(followed: impl Iterator<Item = (Arc<str>, Followed)>) -> Self {
        let mut filter = Self::default();
        for (uri, what) in followed {
            match what {
                Followed::Itself => {
                    filter.uris.insert(uri);
                }
                other => filter.aliases.push((uri, other)),
            }
        }
        filter
    }

    /// Adds the changes of all lists.
    fn with_lists(self, lists: &'static [&'static str]) -> Self {
        Self { list: true, tools: true, prompts: true, lists, ..self }
    }

    /// Returns the notifications for one change, as method and parameters.
    fn notifications(&self, change: &ViewChange) -> Vec<(&'static str, Value)> {
        let mut found = Vec::new();
        if self.list && change.list {
            found.push((method::RESOURCES_LIST_CHANGED, json!({})));
        }
        if change.list {
            found.extend(self.lists.iter().map(|method| (*method, json!({}))));
        }
        let mut uris = change.updated.among(&self.uris);
        let others = self.aliases.iter().filter(|(_, followed)| followed.concerns(change));
        uris.extend(others.map(|(uri, _)| uri));
        uris.sort_unstable();
        found.extend(
            uris.into_iter().map(|uri| (method::RESOURCES_UPDATED, json!({ "uri": **uri }))),
        );
        found
    }

    /// Returns the notifications for a listener that missed some changes: everything it follows.
    fn everything(&self) -> Vec<(&'static str, Value)> {
        let mut updated = self.uris.clone();
        updated.extend(self.aliases.iter().filter_map(|(_, followed)| match followed {
            Followed::File(uri) => Some(Arc::clone(uri)),
            _ => None,
        }));
        self.notifications(&ViewChange { list: true, updated: updated.into() })
    }

    /// Returns the notifications for a change of an offered resource, or of any if it is not known which.
    fn of_resource(
        &self,
        changed: Option<&str>,
        may_read: impl Fn(&str) -> bool,
    ) -> Vec<(&'static str, Value)> {
        let offered = self.aliases.iter().filter(|(uri, followed)| {
            matches!(followed, Followed::Offered(_))
                && changed.is_none_or(|changed| changed == &**uri)
                && may_read(uri)
        });
        offered.map(|(uri, _)| (method::RESOURCES_UPDATED, json!({ "uri": **uri }))).collect()
    }

    /// Returns the notifications for a change of the lists of tools, prompts and resources.
    fn of_offers(&self, old: ListVersions, new: ListVersions) -> Vec<(&'static str, Value)> {
        let tools = (self.tools && old.tools != new.tools).then_some(method::TOOLS_LIST_CHANGED);
        let prompts =
            (self.prompts && old.prompts != new.prompts).then_some(method::PROMPTS_LIST_CHANGED);
        let resources =
            (self.list && old.resources != new.resources).then_some(method::RESOURCES_LIST_CHANGED);
        let changed = tools.into_iter().chain(prompts).chain(resources);
        changed.map(|method| (method, json!({}))).collect()
    }
}

/// How many more files legacy sessions may subscribe to.
#[derive(Debug)]
pub struct SubscriptionQuota {
    left: AtomicUsize,
    /// The quota that this is a share of.
    whole: Option<Arc<Self>>,
}

impl SubscriptionQuota {
    /// Creates a quota of `most` subscriptions.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(most), whole: None })
    }

    /// Creates a share of a quota, for at most `most` subscriptions.
    pub fn share_of(whole: &Arc<Self>, most: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(most), whole: Some(Arc::clone(whole)) })
    }

    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return false;
        }
        let taken = self.whole.as_ref().is_none_or(|whole| whole.take());
        if !taken {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    fn give_back(&self, count: usize) {
        self.left.fetch_add(count, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(count);
        }
    }
}

/// The subscriptions of a legacy session: every change of the lists, and the files it subscribed
/// to.
#[derive(Debug)]
pub struct LegacySubscriptions {
    uris: Mutex<HashMap<Arc<str>, Followed>>,
    /// The quota for subscriptions, which sessions share.
    quota: Arc<SubscriptionQuota>,
    /// Notifications that are also sent when the listings change.
    lists: &'static [&'static str],
}

impl Drop for LegacySubscriptions {
    fn drop(&mut self) {
        self.quota.give_back(self.lock().len());
    }
}

impl LegacySubscriptions {
    /// Creates the subscriptions of a session that shares its quota with no other.
    pub fn alone(lists: &'static [&'static str]) -> Self {
        Self::within(&SubscriptionQuota::new(MAX_SUBSCRIBED_URIS), lists)
    }

    /// Creates the subscriptions of a session that shares `quota` with others.
    pub fn within(quota: &Arc<SubscriptionQuota>, lists: &'static [&'static str]) -> Self {
        Self { uris: Mutex::default(), quota: Arc::clone(quota), lists }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Followed>> {
        self.uris.lock()
    }

    /// Records what a successful request changes, unless that exceeds a limit.
    ///
    /// `follow` returns what a URI stands for.
    pub fn note(
        &self,
        request: &Request<'_>,
        follow: impl FnOnce(&str) -> Option<Followed>,
    ) -> Result<(), RpcError> {
        let uri = request.params.uri.and_then(|raw| string(raw, "params.uri").ok());
        let Some(uri) = uri.map(Arc::<str>::from) else { return Ok(()) };
        let mut uris = self.lock();
        match &*request.method {
            method::RESOURCES_SUBSCRIBE if uris.contains_key(&uri) => {}
            method::RESOURCES_SUBSCRIBE => {
                if uris.len() >= MAX_SUBSCRIBED_URIS {
                    return Err(RpcError::invalid_params(format!(
                        "A session may subscribe to at most {MAX_SUBSCRIBED_URIS} resources."
                    )));
                }
                if !self.quota.take() {
                    return Err(RpcError::invalid_params(
                        "Too many resources are subscribed to; try again later.",
                    ));
                }
                let followed = follow(&uri).unwrap_or(Followed::Itself);
                uris.insert(uri, followed);
            }
            method::RESOURCES_UNSUBSCRIBE if uris.remove(&uri).is_some() => self.quota.give_back(1),
            _ => {}
        }
        Ok(())
    }

    /// Returns the filter for the next change.
    pub fn filter(&self) -> Filter {
        Filter::following(self.lock().iter().map(|(uri, what)| (Arc::clone(uri), what.clone())))
            .with_lists(self.lists)
    }
}

/// The changes of the catalogue that one caller may see.
#[derive(Debug)]
pub struct Feed {
    view: ViewId,
    changes: broadcast::Receiver<Arc<CatalogChanges>>,
    offers: Option<OfferWatch>,
}

/// What changes of the offers a caller hears of, and the versions of their lists that were last reported.
#[derive(Debug)]
struct OfferWatch {
    told: ListVersions,
    now: watch::Receiver<ListVersions>,
    resources: broadcast::Receiver<Arc<str>>,
    /// An open stream must not keep a server alive that is gone.
    offers: WeakOffers,
    caller: Caller,
}

/// A change of the offers.
enum OfferChange {
    Lists(ListVersions, ListVersions),
    /// The resource that changed; none if the listener missed which.
    Resource(Option<Arc<str>>),
}

impl OfferWatch {
    /// Waits for the next change.
    async fn next(&mut self) -> OfferChange {
        tokio::select! {
            Ok(()) = self.now.changed() => {
                let now = *self.now.borrow_and_update();
                OfferChange::Lists(std::mem::replace(&mut self.told, now), now)
            }
            changed = self.resources.recv() => match changed {
                Ok(uri) => OfferChange::Resource(Some(uri)),
                Err(RecvError::Lagged(_)) => OfferChange::Resource(None),
                // The senders are gone, so nothing will change again.
                Err(RecvError::Closed) => std::future::pending().await,
            },
        }
    }

    /// Returns the notifications for a change. A resource that the caller may no longer read is as
    /// unknown to it as one that does not exist.
    fn notifications(&self, filter: &Filter, change: &OfferChange) -> Vec<(&'static str, Value)> {
        match change {
            OfferChange::Lists(old, new) => filter.of_offers(*old, *new),
            OfferChange::Resource(uri) => filter
                .of_resource(uri.as_deref(), |uri| self.offers.has_resource(&self.caller, uri)),
        }
    }
}

impl Feed {
    /// Creates a feed of the changes of a view.
    pub fn new(view: ViewId, changes: broadcast::Receiver<Arc<CatalogChanges>>) -> Self {
        Self { view, changes, offers: None }
    }

    /// Adds to the feed what a caller hears of tools, prompts and resources.
    #[must_use]
    pub fn following(self, offers: &Offers, caller: &Caller) -> Self {
        let mut now = offers.changes().follow();
        let told = *now.borrow_and_update();
        let resources = offers.changes().follow_resources();
        let (offers, caller) = (offers.downgrade(), caller.clone());
        Self { offers: Some(OfferWatch { told, now, resources, offers, caller }), ..self }
    }

    /// Tells whether the feed includes tools and prompts.
    fn follows_offers(&self) -> bool {
        self.offers.is_some()
    }

    /// Waits for changes that `filter` accepts; returns `None` once the catalogue is gone.
    pub async fn next<F: Borrow<Filter>>(
        &mut self,
        filter: impl Fn() -> F,
    ) -> Option<Vec<(&'static str, Value)>> {
        loop {
            let offered = async {
                match &mut self.offers {
                    Some(offers) => offers.next().await,
                    None => std::future::pending().await,
                }
            };
            let change = tokio::select! {
                change = self.changes.recv() => change,
                change = offered => {
                    let Some(offers) = &self.offers else { continue };
                    let found = offers.notifications(filter().borrow(), &change);
                    if found.is_empty() {
                        continue;
                    }
                    return Some(found);
                }
            };
            let found = match change {
                Ok(changes) => match changes.of(self.view) {
                    Some(change) => filter().borrow().notifications(change),
                    None => Vec::new(),
                },
                Err(RecvError::Lagged(_)) => filter().borrow().everything(),
                Err(RecvError::Closed) => return None,
            };
            if !found.is_empty() {
                return Some(found);
            }
        }
    }
}

/// An open `subscriptions/listen` request.
#[derive(Debug)]
pub struct Subscription {
    id: RequestId,
    filter: Filter,
    feed: Feed,
}

impl Subscription {
    /// Opens a subscription to the requested URIs that the caller may see.
    ///
    /// `follow` returns what a URI stands for, if the caller may see it.
    pub fn open(
        request: &Request<'_>,
        follow: impl Fn(&str) -> Option<Followed>,
        feed: Feed,
    ) -> Result<Self, RpcError> {
        let raw = request.params.notifications.ok_or_else(|| {
            RpcError::invalid_params(
                "`params.notifications` is required; it says what to listen for.",
            )
        })?;
        if request.id.as_json().len() > MAX_ID_BYTES {
            let text = format!("A subscription's id may have {MAX_ID_BYTES} bytes at most.");
            return Err(RpcError::new(ErrorCode::InvalidRequest, text));
        }
        let malformed = || RpcError::invalid_params("`params.notifications` is malformed.");
        // serde would accept an array as the members in order.
        if !raw.get().starts_with('{') {
            return Err(malformed());
        }
        let wanted: RequestedFilter = serde_json::from_str(raw.get()).map_err(|_| malformed())?;
        let followed = wanted
            .resource_subscriptions
            .into_iter()
            .filter_map(|uri| follow(&uri).map(|what| (Arc::from(uri), what)))
            .take(MAX_SUBSCRIBED_URIS);
        let filter = Filter {
            list: wanted.resources_list_changed,
            // Without offers, these lists never change.
            tools: wanted.tools_list_changed && feed.follows_offers(),
            prompts: wanted.prompts_list_changed && feed.follows_offers(),
            ..Filter::following(followed)
        };
        Ok(Self { id: request.id.clone(), filter, feed })
    }

    /// Returns the first message, which says what part of the request is honoured.
    pub fn acknowledgment(&self) -> String {
        let mut honoured = serde_json::Map::new();
        let lists = [
            ("resourcesListChanged", self.filter.list),
            ("toolsListChanged", self.filter.tools),
            ("promptsListChanged", self.filter.prompts),
        ];
        for (name, _) in lists.into_iter().filter(|(_, wanted)| *wanted) {
            honoured.insert(name.to_owned(), true.into());
        }
        let others = self.filter.aliases.iter().map(|(uri, _)| uri);
        let mut uris: Vec<_> =
            self.filter.uris.iter().chain(others).map(|uri| Value::from(&**uri)).collect();
        if !uris.is_empty() {
            uris.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
            honoured.insert("resourceSubscriptions".to_owned(), uris.into());
        }
        self.message(method::ACKNOWLEDGED, &json!({ "notifications": honoured }))
    }

    /// Waits for the next messages; returns `None` once the catalogue is gone.
    pub async fn next(&mut self) -> Option<Vec<String>> {
        let filter = &self.filter;
        let found = self.feed.next(|| filter).await?;
        Some(found.into_iter().map(|(method, params)| self.message(method, &params)).collect())
    }

    /// Returns the last message, for a server that ends the subscription in order.
    pub fn completion(&self) -> String {
        let id = self.id.as_json();
        let key = meta::SUBSCRIPTION_ID;
        response(&self.id, &format!(r#"{{"resultType":"complete","_meta":{{"{key}":{id}}}}}"#))
    }

    /// Writes a notification.
    ///
    /// The id is inserted as text, because an integer may be larger than a JSON value can hold.
    fn message(&self, method: &str, params: &Value) -> String {
        let (id, key, params) = (&self.id, meta::SUBSCRIPTION_ID, params.to_string());
        let comma = if params == "{}" { "" } else { "," };
        let rest = &params[1..];
        format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{key}":{id}}}{comma}{rest}}}"#
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillwire_protocol::message::{self, Message};

    use super::*;

    fn note(session: &LegacySubscriptions, method: &str, uri: &str) -> bool {
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "uri": uri } });
        let text = request.to_string();
        let Ok(Message::Request(request)) = message::read(text.as_bytes()) else {
            panic!("{text} is a request");
        };
        session.note(&request, |_| None).is_ok()
    }

    #[test]
    fn a_share_is_a_part_of_the_whole_quota_sec_13() {
        let whole = SubscriptionQuota::new(3);
        let share = SubscriptionQuota::share_of(&whole, 2);
        assert!(share.take() && share.take() && !share.take());
        assert!(whole.take() && !whole.take());
        share.give_back(2);
        assert!(whole.take() && share.take() && !share.take(), "two are free");
        whole.give_back(2);
        assert!(share.take());
    }

    #[test]
    fn sessions_share_a_quota_for_their_subscriptions_v_08() {
        let quota = SubscriptionQuota::new(3);
        let subscribe =
            |session: &LegacySubscriptions, uri| note(session, "resources/subscribe", uri);
        let [one, two] = [(); 2].map(|()| LegacySubscriptions::within(&quota, &[]));
        assert!(subscribe(&one, "a") && subscribe(&one, "b") && subscribe(&two, "a"));
        assert!(!subscribe(&two, "b"), "the quota is used up");
        assert!(subscribe(&two, "a"), "what is there already needs none");
        // Each subscription gives its quota back exactly once.
        assert!(
            note(&two, "resources/unsubscribe", "a") && note(&two, "resources/unsubscribe", "a")
        );
        assert!(subscribe(&two, "b") && !subscribe(&two, "c"));
        drop(one);
        assert!(subscribe(&two, "c") && subscribe(&two, "d") && !subscribe(&two, "e"));
        assert_eq!(two.filter().uris.len(), 3);
    }
}
