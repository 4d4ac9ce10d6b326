//! One upstream of a hub, followed by this replica.

use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use skillwire_core::SkillUri;
use skillwire_gateway::{
    FollowedResources, FollowedServer, PassingRules, ServerSource, UpstreamOffer,
    UpstreamOfferOptions,
};
use skillwire_host::{Host, ServerLabel};
use skillwire_hub::{Upstream, UpstreamSource};
use skillwire_hub_store::HubStore;
use skillwire_source::{BoxFuture, CachePolicy, HeldSkills, LookupOutcome, SkillSource};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::JoinHandle,
};

use crate::{
    facts::InspectContent,
    fetching::OfferedSkill,
    gate::{MountGate, MountKind, UpstreamSettings},
    local::{LocalFeed, LocalReader},
    options::{InvalidAddress, UpstreamOptions},
};

/// The most skills that could not be fetched of which a status says why.
const MOST_UNFETCHED: usize = 20;

/// How an upstream is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamStanding {
    /// When it was last listed.
    pub listed_at: Option<SystemTime>,
    /// Whether that listing came to its end.
    pub is_complete: bool,
    /// How many skills it has.
    pub skills: usize,
    /// Why the last listing failed, if it did.
    pub failure: Option<String>,
    /// Whether it is left alone now, because too many requests in a row failed.
    pub is_paused: bool,
    /// How many skills have content that this replica could not fetch for its review.
    pub unfetched: usize,
    /// Why, for the first of them.
    pub unfetched_skills: Vec<UnfetchedSkill>,
}

/// A skill of which the content could not be fetched for its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfetchedSkill {
    /// The upstream's own URI of it.
    pub skill: SkillUri,
    /// Why; it continues "it cannot be fetched:".
    pub reason: String,
}

/// What lists the upstream.
enum UpstreamFeed {
    Server {
        server: FollowedServer,
        host: Host,
    },
    Local(Arc<LocalFeed>),
    /// Its source cannot be used.
    None(InvalidAddress),
}

/// What the tasks of one upstream share.
pub(crate) struct UpstreamState {
    pub(crate) settings: UpstreamSettings,
    pub(crate) store: HubStore,
    pub(crate) inspector: Option<Arc<dyn InspectContent>>,
    /// The name under which this replica takes work.
    pub(crate) worker: String,
    /// Notified when the listing has to be looked at again, because the settings changed.
    pub(crate) reconsider: Notify,
    /// Why content could not be fetched for its review, when that was last tried.
    pub(crate) unfetched: Mutex<BTreeMap<SkillUri, String>>,
    feed: UpstreamFeed,
    /// The sources of a server that mounts use.
    sources: Mutex<Vec<(MountKind, ServerSource)>>,
    /// The resources that clients of all mounts subscribed to.
    resources: FollowedResources,
}

/// One upstream that this replica follows until the value is dropped.
pub struct FollowedUpstream {
    state: Arc<UpstreamState>,
    tasks: Vec<JoinHandle<()>>,
}

impl fmt::Debug for FollowedUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.state.settings.now().label;
        f.debug_struct("FollowedUpstream").field("label", label).finish_non_exhaustive()
    }
}

impl Drop for FollowedUpstream {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let UpstreamFeed::Server { host, .. } = &self.state.feed
            && let Ok(runtime) = Handle::try_current()
        {
            let host = host.clone();
            // A server process that was started for this upstream ends with it.
            runtime.spawn(async move { host.disconnect().await });
        }
    }
}

impl FollowedUpstream {
    /// Begins to follow an upstream on the runtime of the caller. A source that cannot be used shows in
    /// [`Self::standing`].
    #[tracing::instrument(skip_all, fields(label = %upstream.label))]
    pub fn start(upstream: Upstream, store: HubStore, options: &UpstreamOptions) -> Self {
        let settings = UpstreamSettings::new(upstream);
        let mut tasks = Vec::new();
        let feed = feed(&settings, options, &mut tasks).unwrap_or_else(|error| {
            tracing::error!(label = %settings.now().label, %error, "an upstream cannot be followed");
            UpstreamFeed::None(error)
        });
        let state = Arc::new(UpstreamState {
            settings,
            store,
            inspector: options.inspector.clone(),
            worker: format!("{:?}", options.gateway),
            reconsider: Notify::new(),
            unfetched: Mutex::default(),
            feed,
            sources: Mutex::default(),
            resources: FollowedResources::default(),
        });
        let reviewed = Arc::clone(&state);
        tasks.push(tokio::spawn(async move { reviewed.review_for_ever().await }));
        Self { state, tasks }
    }

