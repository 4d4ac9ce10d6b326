//! Follows what the hub's database says, and serves it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use arc_swap::ArcSwap;
use skillwire_core::SkillUri;
use skillwire_hub::{ChannelName, HubChange, NamespaceName, OutboxEvent, SkillId, Timestamp};
use skillwire_hub_store::{HubStore, StoreError};
use skillwire_hub_upstreams::UpstreamOptions;
use skillwire_server::{
    BuildError, Catalog, Config, Metrics,
    http::{ENDPOINT, HttpOptions, ProtectedResource},
    offer::{DuplicateTool, Offers},
};
use tokio::sync::{Mutex, RwLock, watch};

use crate::{access::AccessHandle, signing::DecisionSigner};

use super::{
    calls::CallLog,
    channel::ServedChannel,
    freshness::Freshness,
    mount::Mount,
    reads::{ReadLog, RecordedReads, subject_of},
    upstreams::ServedUpstreams,
    views::CallerViews,
};

/// Makes the tools of one channel from its catalogue.
pub type MakeOffers = Arc<dyn Fn(&Arc<Catalog>) -> Result<Offers, DuplicateTool> + Send + Sync>;

/// How often skills grow older, where a policy asks for their age.
const AGING: Duration = Duration::from_mins(1);

/// The most events that are read at once.
const EVENTS: u32 = 1_000;

/// How a hub is served.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServingOptions {
    /// How requests are answered.
    pub config: Config,
    /// Which hosts are accepted, and other options of HTTP.
    pub http: HttpOptions,
    /// How long a replica that lost the database goes on serving.
    pub stale_limit: Duration,
    /// How often the database is asked for changes.
    pub poll: Duration,
    /// The tools that each channel offers.
    pub offers: Option<MakeOffers>,
    /// Which reads are written to the audit log.
    pub reads: RecordedReads,
    /// Who is admitted and what decides.
    pub access: AccessHandle,
    /// What the hub signs with.
    pub signer: DecisionSigner,
    /// How upstreams are followed; without it, their skills are not served.
    pub upstreams: Option<UpstreamOptions>,
    /// The address of the hub as clients write it, without a path.
    pub url: Option<String>,
    /// The metrics of the hub; each mount has its own among them.
    pub metrics: Arc<Metrics>,
    /// The issuers that clients are told of, by all mounts.
    pub(crate) protected: ProtectedResource,
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            config: Config::default(),
            http: HttpOptions::default(),
            stale_limit: Duration::from_mins(5),
            poll: Duration::from_millis(250),
            offers: None,
            reads: RecordedReads::default(),
            access: AccessHandle::default(),
            signer: DecisionSigner::default(),
            upstreams: None,
            url: None,
            metrics: Arc::default(),
            protected: ProtectedResource::new([]),
        }
    }
}

impl ServingOptions {
    /// Sets how requests are answered.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the options of HTTP.
    #[must_use]
    pub fn http(mut self, mut http: HttpOptions) -> Self {
        // One subject may have several tokens, and each mount its own table of them.
        http.rate = http.rate.by_subject(subject_of);
        self.http = http;
        self
    }

    /// Sets how long a replica that lost the database goes on serving.
    #[must_use]
    pub fn stale_limit(mut self, limit: Duration) -> Self {
        self.stale_limit = limit;
        self
    }

    /// Sets how often the database is asked for changes.
    #[must_use]
    pub fn poll(mut self, time: Duration) -> Self {
        self.poll = time;
        self
    }

    /// Sets the tools that each channel offers.
    #[must_use]
    pub fn offers(mut self, make: MakeOffers) -> Self {
        self.offers = Some(make);
        self
    }

    /// Sets who is admitted and what decides.
    #[must_use]
    pub fn access(mut self, access: AccessHandle) -> Self {
        self.protected.replace_issuers(access.now().issuer_names());
        self.access = access;
        self
    }

    /// Sets what the hub signs with.
    #[must_use]
    pub fn signer(mut self, signer: DecisionSigner) -> Self {
        self.signer = signer;
        self
    }

    /// Sets how upstreams are followed.
    #[must_use]
    pub fn upstreams(mut self, upstreams: UpstreamOptions) -> Self {
        self.upstreams = Some(upstreams);
        self
    }

    /// Sets the address of the hub as clients write it, without a path.
    #[must_use]
    pub fn url(mut self, url: Option<String>) -> Self {
        self.url = url.map(|url| url.trim_end_matches('/').to_owned());
        self
    }

