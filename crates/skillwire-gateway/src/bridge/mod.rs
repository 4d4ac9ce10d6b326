//! The bridge: a host on one side, tools and prompts on the other.

mod approval_form;
mod approved_only;
mod approving;
mod arguments;
pub(crate) mod card_notes;
mod catalogue;
mod client_kind;
mod files;
mod follow;
mod lazy_index;
mod listing;
mod lists;
mod loading;
pub(crate) mod options;
mod prompts;
mod resources;
mod run_form;
mod run_packages;
mod running;
pub(crate) mod script_runner;
mod shell;
mod skill_arguments;
mod stop;
mod text;
mod tool_specs;
mod view;
mod windows;

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use arc_swap::ArcSwap;
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use skillwire_core::{SkillUri, visible::one_line_within};
use skillwire_engine::{
    Caller,
    offer::{
        Interrupt, Invocation, Items, Linked, ListChanges, Offer, PromptReply, ToolReply, Typing,
    },
};
use skillwire_host::{Host, context::boundary::Boundaries};
use skillwire_trust::{
    ApprovalCard, Handle, KnownSkill, ListedSkill, Refusal, Registry, SkillId, UriMapping,
};
use tokio::{
    runtime,
    sync::{Notify, watch},
    time::Instant,
};

use self::{
    approved_only::ApprovedOnly,
    arguments::ToolArguments,
    card_notes::BridgeExtras,
    client_kind::ClientKind,
    follow::statuses,
    options::BridgeOptions,
    script_runner::BridgeScripts,
    stop::CallError,
    view::{BridgeView, FoldersStatus},
    windows::ClientWindows,
};
use crate::{
    followed::{
        folders::FollowedFolders,
        server::{FollowOptions, FollowedServer},
        servers::{FollowedServers, StartError},
    },
    passing_on::admission::Admission,
};

/// The most characters of a line that says what stands out in a skill.
const MAX_NOTE: usize = 600;

/// Offers the skills of a host as tools, prompts and instructions; clones share one state.
#[derive(Clone)]
pub struct Bridge(Arc<BridgeInner>);

struct BridgeInner {
    host: Host,
    options: BridgeOptions,
    boundaries: Boundaries,
    windows: ClientWindows,
    view: Arc<ArcSwap<BridgeView>>,
    servers: FollowedServers,
    folders: FollowedFolders,
    folders_status: watch::Sender<FoldersStatus>,
    started: Instant,
    /// Notified when the known skills or the user's approvals may have changed.
    changed: Arc<Notify>,
    list_changes: ListChanges,
    extras: BridgeExtras,
    /// How many answers to questions about runs were used, so that none is used twice.
    answered_runs: Mutex<HashMap<SkillId, u64>>,
}

impl Bridge {
    /// Begins to follow the servers of a host on `runtime`.
    ///
    /// The bridge offers its tools at once, and announces changes of the tools and prompts through
    /// `list_changes`. It adds skills as servers answer, while [`Self::follow`] runs and a
    /// catalogue scans [`Self::sources`].
    pub fn start(
        host: Host,
        options: BridgeOptions,
        list_changes: ListChanges,
        runtime: &runtime::Handle,
    ) -> Result<Self, StartError> {
        Self::start_with(host, options, list_changes, runtime, BridgeExtras::default())
    }