    /// Returns the upstream as it is followed.
    pub fn upstream(&self) -> Arc<Upstream> {
        self.state.settings.now()
    }

    /// Takes another mode or other rules; tells whether the upstream has to be followed anew instead,
    /// because its source or its limits are others.
    #[must_use]
    pub fn change(&self, upstream: &Upstream) -> bool {
        let before = self.state.settings.now();
        if before.source != upstream.source || before.limits != upstream.limits {
            return true;
        }
        if *before != *upstream {
            self.state.settings.replace(upstream.clone());
            match &self.state.feed {
                UpstreamFeed::Local(feed) => feed.show(),
                _ => self.state.sources.lock().iter().for_each(|(_, it)| it.reconsider()),
            }
            self.state.reconsider.notify_one();
        }
        false
    }

    /// Returns what a mount shows of the upstream while its mode lets skills through unreviewed.
    pub fn source(&self, mount: MountKind) -> Box<dyn SkillSource> {
        match &self.state.feed {
            UpstreamFeed::Local(feed) => Box::new(feed.source(mount)),
            UpstreamFeed::None(_) => Box::new(HeldSkills::default()),
            UpstreamFeed::Server { server, .. } => {
                let settings = self.state.settings.clone();
                let Some(uris) = mount.uris(&settings.now().label) else {
                    return Box::new(HeldSkills::default());
                };
                let gate = Arc::new(MountGate { settings, mount });
                let admission = Arc::clone(&gate) as Arc<dyn skillwire_gateway::Admission>;
                let source = server.source(PassingRules::new(uris, admission).notes(gate));
                self.state.sources.lock().push((mount, source.clone()));
                Box::new(source)
            }
        }
    }

    /// Returns the label under which the upstream is a server; `None` if it cannot be one's label.
    pub fn label(&self) -> Option<ServerLabel> {
        ServerLabel::parse(self.state.settings.now().label.as_str()).ok()
    }

    /// Begins to follow the tools, prompts and resources of the upstream on the runtime of the caller; `None` if its
    /// source has none.
    pub fn offer(&self, options: UpstreamOfferOptions) -> Option<UpstreamOffer> {
        let UpstreamFeed::Server { host, server } = &self.state.feed else { return None };
        let upstream = self.state.settings.now();
        if !upstream.source.has_tools() {
            return None;
        }
        let relay = host.relay(&self.label()?).ok()?;
        let options = options.followed(self.state.resources.clone()).beside(server.clone());
        let mut limits = options.limits;
        limits.read_time = Duration::from_millis(upstream.limits.answer_ms);
        limits.calls = usize::try_from(upstream.limits.concurrency).unwrap_or(usize::MAX);
        Some(UpstreamOffer::start(relay, options.limits(limits), &Handle::current()))
    }

    /// Tells whether a URI of the upstream names something in a skill that it is known to have.
    pub fn has_skill_around(&self, uri: &str) -> bool {
        self.state.server().is_some_and(|server| server.has_skill_around(uri))
    }

    /// Tells whether the upstream is known to have a skill of this name, or with this path.
    pub fn has_skill_named(&self, name: &str) -> bool {
        self.state.server().is_some_and(|server| server.has_skill_named(name))
    }

    /// Asks the upstream for a skill that a client of a mount named; `None` if it is not asked.
    pub fn look_up(&self, mount: MountKind, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        if self.state.settings.mode().is_reviewed() {
            return None;
        }
        let source = {
            let sources = self.state.sources.lock();
            sources.iter().find(|(kind, _)| *kind == mount).map(|(_, source)| source.clone())
        }?;
        let own = source.uris().own_skill(uri)?;
        Some(source.find(own))
    }

    /// Returns how long, and by whom, answers made from what is known now may be reused.
    pub fn cache_policy(&self) -> CachePolicy {
        match &self.state.feed {
            UpstreamFeed::Server { server, .. } if !self.state.settings.mode().is_reviewed() => {
                server.cache_policy()
            }
            _ => CachePolicy::default(),
        }
    }

