//! The upstreams of a hub: each at an address of its own, and all of them beside the hub's own skills.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use skillwire_core::SkillUri;
use skillwire_gateway::{CallAudit, enclosing_skills};
use skillwire_hub::{NamespaceName, Timestamp, Upstream};
use skillwire_hub_store::{HubStore, OfferRecord, StoreError};
use skillwire_hub_upstreams::{FollowedUpstream, MountKind, UpstreamOptions, served_offers};
use skillwire_server::{
    BuildError, Skills,
    http::{ENDPOINT, HttpOptions, HttpService},
};
use skillwire_source::{BoxFuture, CachePolicy, HeldSkills, LookupOutcome, SkillLookup};
use tokio::runtime::Handle;

use crate::{
    allowed::AllowedOffers,
    channel::ServedChannel,
    classes::ChannelClasses,
    health::UpstreamGauges,
    live_sources::{LiveSources, Since},
    mount::{self, Mount, MountPresence, NobodyIsShown},
    offers::OfferMaker,
    options::ServingOptions,
    reads::ReadLog,
    replica::StartError,
    tools::{MountTools, ToolTerms, any_skill, any_skill_of},
    upstream_status::{UpstreamHealth, UpstreamStatus, UpstreamStatuses},
    views::CallerViews,
};

/// The upstreams of now, by label.
type UpstreamTable = BTreeMap<NamespaceName, Arc<ServedUpstream>>;

/// Where the hub's own mount shows skills of upstreams.
pub(crate) struct AggregateSources {
    pub(crate) live: LiveSources,
    pub(crate) stored: HeldSkills,
    pub(crate) classes: ChannelClasses,
    pub(crate) tools: Arc<MountTools>,
}

impl AggregateSources {
    pub(crate) fn new(classes: ChannelClasses, store: HubStore) -> Self {
        let live = LiveSources::new(classes.clone(), store);
        let tools = MountTools::new(MountKind::Aggregate);
        Self { live, stored: HeldSkills::default(), classes, tools }
    }
}

/// One upstream, at its own address.
pub(crate) struct ServedUpstream {
    label: NamespaceName,
    mount: Mount,
    live: LiveSources,
    stored: HeldSkills,
    tools: Arc<MountTools>,
    allowed: Arc<AllowedOffers>,
    upstream: Mutex<Upstream>,
    followed: Mutex<Option<Arc<FollowedUpstream>>>,
    /// The skills that are served from the store.
    held: Mutex<BTreeSet<SkillUri>>,
    /// The tools that each of them names.
    named: Mutex<BTreeMap<SkillUri, Vec<String>>>,
    next_end: Mutex<Option<Timestamp>>,
}

impl ServedUpstream {
    pub(crate) fn mount(&self) -> &Mount {
        &self.mount
    }

    fn followed(&self) -> Option<Arc<FollowedUpstream>> {
        self.followed.lock().clone()
    }
}

/// All upstreams of a hub, on this replica.
pub(crate) struct ServedUpstreams {
    store: HubStore,
    options: ServingOptions,
    reads: Arc<ReadLog>,
    table: Arc<ArcSwap<UpstreamTable>>,
    maker: Option<OfferMaker>,
    /// The runtime on which upstreams are followed. A change may be applied on one that answers clients.
    runtime: Handle,
    health: UpstreamGauges,
    /// Answers for the addresses of upstreams that do not exist, as for one that is hidden from everyone.
    nowhere: OnceLock<Mount>,
}

impl ServedUpstreams {
    pub(crate) fn new(store: HubStore, options: ServingOptions, reads: Arc<ReadLog>) -> Self {
        let maker = options.upstreams.as_ref().map(|upstreams| OfferMaker {
            store: store.clone(),
            signer: options.signer.clone(),
            gateway: upstreams.gateway().clone(),
            hub: options.config.identity.name.clone(),
        });
        let runtime = Handle::current();
        let health = UpstreamGauges::new(&options.metrics);
        let (table, nowhere) = (Arc::default(), OnceLock::new());
        Self { store, options, reads, table, maker, runtime, health, nowhere }
    }

    /// The service at the address of an upstream. One that does not exist answers as one that is hidden from
    /// the caller, so that labels cannot be guessed.
    pub(crate) fn http(&self, label: &str) -> Option<HttpService> {
        if let Some(served) = self.get(label) {
            return Some(served.mount.http().clone());
        }
        let label = NamespaceName::parse(label).ok()?;
        let http = self.http_at(&path_of(&label)).presence(Arc::new(NobodyIsShown));
        Some(self.nowhere.get()?.skills().http_service(http))
    }