    /// Begins to follow the servers of a host. With `extras`, clients can run scripts of approved
    /// skills after the user granted that, and forms say what stands out in a skill.
    #[tracing::instrument(skip_all)]
    pub fn start_with(
        host: Host,
        options: BridgeOptions,
        list_changes: ListChanges,
        runtime: &runtime::Handle,
        extras: BridgeExtras,
    ) -> Result<Self, StartError> {
        let options = BridgeOptions { runs_scripts: extras.scripts.is_some(), ..options };
        let view = Arc::new(ArcSwap::from_pointee(BridgeView::default()));
        let admission: Arc<dyn Admission> =
            Arc::new(ApprovedOnly { host: host.clone(), view: Arc::clone(&view) });
        let labels = host.servers();
        let following = FollowOptions::default();
        let changed = Arc::new(Notify::new());
        let servers = FollowedServers::start_with(
            &host,
            &labels,
            &admission,
            &following,
            runtime,
            Some(&changed),
        )?;
        let gateway = servers.gateway().clone();
        let folders = FollowedFolders::new(host.clone(), admission, gateway, &following.scheme);
        let reading =
            if options.reads_folders { FoldersStatus::Pending } else { FoldersStatus::Read };
        let statuses = statuses(&servers, reading.clone());
        let nothing = Registry::default();
        let first = BridgeView::new(&host, &BridgeView::default(), nothing, statuses, &options);
        view.store(Arc::new(first));
        Ok(Self(Arc::new(BridgeInner {
            host,
            options,
            boundaries: Boundaries::random(),
            windows: ClientWindows::default(),
            view,
            servers,
            folders,
            folders_status: watch::Sender::new(reading),
            started: Instant::now(),
            changed,
            list_changes,
            extras,
            answered_runs: Mutex::default(),
        })))
    }

    /// Returns the host whose skills the bridge offers.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// Notifies the bridge of a change that it cannot notice by itself.
    ///
    /// Examples are an approval that the user gave in a terminal, and a folder that was read again.
    pub fn look_again(&self) {
        self.0.changed.notify_one();
    }

    pub(crate) fn options(&self) -> &BridgeOptions {
        &self.0.options
    }

    pub(crate) fn scripts(&self) -> Option<&Arc<dyn BridgeScripts>> {
        self.0.extras.scripts.as_ref()
    }

    /// Adds what stands out in a skill to a form that asks about it.
    pub(crate) async fn write_notes(&self, text: &mut String, card: &ApprovalCard) {
        let Some(notes) = self.0.extras.notes.clone() else { return };
        let (host, card) = (self.host().clone(), card.clone());
        let looking = tokio::task::spawn_blocking(move || notes.notes(&host, &card)).await;
        let failed = |_| vec!["Its content could not be looked into.".to_owned()];
        for note in looking.unwrap_or_else(failed) {
            let _ = writeln!(text, "{}", one_line_within(&note, MAX_NOTE));
        }
    }

    pub(crate) fn answered_runs(&self, skill: &SkillId) -> u64 {
        self.0.answered_runs.lock().get(skill).copied().unwrap_or_default()
    }