    /// Returns how the upstream is doing.
    pub fn standing(&self) -> UpstreamStanding {
        self.state.standing()
    }

    /// Has the upstream listed again at once.
    pub fn relist(&self) {
        match &self.state.feed {
            UpstreamFeed::Server { server, .. } => server.relist(),
            UpstreamFeed::Local(feed) => feed.relook.notify_one(),
            UpstreamFeed::None(_) => {}
        }
    }
}

impl UpstreamState {
    pub(crate) fn standing(&self) -> UpstreamStanding {
        let unfetched = self.unfetched.lock();
        let named = unfetched
            .iter()
            .take(MOST_UNFETCHED)
            .map(|(skill, reason)| UnfetchedSkill { skill: skill.clone(), reason: reason.clone() });
        UpstreamStanding {
            unfetched: unfetched.len(),
            unfetched_skills: named.collect(),
            ..self.listed_standing()
        }
    }

    fn listed_standing(&self) -> UpstreamStanding {
        match &self.feed {
            UpstreamFeed::Local(feed) => feed.standing(),
            UpstreamFeed::None(error) => {
                UpstreamStanding { failure: Some(error.to_string()), ..UpstreamStanding::default() }
            }
            UpstreamFeed::Server { server, .. } => {
                let now = server.standing();
                UpstreamStanding {
                    listed_at: now.listed_at,
                    is_complete: now.is_complete,
                    skills: now.skills,
                    failure: now.failure,
                    is_paused: now.is_paused,
                    ..UpstreamStanding::default()
                }
            }
        }
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        match &self.feed {
            UpstreamFeed::Server { server, .. } => server.changes(),
            UpstreamFeed::Local(feed) => feed.changes.subscribe(),
            UpstreamFeed::None(_) => watch::Sender::new(0).subscribe(),
        }
    }

    pub(crate) fn offered(&self) -> Vec<OfferedSkill> {
        match &self.feed {
            UpstreamFeed::Server { server, .. } => {
                server.listed().into_iter().map(OfferedSkill::Served).collect()
            }
            UpstreamFeed::Local(feed) => feed.offered(),
            UpstreamFeed::None(_) => Vec::new(),
        }
    }

    pub(crate) fn server(&self) -> Option<&FollowedServer> {
        match &self.feed {
            UpstreamFeed::Server { server, .. } => Some(server),
            _ => None,
        }
    }
}

/// Makes what lists an upstream, and begins to list it.
fn feed(
    settings: &UpstreamSettings,
    options: &UpstreamOptions,
    tasks: &mut Vec<JoinHandle<()>>,
) -> Result<UpstreamFeed, InvalidAddress> {
    let upstream = settings.now();
    let invalid = |error: &dyn fmt::Display| InvalidAddress(error.to_string());
    let older = match &upstream.source {
        UpstreamSource::Git { .. } | UpstreamSource::Folder { .. } => {
            let reader = LocalReader::new(&upstream.source, &options.git);
            let reader = reader.map_err(|error| invalid(&error))?;
            let feed = Arc::new(LocalFeed::new(settings.clone(), options.gateway.clone()));
            let pause = match &upstream.source {
                UpstreamSource::Folder { .. } => options.folder_pause,
                _ => options.repository_pause,
            };
            let followed = Arc::clone(&feed);
            tasks.push(tokio::spawn(async move { followed.follow(reader, pause).await }));
            return Ok(UpstreamFeed::Local(feed));
        }
        UpstreamSource::Mcp { older, .. } | UpstreamSource::Command { older, .. } => *older,
        UpstreamSource::WellKnown { .. } => false,
    };
    let label = ServerLabel::parse(upstream.label.as_str()).map_err(|error| invalid(&error))?;
    let address = (options.address)(&label, &upstream.source)?;
    let host = options.host(&upstream.limits);
    host.add_server(label.clone(), address);
    if older {
        host.allow_legacy_discovery(&label).map_err(|error| invalid(&error))?;
    }
    let follow = options.follow_of(&upstream);
    let runtime = Handle::current();
    let server = FollowedServer::follow(&host, &label, &follow, &runtime, &options.gateway)
        .map_err(|error| invalid(&error))?;
    Ok(UpstreamFeed::Server { server, host })
}