    /// Describes what is reached at a path, for clients that need a token.
    pub(crate) fn protected(&self, path: &str) -> ProtectedResource {
        let url = self.url.as_ref().map(|url| format!("{url}{path}"));
        self.protected.clone().path(path).url(url)
    }

    /// The options of HTTP for a channel.
    pub(crate) fn http_of(&self, channel: &ChannelName) -> HttpOptions {
        self.http.clone().protected(self.protected(&mount_of(channel)))
    }

    /// The metrics of a channel, which are written with those of all others.
    pub(crate) fn metrics_of(&self, channel: &ChannelName) -> Arc<Metrics> {
        self.metrics.mount(&mount_of(channel))
    }

    /// Sets the metrics in which the hub counts.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets which reads are written to the audit log.
    #[must_use]
    pub fn reads(mut self, reads: RecordedReads) -> Self {
        self.reads = reads;
        self
    }
}

/// The path of a channel.
fn mount_of(channel: &ChannelName) -> String {
    if *channel == ChannelName::latest() {
        ENDPOINT.to_owned()
    } else {
        format!("{ENDPOINT}/c/{channel}")
    }
}

impl std::fmt::Debug for ServingOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingOptions")
            .field("stale_limit", &self.stale_limit)
            .finish_non_exhaustive()
    }
}

