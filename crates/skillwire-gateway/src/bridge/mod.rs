//! The bridge: a host on one side, tools and prompts on the other.

mod approval_form;
mod approved_only;
mod approving;
mod arguments;
mod files;
mod follow;
mod lazy_index;
mod listing;
mod loading;
pub(crate) mod options;
mod prompts;
pub mod shell;
mod stop;
mod text;
mod view;
mod windows;

use std::sync::Arc;

use crate::{
    followed::folders::FollowedFolders,
    followed::server::{FollowOptions, FollowedServer},
    followed::servers::{FollowedServers, StartError},
    passing_on::admission::Admission,
    passing_on::uri_mapping::UriMapping,
};
use arc_swap::ArcSwap;
use futures_util::{FutureExt, future::BoxFuture};
use skillwire_core::SkillUri;
use skillwire_engine::{
    Caller,
    offer::{Interrupt, Invocation, Items, ListChanges, Offer, PromptReply, ToolReply, Typing},
};
use skillwire_host::{Discovered, Host, context::boundary::Boundaries};
use skillwire_trust::{Handle, Reason, Refusal, SkillId};
use tokio::{runtime, sync::Notify};

use self::{
    approved_only::ApprovedOnly, arguments::ToolArguments, follow::statuses,
    options::BridgeOptions, stop::CallError, view::BridgeView, windows::ClientWindows,
};

/// Offers the skills of a host to a client that knows tools and prompts; clones are the same bridge.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

struct Inner {
    host: Host,
    options: BridgeOptions,
    boundaries: Boundaries,
    windows: ClientWindows,
    view: Arc<ArcSwap<BridgeView>>,
    upstreams: FollowedServers,
    folders: FollowedFolders,
    /// Rings when what is known may have changed.
    bell: Arc<Notify>,
    changes: ListChanges,
}

impl Bridge {
    /// Begins to follow the servers of a host on a runtime; what is offered otherwise than before is
    /// announced through `changes`.
    ///
    /// The tools are there at once; skills come as servers answer, while [`Self::follow`] runs and
    /// a catalogue looks at [`Self::sources`].
    pub fn start(
        host: Host,
        options: BridgeOptions,
        changes: ListChanges,
        runtime: &runtime::Handle,
    ) -> Result<Self, StartError> {
        let view = Arc::new(ArcSwap::from_pointee(BridgeView::default()));
        let admission: Arc<dyn Admission> = Arc::new(ApprovedOnly(Arc::clone(&view)));
        let (labels, following) = (host.servers(), FollowOptions::default());
        let upstreams = FollowedServers::start(&host, &labels, &admission, &following, runtime)?;
        let instance = upstreams.instance().clone();
        let folders = FollowedFolders::new(host.clone(), admission, instance, &following.scheme);
        let (nothing, statuses) = (Discovered::default(), statuses(&upstreams));
        let first = BridgeView::new(&host, &BridgeView::default(), nothing, statuses, &options);
        view.store(Arc::new(first));
        Ok(Self(Arc::new(Inner {
            host,
            options,
            boundaries: Boundaries::random(),
            windows: ClientWindows::default(),
            view,
            upstreams,
            folders,
            bell: Arc::new(Notify::new()),
            changes,
        })))
    }

    /// The host behind the bridge.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// Has everything that is known put together anew, since something changed: an approval was
    /// given elsewhere, or a folder was read again.
    pub fn look_again(&self) {
        self.0.bell.notify_one();
    }

    pub(crate) fn options(&self) -> &BridgeOptions {
        &self.0.options
    }

    pub(crate) fn boundaries(&self) -> &Boundaries {
        &self.0.boundaries
    }

    pub(crate) fn windows(&self) -> &ClientWindows {
        &self.0.windows
    }

    pub(crate) fn view(&self) -> Arc<BridgeView> {
        self.0.view.load_full()
    }

    pub(crate) async fn rung(&self) {
        self.0.bell.notified().await;
    }

