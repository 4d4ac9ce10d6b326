//! Follows what the hub's database says, and serves it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use arc_swap::ArcSwap;
use skillwire_core::{ContentId, RelPath, SkillUri};
use skillwire_hub::{
    Caller, ChannelName, HubChange, NamespaceName, OutboxEvent, SkillId, Timestamp, VersionRef,
};
use skillwire_hub_store::{HubStore, StoreError};
use skillwire_server::{BuildError, Catalog, VisibleSkills, http::HttpService};
use tokio::sync::{Mutex, RwLock, watch};

use crate::{
    access::AccessHandle,
    calls::CallLog,
    channel::ServedChannel,
    freshness::Freshness,
    mount::Mount,
    options::ServingOptions,
    reads::ReadLog,
    upstream_status::UpstreamStatuses,
    upstreams::ServedUpstreams,
    views::{CallerSight, CallerViews},
};

/// How often skills grow older, where a policy asks for their age.
const AGING: Duration = Duration::from_mins(1);

/// How long a replica that stops tries to write the last reads, and how long it waits in between.
const LAST_WRITE: Duration = Duration::from_secs(5);
const WRITE_AGAIN: Duration = Duration::from_millis(20);

/// The most events that are read at once.
const EVENTS: u32 = 1_000;

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
pub struct Replica {
    store: HubStore,
    options: ServingOptions,
    channels: ArcSwap<Channels>,
    freshness: Arc<Freshness>,
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
    pub async fn start(store: HubStore, options: ServingOptions) -> Result<Arc<Self>, StartError> {
        let asked = Instant::now();
        // The position is read first. Changes that are made while everything is loaded are applied
        // again, which does no harm.
        let position = store.outbox_head().await?;
        let views = views(&store, &options.access).await?;
        let freshness = Arc::new(Freshness::new(options.stale_limit, options.poll));
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

    /// How many skills the channel has that clients get if they name none.
    pub fn skill_count(&self) -> usize {
        self.latest().mount().skills().count()
    }

    /// The service of the channel that clients get if they name none.
    pub fn latest_service(&self) -> HttpService {
        self.latest().mount().http().clone()
    }

    /// The service of a channel.
    pub fn channel_service(&self, name: &str) -> Option<HttpService> {
        Some(self.channel(name)?.mount().http().clone())
    }

    /// The service of an upstream's own address.
    pub fn upstream_service(&self, label: &str) -> Option<HttpService> {
        self.upstreams.http(label)
    }

    /// Ends what waits in the services of all channels and upstreams.
    pub fn stop(&self) {
        self.channels().values().for_each(|channel| channel.mount().http().stop());
        self.upstreams.all().iter().for_each(|upstream| upstream.mount().http().stop());
    }

    /// The catalogue of the channel that clients get if they name none.
    pub fn catalogue(&self) -> Arc<Catalog> {
        Arc::clone(self.latest().mount().skills().engine().catalog())
    }

    /// The skills of that catalogue that callers with some sight see.
    pub fn visible(&self, sight: &CallerSight) -> VisibleSkills {
        self.latest().mount().visible(sight)
    }

    /// How the upstreams are doing that this replica follows.
    pub fn upstream_statuses(&self) -> Arc<dyn UpstreamStatuses> {
        Arc::clone(&self.upstreams) as Arc<dyn UpstreamStatuses>
    }

    /// Whether this replica still knows what its database holds.
    pub fn freshness(&self) -> &Freshness {
        &self.freshness
    }

    /// Follows the number of the last change that was applied.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    #[cfg(test)]
    pub(crate) fn applying(&self) -> &RwLock<()> {
        &self.applying
    }

    /// Records that a caller read a file of a version, outside the mounts.
    pub fn note_read(
        &self,
        caller: &Caller,
        version: &VersionRef,
        content: ContentId,
        path: &RelPath,
    ) {
        self.reads.version_read(caller.subject.as_str(), version, content, path);
    }

    /// Follows the database, and writes reads to its log, for as long as the returned task runs.
    pub fn follow(self: Arc<Self>) -> Following {
        let (reads, skills) = (Arc::clone(&self.reads), self.skill_count());
        let task = tokio::spawn(async move {
            tokio::join!(self.keep_up(), self.reads.write_for_ever());
        });
        Following { task, reads, skills }
    }

    /// Follows the database for ever: when it tells of a change, and at least every `poll`.
    async fn keep_up(&self) {
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
    pub async fn catch_up(&self) -> Result<(), StartError> {
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
        self.upstreams.nowhere().into_iter().for_each(action);
    }

    /// Looks at the configuration again: issuers, groups, roles, blocked subjects and the policy. What it
    /// allows is shown before this returns.
    pub async fn reload_access(&self) -> Result<(), StartError> {
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
    pub async fn reload_keys(&self) -> Result<(), StartError> {
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
            (&self.applying, &self.freshness),
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

/// The task that follows the database; dropping this ends it.
pub struct Following {
    task: tokio::task::JoinHandle<()>,
    reads: Arc<ReadLog>,
    skills: usize,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following").field("skills", &self.skills).finish_non_exhaustive()
    }
}

impl Following {
    /// How many skills the channel `latest` had at the start.
    pub fn skills(&self) -> usize {
        self.skills
    }

    /// Ends the task, and writes the reads that were not written yet.
    pub async fn stop(mut self) {
        let quiet = self.reads.between_writes().await;
        self.task.abort();
        // The task may be running. Once it could write again, it would take the last reads with it.
        let _ = (&mut self.task).await;
        drop(quiet);
        let until = Instant::now() + LAST_WRITE;
        while let Err(error) = self.reads.flush().await {
            if Instant::now() >= until {
                tracing::warn!(%error, "the last reads could not be written to the audit log");
                return;
            }
            // The threads that served have ended, and with them connections to the database that were made
            // there. Each attempt finds one of these, until there are none.
            tracing::debug!(%error, "the last reads are written again");
            tokio::time::sleep(WRITE_AGAIN).await;
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads who may see what.
async fn views(store: &HubStore, access: &AccessHandle) -> Result<CallerViews, StoreError> {
    let (tokens, namespaces) = (store.all_tokens().await?, store.all_namespaces().await?);
    Ok(CallerViews::new(&tokens, namespaces, store.now(), access))
}