/// Why a replica could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store could not be read.
    #[error("The hub's records could not be read")]
    Store(#[from] StoreError),
    /// A server could not be made.
    #[error("The server of a channel could not be made")]
    Build(#[from] BuildError),
}

type Channels = BTreeMap<ChannelName, Arc<ServedChannel>>;

/// One process that serves a hub.
///
/// It holds what every channel serves in memory and follows the numbered changes of the database. A
/// change says only what to load again, so that applying one twice does no harm.
pub(crate) struct Replica {
    store: HubStore,
    options: ServingOptions,
    channels: ArcSwap<Channels>,
    freshness: Freshness,
    /// Held exclusively while changes are applied; see `PinnedVersions`.
    applying: Arc<RwLock<()>>,
    followed: Mutex<Followed>,
    reads: Arc<ReadLog>,
    /// Tells the number of the last applied change.
    applied: watch::Sender<u64>,
    upstreams: Arc<ServedUpstreams>,
}

/// What the replica has applied.
#[derive(Debug)]
struct Followed {
    /// The number of the last change.
    position: u64,
    /// Whether a change could not be applied, so that everything has to be loaded again.
    incomplete: bool,
    /// When the first token ends.
    next_end: Option<Timestamp>,
    /// The period in which decisions were signed last.
    signed: u64,
    /// When skills last grew older.
    aged: Instant,
}

/// What a batch of changes makes necessary.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of work of its own")]
struct Work {
    everything: bool,
    callers: bool,
    /// The skills to load again: in one channel, or in all of them.
    moved: BTreeMap<ChannelName, BTreeSet<SkillId>>,
    changed: BTreeSet<SkillId>,
    /// Whether upstreams were added, changed or removed.
    upstreams: bool,
    /// Whether every content of upstreams has to be looked at again.
    revoked: bool,
    /// The skills of upstreams whose offers or decisions changed.
    offers: BTreeMap<NamespaceName, BTreeSet<SkillUri>>,
}

impl Work {
    fn of(events: &[OutboxEvent]) -> Self {
        let mut work = Self::default();
        for event in events {
            match &event.change {
                // A new version is served only once a channel points to it. Of a content that is revoked,
                // each version has a change of its own.
                HubChange::VersionPublished { .. } | HubChange::Decided { .. } => {}
                HubChange::ContentRevoked { .. } => work.revoked = true,
                HubChange::UpstreamChanged { .. } => work.upstreams = true,
                HubChange::OffersChanged { upstream, skills } => {
                    let uris = skills.iter().filter_map(|uri| SkillUri::parse(uri).ok());
                    work.offers.entry(upstream.clone()).or_default().extend(uris);
                }
                HubChange::ChannelMoved { skill, channel, .. } => {
                    work.moved.entry(channel.clone()).or_default().insert(skill.clone());
                }
                HubChange::VersionChanged { skill, .. }
                | HubChange::VersionPurged { skill, .. } => {
                    work.changed.insert(skill.clone());
                }
                HubChange::NamespaceChanged { .. } | HubChange::TokenChanged { .. } => {
                    work.callers = true;
                }
                _ => work.everything = true,
            }
        }
        work
    }
}

impl Replica {
    /// Loads everything that is served.
    #[tracing::instrument(skip_all)]
    pub(crate) async fn start(
        store: HubStore,
        options: ServingOptions,
    ) -> Result<Arc<Self>, StartError> {
        let asked = Instant::now();
        // The position is read first. Changes that are made while everything is loaded are applied
        // again, which does no harm.
        let position = store.outbox_head().await?;
        let views = views(&store, &options.access).await?;
        let freshness = Freshness::new(options.stale_limit, options.poll);
        let next_end = views.next_end;
        let signed = options.signer.period(SystemTime::now());
        let calls = Arc::new(CallLog::new(store.clone(), &options.metrics));
        let reads = Arc::new(ReadLog::new(store.clone(), options.reads, calls));
        let upstreams = ServedUpstreams::new(store.clone(), options.clone(), Arc::clone(&reads));
        let replica = Arc::new(Self {
            reads,
            applied: watch::Sender::new(position),
            upstreams: Arc::new(upstreams),
            store,
            options,
            channels: ArcSwap::default(),
            freshness,
            applying: Arc::default(),
            followed: Mutex::new(Followed {
                position,
                incomplete: false,
                next_end,
                signed,
                aged: asked,
            }),
        });
        let mut names = replica.store.channel_names().await?;
        names.push(ChannelName::latest());
        for name in names {
            replica.add_channel(&name, &views).await?;
        }
        replica.upstreams.sync(&views, &replica.latest()).await?;
        replica.latest().mount().refresh().await;
        replica.freshness.knew_everything(asked);
        Ok(replica)
    }

    /// The channel with this name.
    pub(crate) fn channel(&self, name: &str) -> Option<Arc<ServedChannel>> {
        let name = ChannelName::parse(name).ok()?;
        self.channels.load().get(&name).map(Arc::clone)
    }

    /// The channel that clients get if they name none.
    pub(crate) fn latest(&self) -> Arc<ServedChannel> {
        Arc::clone(&self.channels.load()[&ChannelName::latest()])
    }

    pub(crate) fn channels(&self) -> Arc<Channels> {
        self.channels.load_full()
    }

    pub(crate) fn freshness(&self) -> &Freshness {
        &self.freshness
    }

    /// Follows the number of the last change that was applied.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    pub(crate) fn upstreams(&self) -> &Arc<ServedUpstreams> {
        &self.upstreams
    }

    pub(crate) fn reads(&self) -> &Arc<ReadLog> {
        &self.reads
    }

    /// Follows the database for ever: when it tells of a change, and at least every `poll`.
    pub(crate) async fn follow(&self) {
        let mut hints = self.store.hints().await;
        loop {
            hints.wait(self.options.poll).await;
            self.upstreams.measure();
            match self.catch_up().await {
                Ok(()) => {}
                Err(error) => {
                    if self.freshness.lost() {
                        tracing::error!(%error, "the hub's database cannot be reached");
                    }
                }
            }
        }
    }

    /// Applies every change that was made until now.
    ///
    /// The request that made a change calls this before it is acknowledged, so that its caller finds
    /// it served here.
    pub(crate) async fn catch_up(&self) -> Result<(), StartError> {
        let mut followed = self.followed.lock().await;
        loop {
            let asked = Instant::now();
            let page = self.store.outbox_after(followed.position, EVENTS).await?;
            let ended = followed.next_end.is_some_and(|end| end <= self.store.now());
            let mut work = Work::of(&page.events);
            let period = self.options.signer.period(SystemTime::now());
            if self.options.signer.signs() && period != followed.signed {
                // Decisions are signed anew well before the last ones end.
                work.everything = true;
                followed.signed = period;
            }
            if followed.aged.elapsed() >= AGING {
                followed.aged = asked;
                let now = self.store.now();
                self.each_mount(|mount| mount.grow_older(now));
            }
            work.callers |= ended;
            work.everything |= page.gap || followed.incomplete;
            if work.everything {
                followed.position = page.head;
            } else if let Some(last) = page.events.last() {
                followed.position = last.number;
            }
            followed.incomplete = true;
            self.store.forget_erased((!page.gap).then_some(page.events.as_slice())).await?;
            self.apply(&work, &mut followed).await?;
            followed.incomplete = false;
            let position = followed.position;
            self.applied
                .send_if_modified(|applied| std::mem::replace(applied, position) != position);
            if page.events.is_empty() || followed.position >= page.head {
                if !self.freshness.is_reachable() {
                    tracing::info!("the hub's database can be reached again");
                }
                self.freshness.knew_everything(asked);
                return Ok(());
            }
        }
    }

    async fn apply(&self, work: &Work, followed: &mut Followed) -> Result<(), StartError> {
        if work.callers || work.everything {
            let views = self.views().await?;
            followed.next_end = views.next_end;
            self.each_mount(|mount| mount.replace_callers(&views));
        }
        if work.everything {
            let views = self.views().await?;
            let _applying = self.applying.write().await;
            for name in self.store.channel_names().await? {
                self.add_channel(&name, &views).await?;
            }
            for channel in self.channels().values() {
                channel.load().await?;
            }
            self.upstreams.sync(&views, &self.latest()).await?;
            self.latest().mount().refresh().await;
            return Ok(());
        }
        self.apply_upstreams(work).await?;
        for name in work.moved.keys() {
            if !self.channels.load().contains_key(name) {
                self.add_channel(name, &self.views().await?).await?;
            }
        }
        if work.changed.is_empty() && work.moved.is_empty() {
            return Ok(());
        }
        let _applying = self.applying.write().await;
        for (name, channel) in &*self.channels() {
            let moved = work.moved.get(name);
            let skills: BTreeSet<&SkillId> =
                work.changed.iter().chain(moved.into_iter().flatten()).collect();
            for skill in &work.changed {
                channel.forget_pinned(skill);
            }
            if !skills.is_empty() {
                channel.update(skills).await?;
                channel.mount().refresh().await;
            }
        }
        Ok(())
    }

    /// Applies what changed about upstreams and their skills.
    async fn apply_upstreams(&self, work: &Work) -> Result<(), StartError> {
        let latest = self.latest();
        if work.upstreams {
            self.upstreams.sync(&self.views().await?, &latest).await?;
        } else {
            self.upstreams.update(&work.offers, &latest).await?;
        }
        let reloaded = self.upstreams.reload(work.revoked, &latest).await?;
        if work.upstreams || reloaded || !work.offers.is_empty() {
            latest.mount().refresh().await;
        }
        Ok(())
    }

    /// Does something with the mount of each channel and each upstream.
    fn each_mount(&self, mut action: impl FnMut(&Mount)) {
        self.channels().values().for_each(|channel| action(channel.mount()));
        self.upstreams.all().iter().for_each(|upstream| action(upstream.mount()));
    }

    /// Looks at the configuration again: issuers, groups, roles, blocked subjects and the policy. What it
    /// allows is shown before this returns.
    pub(crate) async fn reload_access(&self) -> Result<(), StartError> {
        let mut followed = self.followed.lock().await;
        let views = self.views().await?;
        followed.next_end = views.next_end;
        self.options.protected.replace_issuers(views.access.now().issuer_names());
        let _applying = self.applying.write().await;
        let now = self.store.now();
        self.each_mount(|mount| {
            tokio::task::block_in_place(|| {
                mount.replace_policy(&views, now);
                mount.replace_callers(&views);
            });
        });
        Ok(())
    }

    /// Loads everything again, because the hub signs with other keys.
    pub(crate) async fn reload_keys(&self) -> Result<(), StartError> {
        self.followed.lock().await.incomplete = true;
        self.catch_up().await
    }

    /// Reads who may see what.
    async fn views(&self) -> Result<CallerViews, StoreError> {
        views(&self.store, &self.options.access).await
    }

    /// Begins to serve a channel, unless it is served already.
    async fn add_channel(&self, name: &ChannelName, views: &CallerViews) -> Result<(), StartError> {
        if self.channels.load().contains_key(name) {
            return Ok(());
        }
        let channel = ServedChannel::start(
            name.clone(),
            self.store.clone(),
            &self.applying,
            &self.options,
            views,
            &self.reads,
            &self.upstreams,
        )?;
        channel.load().await?;
        let mut channels = Channels::clone(&self.channels.load());
        channels.insert(name.clone(), Arc::new(channel));
        self.channels.store(Arc::new(channels));
        Ok(())
    }
}

/// Reads who may see what.
async fn views(store: &HubStore, access: &AccessHandle) -> Result<CallerViews, StoreError> {
    let (tokens, namespaces) = (store.all_tokens().await?, store.all_namespaces().await?);
    Ok(CallerViews::new(&tokens, namespaces, store.now(), access))
}