    pub(crate) fn count_answered_run(&self, skill: &SkillId) {
        *self.0.answered_runs.lock().entry(skill.clone()).or_default() += 1;
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

    /// Waits until something has changed since the last wait.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Returns the servers, which also look up skills that no listing mentions.
    pub fn servers(&self) -> &FollowedServers {
        &self.0.servers
    }

    /// The folders of this machine as a source.
    pub(crate) fn folders(&self) -> &FollowedFolders {
        &self.0.folders
    }

    pub(crate) fn folders_status(&self) -> &watch::Sender<FoldersStatus> {
        &self.0.folders_status
    }

    /// When the bridge started.
    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// The skill that is passed on under a URI.
    pub(crate) fn passed_on_from(&self, uri: &str) -> Option<Handle> {
        let uri = SkillUri::parse(uri).ok()?;
        let servers = self.0.servers.all();
        let mut mappings =
            self.0.folders.mappings().iter().chain(servers.iter().map(FollowedServer::uris));
        mappings.find_map(|mapping: &UriMapping| {
            let own = mapping.own_skill(&uri)?;
            Some(Handle::Uri(mapping.origin().clone(), own))
        })
    }

    /// The followed server of a skill; none for a skill of a folder.
    pub(crate) fn server_of(&self, skill: &SkillId) -> Option<FollowedServer> {
        self.0.servers.get(skill.origin.server()?)
    }

    /// Asks the server of a skill for its entry, and has the list of its skills show that entry.
    pub(crate) async fn entry_now(&self, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
        let now = self.0.host.refresh(skill).await?;
        self.learn(&now);
        Ok(now)
    }

    /// Finds a skill by its handle as the host does, asking servers, and has the list of its skills
    /// show the entry that was found.
    pub(crate) async fn resolve_now(&self, handle: &Handle) -> Result<ListedSkill, Refusal> {
        let now = self.0.host.resolve(handle).await?;
        self.learn(&now);
        Ok(now)
    }

    fn learn(&self, now: &ListedSkill) {
        if let Some(server) = self.server_of(now.id()) {
            server.learn(now);
        }
    }

    /// Lists a server again that could not be reached, so that `list_skills` mentions the failure.
    pub(crate) fn note_trouble(&self, skill: &SkillId, refusal: &Refusal) {
        if refusal.reason.is_server_away()
            && let Some(server) = self.server_of(skill)
        {
            server.relist();
        }
    }

    /// Shows a new view: announces changed lists to clients, and has the sources pass on the skills
    /// that it approves.
    ///
    /// The view is swapped before the sources are woken, because their scan asks the current view
    /// what is approved. In the other order, a skill whose approval was withdrawn would stay
    /// available.
    pub(crate) fn show(&self, view: BridgeView) {
        let view = Arc::new(view);
        let old = self.0.view.swap(Arc::clone(&view));
        let (tools, prompts) = old.list_changes(&view, self.options());
        if tools {
            self.0.list_changes.tools();
        }
        if prompts {
            self.0.list_changes.prompts();
        }
        if old.approves_the_same_as(&view) {
            self.0.servers.wake();
        } else {
            self.0.servers.reconsider();
            self.0.folders.reconsider();
        }
    }

    async fn answer(&self, invocation: &Invocation) -> Result<ToolReply, CallError> {
        let Invocation { name, arguments, client } = invocation;
        let arguments = ToolArguments::new(name, arguments);
        match name.as_str() {
            "list_skills" => self.list_skills(client, &arguments).await,
            "load_skill" => self.load_skill(client, &arguments).await,
            "read_skill_file" => self.read_skill_file(client, &arguments).await,
            "list_skill_files" => self.list_skill_files(client, &arguments).await,
            "read_resource" => self.read_resource(client, &arguments).await,
            running::NAME => self.run_skill_script(client, &arguments).await,
            _ => self.unload_skill(client, &arguments).await,
        }
    }
}

impl Offer for Bridge {
    fn instructions(&self, caller: &Caller) -> Option<String> {
        let view = self.view();
        Some(view.lists(kind(caller), self.options()).instructions.clone())
    }

    fn tools(&self, caller: &Caller) -> Arc<Items> {
        Arc::clone(&self.view().lists(kind(caller), self.options()).tools)
    }

    fn prompts(&self, caller: &Caller) -> Arc<Items> {
        Arc::clone(&self.view().lists(kind(caller), self.options()).prompts)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let bridge = self.clone();
        async move {
            let answer = bridge.answer(&invocation).await;
            answer.or_else(|stop| stop.into_reply(&bridge))
        }
        .boxed()
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        let bridge = self.clone();
        async move {
            let Invocation { name, arguments, client } = &invocation;
            let arguments = ToolArguments::new(name, arguments);
            let written = bridge.write_prompt(client, name, &arguments).await;
            written.map_err(|stop| stop.into_interrupt(&bridge))
        }
        .boxed()
    }

    fn complete(&self, _caller: &Caller, typing: &Typing<'_>) -> Vec<String> {
        self.complete_file(typing)
    }

    fn read(&self, _caller: &Caller, uri: &str) -> Option<Linked> {
        self.scripts()?.output(uri)
    }

    fn session_ended(&self, session: &str) {
        self.windows().session_ended(session);
    }
}

fn kind(caller: &Caller) -> ClientKind {
    ClientKind::of(caller.client.as_deref())
}