    pub(crate) fn bell(&self) -> &Arc<Notify> {
        &self.0.bell
    }

    /// The servers, which also look for skills that no listing mentions.
    pub fn upstreams(&self) -> &FollowedServers {
        &self.0.upstreams
    }

    /// The folders of this machine as a source.
    pub(crate) fn folders(&self) -> &FollowedFolders {
        &self.0.folders
    }

    /// The URI under which a skill is passed on.
    pub(crate) fn passed_on_as(&self, skill: &SkillId) -> Option<SkillUri> {
        let mut all = self.rewritings();
        all.find(|rewriting| *rewriting.origin() == skill.origin)?.down_skill(&skill.uri)
    }

    /// The skill that is passed on under a URI.
    pub(crate) fn passed_on_from(&self, uri: &str) -> Option<Handle> {
        let uri = SkillUri::parse(uri).ok()?;
        self.rewritings().find_map(|rewriting| {
            let own = rewriting.up_skill(&uri)?;
            Some(Handle::Uri(rewriting.origin().clone(), own))
        })
    }

    fn rewritings(&self) -> impl Iterator<Item = &UriMapping> {
        let servers = self.0.upstreams.all().iter().map(FollowedServer::rewriting);
        self.0.folders.rewritings().iter().chain(servers)
    }

    /// Has a server listed again that could not be reached, so that `list_skills` tells of it.
    pub(crate) fn note_trouble(&self, skill: &SkillId, refusal: &Refusal) {
        if matches!(refusal.reason, Reason::ServerUnreachable | Reason::ServerTimeout)
            && let Some(label) = skill.origin.server()
            && let Some(server) = self.0.upstreams.all().iter().find(|it| it.label() == label)
        {
            server.relist();
        }
    }

    /// Takes over a new view, and announces what is offered otherwise than before.
    pub(crate) fn show(&self, view: BridgeView) {
        let view = Arc::new(view);
        let old = self.0.view.swap(Arc::clone(&view));
        if old.tools != view.tools {
            self.0.changes.tools();
        }
        if old.prompts != view.prompts {
            self.0.changes.prompts();
        }
        if !old.approves_the_same_as(&view) {
            self.0.upstreams.reconsider();
            self.0.folders.reconsider();
        }
    }

    async fn answer(&self, invocation: &Invocation) -> Result<ToolReply, CallError> {
        let Invocation { name, arguments, client } = invocation;
        let arguments = ToolArguments::new(name, arguments);
        match name.as_str() {
            "list_skills" => self.list_skills(&arguments).await,
            "load_skill" => self.load_skill(client, &arguments).await,
            "read_skill_file" => self.read_skill_file(&arguments).await,
            "list_skill_files" => self.list_skill_files(&arguments),
            _ => self.unload_skill(&arguments),
        }
    }
}

impl Offer for Bridge {
    fn instructions(&self, _caller: &Caller) -> Option<String> {
        Some(self.view().instructions.clone())
    }

    fn tools(&self, _caller: &Caller) -> Arc<Items> {
        Arc::clone(&self.view().tools)
    }

    fn prompts(&self, _caller: &Caller) -> Arc<Items> {
        Arc::clone(&self.view().prompts)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let bridge = self.clone();
        async move {
            let answer = bridge.answer(&invocation).await;
            answer.or_else(|stop| stop.into_reply(bridge.options()))
        }
        .boxed()
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        let bridge = self.clone();
        async move {
            let Invocation { name, arguments, client } = &invocation;
            let arguments = ToolArguments::new(name, arguments);
            let written = bridge.write_prompt(client, name, &arguments).await;
            written.map_err(|stop| stop.into_interrupt(bridge.options()))
        }
        .boxed()
    }

    fn complete(&self, _caller: &Caller, typing: &Typing<'_>) -> Vec<String> {
        self.complete_file(typing)
    }

    fn session_ended(&self, session: &str) {
        self.windows().session_ended(session);
    }
}