    /// The mount that is none, whose callers change as those of others do.
    pub(crate) fn nowhere(&self) -> Option<&Mount> {
        self.nowhere.get()
    }

    fn http_at(&self, path: &str) -> HttpOptions {
        self.options.http.clone().protected(self.options.protected(path))
    }

    fn start_nowhere(&self, views: &CallerViews) -> Result<(), BuildError> {
        if self.nowhere.get().is_some() {
            return Ok(());
        }
        let _entered = self.runtime.enter();
        let path = format!("{ENDPOINT}/u/");
        let classes = mount::classes(views, self.store.now(), None);
        let metrics = self.options.metrics.mount(&path);
        let builder = Skills::builder().config(self.options.config.clone()).metrics(metrics);
        let (http, shown) = (self.http_at(&path), MountPresence::Nobody);
        let mount = Mount::start(builder, http, classes, views, &self.reads, None, shown)?;
        // Only one task follows the database.
        let _ = self.nowhere.set(mount);
        Ok(())
    }

    /// The upstream with this label.
    pub(crate) fn get(&self, label: &str) -> Option<Arc<ServedUpstream>> {
        let label = NamespaceName::parse(label).ok()?;
        self.table.load().get(&label).map(Arc::clone)
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServedUpstream>> {
        self.table.load().values().cloned().collect()
    }

    /// Writes into the metrics how each upstream is doing.
    pub(crate) fn measure(&self) {
        for label in self.table.load().keys() {
            if let Some(status) = self.status(label) {
                self.health.set(label, &status);
            }
        }
    }

    /// Finds skills that upstreams do not list, for one mount.
    pub(crate) fn lookup(
        &self,
        mount: MountKind,
        of: Option<NamespaceName>,
    ) -> Arc<dyn SkillLookup> {
        Arc::new(UpstreamLookup { table: Arc::clone(&self.table), mount, of })
    }

    /// Follows the upstreams of now, as they are set now.
    pub(crate) async fn sync(
        &self,
        views: &CallerViews,
        latest: &ServedChannel,
    ) -> Result<(), StartError> {
        let (Some(options), Some(shown)) = (&self.options.upstreams, latest.aggregate()) else {
            return Ok(());
        };
        self.start_nowhere(views)?;
        let records = self.store.all_upstreams().await?;
        let labels: BTreeSet<NamespaceName> =
            records.iter().map(|record| record.upstream.label.clone()).collect();
        for gone in self.all().iter().filter(|known| !labels.contains(&known.label)) {
            self.remove(gone, shown);
        }
        for record in records {
            let upstream = record.upstream;
            let known = self.table.load().get(&upstream.label).cloned();
            let served = match known {
                Some(served) => served,
                None => self.add(&upstream, views)?,
            };
            self.follow(&served, upstream, options, shown).await?;
            self.load(&served, None, shown).await?;
        }
        Ok(())
    }

    /// Follows an upstream with new settings; one with another source is followed anew.
    async fn follow(
        &self,
        served: &ServedUpstream,
        upstream: Upstream,
        options: &UpstreamOptions,
        shown: &AggregateSources,
    ) -> Result<(), StoreError> {
        let seen = match served.followed() {
            // Its skills are known already.
            Some(followed) if !followed.change(&upstream) => None,
            _ => Some(self.store.observations(&upstream.label).await?),
        };
        if let Some(seen) = seen {
            let since = |mount: MountKind| -> Since {
                let uris = mount.uris(&upstream.label);
                let each = seen.iter().filter_map(|(uri, seen)| {
                    let uri = uris.as_ref()?.passed_on_skill(uri)?;
                    Some((uri, (seen.listed.content, seen.since)))
                });
                each.collect()
            };
            let _entered = self.runtime.enter();
            let followed = FollowedUpstream::start(upstream.clone(), self.store.clone(), options);
            served.live.add(&served.label, followed.source(MountKind::Own), since(MountKind::Own));
            let aggregate = followed.source(MountKind::Aggregate);
            shown.live.add(&served.label, aggregate, since(MountKind::Aggregate));
            *served.followed.lock() = Some(Arc::new(followed));
        }
        // Policies decide who sees skills of the upstream at all, and so its tools and its address.
        for classes in [served.mount.classes(), &shown.classes] {
            if let (Some(uri), Some(known)) = (any_skill_of(&upstream.label), any_skill(&upstream))
            {
                classes.know(&uri, known, []);
            }
        }
        *served.upstream.lock() = upstream;
        Ok(())
    }

    fn add(
        &self,
        upstream: &Upstream,
        views: &CallerViews,
    ) -> Result<Arc<ServedUpstream>, StartError> {
        let _entered = self.runtime.enter();
        let label = upstream.label.clone();
        let classes = mount::classes(views, self.store.now(), Some(label.clone()));
        let (live, stored) =
            (LiveSources::new(classes.clone(), self.store.clone()), HeldSkills::default());
        let path = path_of(&label);
        let builder = Skills::builder()
            .config(self.options.config.clone())
            .metrics(self.options.metrics.mount(&path))
            .source(live.clone())
            .source(stored.clone())
            .lookup(self.lookup(MountKind::Own, Some(label.clone())));
        let http = self.http_at(&path);
        let tools = MountTools::new(MountKind::Own);
        let offers = tools.offers(self.options.offers.clone());
        let shown = any_skill_of(&label).map_or(MountPresence::Everyone, MountPresence::WhoSees);
        let mount = Mount::start(builder, http, classes, views, &self.reads, Some(offers), shown)?;
        let served = Arc::new(ServedUpstream {
            label: label.clone(),
            mount,
            live,
            stored,
            tools,
            allowed: Arc::default(),
            upstream: Mutex::new(upstream.clone()),
            followed: Mutex::default(),
            held: Mutex::default(),
            named: Mutex::default(),
            next_end: Mutex::default(),
        });
        let mut table = UpstreamTable::clone(&self.table.load());
        table.insert(label, Arc::clone(&served));
        self.table.store(Arc::new(table));
        Ok(served)
    }

    /// Passes on what the operator names, and the tools that skills name which are approved and served.
    fn show_tools(&self, served: &ServedUpstream, shown: &AggregateSources) {
        let _entered = self.runtime.enter();
        let label = &served.label;
        let renamed = {
            let (upstream, named) = (served.upstream.lock().clone(), served.named.lock());
            served.allowed.replace(&upstream, &named, &served.held.lock())
        };
        let mounts = [&served.tools, &shown.tools];
        let Some(followed) = served.followed().filter(|_| !served.allowed.is_empty()) else {
            return mounts.into_iter().for_each(|mount| mount.hide(label));
        };
        let audit = Arc::clone(self.reads.calls()) as Arc<dyn CallAudit>;
        let allowed = &served.allowed;
        let terms = ToolTerms { followed: &followed, allowed, renamed, audit: &audit };
        for mount in mounts {
            mount.show(label, &terms);
        }
    }

    fn remove(&self, served: &ServedUpstream, shown: &AggregateSources) {
        let mut table = UpstreamTable::clone(&self.table.load());
        table.remove(&served.label);
        self.table.store(Arc::new(table));
        shown.live.remove(&served.label);
        for mount in [&served.tools, &shown.tools] {
            mount.hide(&served.label);
        }
        self.health.forget(&served.label);
        let held = std::mem::take(&mut *served.held.lock());
        shown.stored.set(held.iter().map(|uri| (key(&served.label, uri), None)));
        served.mount.http().stop();
    }

    /// Loads what is served from the store: of these skills, or of all.
    async fn load(
        &self,
        served: &ServedUpstream,
        uris: Option<&BTreeSet<SkillUri>>,
        shown: &AggregateSources,
    ) -> Result<(), StoreError> {
        let Some(maker) = &self.maker else { return Ok(()) };
        let mode = served.upstream.lock().mode;
        // What is decided about a skill decides about those around it, too.
        let uris = uris.map(|uris| {
            uris.iter().flat_map(|uri| enclosing_skills(uri.as_str())).collect::<BTreeSet<_>>()
        });
        let mut offers = Vec::new();
        if mode.is_reviewed() {
            match &uris {
                None => offers = self.store.offers_of(&served.label, None).await?,
                Some(uris) => {
                    for uri in uris {
                        offers.extend(self.store.offers_of(&served.label, Some(uri)).await?);
                    }
                }
            }
        }
        let chosen = served_offers(&self.store, offers, mode).await?;
        let looked_at = uris.clone().unwrap_or_else(|| served.held.lock().clone());
        for (mount, source, classes) in [
            (MountKind::Own, &served.stored, served.mount.classes()),
            (MountKind::Aggregate, &shown.stored, &shown.classes),
        ] {
            let present = chosen.skills.values().map(|offer| {
                (key(&served.label, &offer.skill.uri), maker.make(offer, mode, mount, classes))
            });
            let gone = looked_at.iter().filter(|uri| !chosen.skills.contains_key(*uri));
            let gone = gone.map(|uri| (key(&served.label, uri), None));
            let changes: Vec<_> = present.chain(gone).collect();
            source.set(changes);
        }
        {
            let mut held = served.held.lock();
            held.retain(|uri| !looked_at.contains(uri));
            held.extend(chosen.skills.keys().cloned());
        }
        {
            let mut named = served.named.lock();
            named.retain(|uri, _| !looked_at.contains(uri));
            let tools = |offer: &OfferRecord| {
                offer.facts.requested_tools().map(str::to_owned).collect::<Vec<_>>()
            };
            named.extend(chosen.skills.iter().map(|(uri, offer)| (uri.clone(), tools(offer))));
            named.retain(|_, tools| !tools.is_empty());
        }
        self.show_tools(served, shown);
        {
            let mut next_end = served.next_end.lock();
            *next_end = match uris {
                None => chosen.next_end,
                Some(_) => [*next_end, chosen.next_end].into_iter().flatten().min(),
            };
        }
        served.mount.refresh().await;
        Ok(())
    }

    /// Loads what is served of skills whose offers or decisions changed.
    pub(crate) async fn update(
        &self,
        changed: &BTreeMap<NamespaceName, BTreeSet<SkillUri>>,
        latest: &ServedChannel,
    ) -> Result<(), StoreError> {
        let Some(shown) = latest.aggregate() else { return Ok(()) };
        for (label, uris) in changed {
            let served = self.table.load().get(label).cloned();
            if let Some(served) = served {
                self.load(&served, Some(uris), shown).await?;
            }
        }
        Ok(())
    }

    /// Loads everything that is served of upstreams whose approvals ended, or of all upstreams. Tells
    /// whether there was any.
    pub(crate) async fn reload(
        &self,
        everything: bool,
        latest: &ServedChannel,
    ) -> Result<bool, StoreError> {
        let Some(shown) = latest.aggregate() else { return Ok(false) };
        let now = self.store.now();
        let mut any = false;
        for served in self.all() {
            let ended = served.next_end.lock().is_some_and(|end| end <= now);
            if ended || everything {
                self.load(&served, None, shown).await?;
                any = true;
            }
        }
        Ok(any)
    }
}

impl UpstreamStatuses for ServedUpstreams {
    fn status(&self, label: &NamespaceName) -> Option<UpstreamStatus> {
        let standing = self.table.load().get(label)?.followed()?.standing();
        let health = match (&standing.failure, standing.listed_at) {
            _ if standing.is_paused => UpstreamHealth::Paused,
            (Some(_), _) => UpstreamHealth::Failing,
            (None, None) => UpstreamHealth::Starting,
            (None, Some(_)) => UpstreamHealth::Answering,
        };
        let millis = |at: std::time::SystemTime| {
            let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        };
        Some(UpstreamStatus {
            health,
            listed_at: standing.listed_at.map(millis),
            skills: standing.skills,
            failure: standing.failure,
            unfetched: standing.unfetched,
            unfetched_skills: standing.unfetched_skills,
        })
    }
}

/// The address of an upstream.
fn path_of(label: &NamespaceName) -> String {
    format!("{ENDPOINT}/u/{label}")
}

/// The key of a skill among those that are served from the store.
fn key(label: &NamespaceName, uri: &SkillUri) -> String {
    format!("{label}:{uri}")
}

/// Finds skills that upstreams do not list.
struct UpstreamLookup {
    table: Arc<ArcSwap<UpstreamTable>>,
    mount: MountKind,
    /// The upstream whose address this is for; none for the mount of the whole hub.
    of: Option<NamespaceName>,
}

impl std::fmt::Debug for UpstreamLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamLookup").field("mount", &self.mount).finish_non_exhaustive()
    }
}

impl UpstreamLookup {
    fn upstreams(&self) -> Vec<Arc<ServedUpstream>> {
        let table = self.table.load();
        match &self.of {
            Some(label) => table.get(label).cloned().into_iter().collect(),
            None => table.values().cloned().collect(),
        }
    }
}

impl SkillLookup for UpstreamLookup {
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri> {
        if self.of.is_some() {
            return Vec::new();
        }
        let mapped = self
            .upstreams()
            .into_iter()
            .filter_map(|served| self.mount.uris(&served.label)?.passed_on_skill(uri));
        mapped.collect()
    }

    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        self.upstreams().iter().find_map(|served| served.followed()?.look_up(self.mount, uri))
    }

    fn cache_policy(&self) -> CachePolicy {
        let followed = self.upstreams().into_iter().filter_map(|served| served.followed());
        CachePolicy::strictest(followed.map(|followed| followed.cache_policy()))
    }
}
