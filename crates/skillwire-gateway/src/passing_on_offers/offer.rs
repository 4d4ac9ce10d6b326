//! The tools, prompts and resources of one server, for the clients of another.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use skillwire_client::{Change, Changes, ClientError};
use skillwire_engine::{
    Caller,
    offer::{
        FollowedResource, Interrupt, Invocation, Items, ListChanges, Offer, PromptReply,
        ResourceReply, ToolReply, unknown,
    },
};
use skillwire_host::Relay;
use skillwire_protocol::{RpcError, method};
use skillwire_trust::ServerLabel;
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore, watch},
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    admission::ToolAdmission,
    audit::{AuditedCall, CallAudit, LoggedCalls},
    calling::PassedOnCall,
    limits::OfferLimits,
    lists::{OwnItems, PROMPTS, PassedOnItems, RESOURCES, TEMPLATES, TOOLS, read, resource_items},
    name_prefix::NamePrefix,
    parked::ParkedCalls,
    resource_uris::{ResourceUris, is_passable},
    resources::{FollowedResources, FollowedUris, follow_resources},
    rewriting,
};
use crate::followed::server::FollowedServer;

/// The shortest time between two listings of a server that announces changes without end.
const SPACING: Duration = Duration::from_millis(200);

/// How long a server has to accept a subscription.
const LISTENING: Duration = Duration::from_secs(2);

/// How the tools and prompts of a server are passed on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamOfferOptions {
    /// The names that clients see.
    pub prefix: NamePrefix,
    /// Which tools and prompts are passed on.
    pub admission: Arc<dyn ToolAdmission>,
    /// Takes a record of each call.
    pub audit: Arc<dyn CallAudit>,
    /// The limits of the server.
    pub limits: OfferLimits,
    /// Announces changes of the lists to clients.
    pub changes: ListChanges,
    /// The resources of the server that clients subscribed to, here and elsewhere.
    pub followed: FollowedResources,
    /// The skills of the server, if the admission depends on them.
    pub beside: Option<FollowedServer>,
}

impl UpstreamOfferOptions {
    /// Passes on what `admission` admits, under these names. Calls are logged.
    pub fn new(prefix: NamePrefix, admission: Arc<dyn ToolAdmission>) -> Self {
        let (limits, changes) = (OfferLimits::default(), ListChanges::default());
        let (audit, followed) = (Arc::new(LoggedCalls), FollowedResources::default());
        Self { prefix, admission, audit, limits, changes, followed, beside: None }
    }

    /// Sets what takes a record of each call.
    #[must_use]
    pub fn audit(self, audit: Arc<dyn CallAudit>) -> Self {
        Self { audit, ..self }
    }

    /// Sets the limits of the server.
    #[must_use]
    pub fn limits(self, limits: OfferLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets which resources clients subscribed to, for a server with several offers.
    #[must_use]
    pub fn followed(self, followed: FollowedResources) -> Self {
        Self { followed, ..self }
    }

    /// Has the admission asked again whenever the skills of the server change.
    #[must_use]
    pub fn beside(self, server: FollowedServer) -> Self {
        Self { beside: Some(server), ..self }
    }

    /// Sets what announces changes of the lists, which several servers may share.
    #[must_use]
    pub fn changes(self, changes: ListChanges) -> Self {
        Self { changes, ..self }
    }
}

/// The tools, prompts and resources of one server; clones share one state and its tasks.
///
/// A task lists them, listens for changes and lists them again. A call is sent to the server with
/// the connection and the credentials of the gateway: nothing of the client but the name and the
/// arguments goes there.
#[derive(Clone)]
pub struct UpstreamOffer {
    state: Arc<OfferState>,
    _following: Arc<FollowingTask>,
}

struct FollowingTask(Vec<AbortHandle>);

impl Drop for FollowingTask {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// What the offer, its calls and the task that follows the lists share.
pub(super) struct OfferState {
    pub(super) relay: Relay,
    pub(super) prefix: NamePrefix,
    pub(super) limits: OfferLimits,
    /// The runtime of the connection.
    pub(super) runtime: Handle,
    /// Permits for calls. The semaphore is never closed, so acquiring one succeeds.
    pub(super) permits: Semaphore,
    pub(super) parked: ParkedCalls,
    admission: Arc<dyn ToolAdmission>,
    audit: Arc<dyn CallAudit>,
    changes: ListChanges,
    /// What the server lists, admitted or not.
    listed: Mutex<ServerLists>,
    tools: ArcSwap<PassedOnItems>,
    prompts: ArcSwap<PassedOnItems>,
    /// How resources are named here; none if the label allows no such names.
    uris: Option<ResourceUris>,
    resources: ArcSwap<Items>,
    templates: ArcSwap<Items>,
    /// The resources that clients subscribed to.
    pub(super) followed: Arc<FollowedUris>,
    /// Whether the last listing asked for resources.
    lists_resources: AtomicBool,
    relist: Notify,
    tried: watch::Sender<bool>,
    /// The skills of the server, if they are followed.
    beside: Option<FollowedServer>,
}

#[derive(Default)]
struct ServerLists {
    tools: OwnItems,
    prompts: OwnItems,
    resources: OwnItems,
    templates: OwnItems,
}

impl fmt::Debug for UpstreamOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamOffer").field("label", self.label()).finish_non_exhaustive()
    }
}

impl UpstreamOffer {
    /// Begins to follow the tools, prompts and resources of a server; requests to it run on `runtime`.
    #[tracing::instrument(skip_all, fields(upstream = %relay.label()))]
    pub fn start(relay: Relay, options: UpstreamOfferOptions, runtime: &Handle) -> Self {
        let UpstreamOfferOptions { prefix, admission, audit, limits, changes, followed, beside } =
            options;
        let uris = ResourceUris::new(relay.label(), prefix.is_shared());
        let state = Arc::new(OfferState {
            uris,
            resources: ArcSwap::default(),
            templates: ArcSwap::default(),
            followed: followed.0,
            lists_resources: AtomicBool::new(false),
            relay,
            prefix,
            limits,
            runtime: runtime.clone(),
            permits: Semaphore::new(limits.calls),
            parked: ParkedCalls::default(),
            admission,
            audit,
            changes,
            listed: Mutex::default(),
            tools: ArcSwap::default(),
            prompts: ArcSwap::default(),
            relist: Notify::new(),
            tried: watch::Sender::new(false),
            beside: beside.clone(),
        });
        let lists = runtime.spawn(follow(Arc::clone(&state)));
        let resources = runtime.spawn(follow_resources(Arc::clone(&state)));
        let mut tasks = vec![lists.abort_handle(), resources.abort_handle()];
        if let Some(server) = beside {
            let skills = runtime.spawn(follow_skills(Arc::clone(&state), server));
            tasks.push(skills.abort_handle());
        }
        Self { state, _following: Arc::new(FollowingTask(tasks)) }
    }

    /// Returns the label of the server.
    pub fn label(&self) -> &ServerLabel {
        self.state.relay.label()
    }

    /// Waits until the server was listed once, with or without success.
    pub async fn tried(&self) {
        let mut tried = self.state.tried.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = tried.wait_for(|tried| *tried).await;
    }

    /// Has the server listed again without waiting for its next turn.
    pub fn relist(&self) {
        self.state.relist.notify_one();
    }

    /// Decides again what is passed on, because the admission decides differently now.
    pub fn reconsider(&self) {
        self.state.publish();
        let listed = self.state.lists_resources.load(Ordering::Relaxed);
        if listed != self.state.admission.admits_resources() {
            self.relist();
        }
    }

    /// Returns the server's own URI of a resource that may be passed on.
    fn own_uri<'a>(&self, uri: &'a str) -> Option<&'a str> {
        let own = self.state.uris.as_ref()?.own(uri)?;
        (is_passable(own) && self.state.admission.admits_resource(self.label(), own)).then_some(own)
    }

    /// Returns the server's own name of a tool or prompt that a caller may use.
    fn own_name(
        &self,
        items: &ArcSwap<PassedOnItems>,
        caller: &Caller,
        name: &str,
    ) -> Option<String> {
        let own = items.load().own.get(name)?.clone();
        self.state.admits(caller, &own).then_some(own)
    }

    fn pass_on(
        &self,
        method: &'static str,
        own: String,
        invocation: Invocation,
    ) -> impl Future<Output = Result<Box<str>, Interrupt>> + Send + 'static {
        let state = Arc::clone(&self.state);
        let caller = invocation.client.caller();
        let audited = AuditedCall::begin(&state.audit, caller, state.relay.label(), method, &own);
        async move {
            let call = PassedOnCall { state: Arc::clone(&state), method, own, invocation };
            let outcome = call.run().await;
            audited.end(&outcome);
            match &state.uris {
                Some(uris) if method != method::RESOURCES_READ => {
                    outcome.map(|text| rewriting::call_result(text, uris))
                }
                _ => outcome,
            }
        }
    }
}

impl OfferState {
    fn admits(&self, caller: &Caller, own: &str) -> bool {
        let Self { admission, relay, .. } = self;
        !admission.differs_by_caller() || admission.admits_caller(caller, relay.label(), own)
    }

    /// Returns the items that a caller may see.
    fn shown(&self, items: &PassedOnItems, caller: &Caller) -> Arc<Items> {
        if !self.admission.differs_by_caller() {
            return Arc::clone(&items.items);
        }
        let admitted = items
            .items
            .iter()
            .filter(|item| items.own.get(item.name()).is_some_and(|own| self.admits(caller, own)));
        Arc::new(admitted.cloned().collect())
    }

    /// Passes on what is admitted now, and announces what changed.
    fn publish(&self) {
        let label = self.relay.label();
        let listed = self.listed.lock();
        let tools = PassedOnItems::new(&listed.tools, &self.prefix, |tool| {
            self.admission.admits_tool(label, tool)
        });
        let prompts = PassedOnItems::new(&listed.prompts, &self.prefix, |prompt| {
            self.admission.admits_prompt(label, prompt)
        });
        // Both lists are replaced under the lock, so that an older listing cannot win.
        let admits = |uri: &str| self.admission.admits_resource(label, uri);
        let uris = self.uris.as_ref();
        let [resources, templates] =
            [(&listed.resources, RESOURCES), (&listed.templates, TEMPLATES)].map(|(own, kind)| {
                uris.map(|uris| resource_items(own, kind, uris, admits)).unwrap_or_default()
            });
        let new_resources =
            *resources != **self.resources.load() || *templates != **self.templates.load();
        self.resources.store(resources);
        self.templates.store(templates);
        let new_tools = *tools.items != *self.tools.load().items;
        let new_prompts = *prompts.items != *self.prompts.load().items;
        self.tools.store(Arc::new(tools));
        self.prompts.store(Arc::new(prompts));
        drop(listed);
        if new_tools {
            self.changes.tools();
        }
        if new_prompts {
            self.changes.prompts();
        }
        if new_resources {
            self.changes.resources();
        }
    }

    /// Has the skills of the server listed at once, as a call failed as if the server were gone. What is kept
    /// of it may be served for long without asking it, and its standing would say that it answers.
    pub(super) fn doubt(&self) {
        if let Some(server) = self.beside.as_ref().filter(|server| server.failure().is_none()) {
            server.relist();
        }
    }

    /// Announces that a resource changed.
    pub(super) fn updated(&self, own: &str) {
        if let Some(uris) = &self.uris {
            self.changes.resource(&uris.passed_on(own));
        }
    }

    async fn list(&self) -> Result<(), ClientError> {
        let unreachable = |refusal| {
            tracing::info!("{refusal}");
            ClientError::NotOffered(method::TOOLS_LIST.to_owned())
        };
        let client = self.relay.client().await.map_err(unreachable)?;
        let wants_resources = self.admission.admits_resources();
        self.lists_resources.store(wants_resources, Ordering::Relaxed);
        let listed = async {
            let tools = read(&client, TOOLS, &self.limits).await?;
            let prompts = read(&client, PROMPTS, &self.limits).await?;
            if !wants_resources {
                return Ok(ServerLists { tools, prompts, ..ServerLists::default() });
            }
            let resources = read(&client, RESOURCES, &self.limits).await?;
            // Many servers declare resources and do not know templates.
            let templates = match read(&client, TEMPLATES, &self.limits).await {
                Err(ClientError::Rpc { .. }) => OwnItems::new(),
                read => read?,
            };
            Ok(ServerLists { tools, prompts, resources, templates })
        };
        match listed.await {
            Ok(lists) => {
                *self.listed.lock() = lists;
                self.publish();
                Ok(())
            }
            Err(error) => {
                self.relay.noticed(&error).await;
                Err(error)
            }
        }
    }
}

/// Lists a server again and again until the task is aborted.
///
/// When the server cannot be listed, the last lists stay, so that a short outage does not take tools
/// away from clients.
async fn follow(state: Arc<OfferState>) {
    let mut heard: Option<Changes> = None;
    let mut hears_resources = false;
    loop {
        // The subscription begins before the listing, so that no change is in neither.
        let wants_resources = state.admission.admits_resources();
        if std::mem::replace(&mut hears_resources, wants_resources) != wants_resources {
            heard = None;
        }
        if heard.is_none() {
            let listening = timeout(LISTENING, state.relay.listen_to_offers(wants_resources)).await;
            heard = listening.ok().and_then(Result::ok);
        }
        if let Err(error) = state.list().await {
            tracing::warn!(upstream = %state.relay.label(), "tools cannot be listed: {error}");
            heard = None;
        }
        state.tried.send_replace(true);
        tokio::select! {
            () = sleep(state.limits.pause) => {}
            () = state.relist.notified() => {}
            () = changed(&mut heard) => {}
        }
        sleep(SPACING).await;
    }
}

/// Decides again what is passed on whenever the skills of the server change, until the task is aborted.
async fn follow_skills(state: Arc<OfferState>, server: FollowedServer) {
    let mut changes = server.changes();
    server.tried().await;
    loop {
        state.publish();
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Waits until the server announces a change of its lists.
async fn changed(heard: &mut Option<Changes>) {
    while let Some(changes) = heard {
        match changes.next().await {
            // A listener that missed announcements is told that everything may have changed.
            Some(Change::ToolsChanged | Change::PromptsChanged | Change::SkillsChanged) => return,
            Some(Change::Updated(_)) => {}
            None => *heard = None,
        }
    }
    std::future::pending::<()>().await;
}

impl Offer for UpstreamOffer {
    fn tools(&self, caller: &Caller) -> Arc<Items> {
        self.state.shown(&self.state.tools.load(), caller)
    }

    fn prompts(&self, caller: &Caller) -> Arc<Items> {
        self.state.shown(&self.state.prompts.load(), caller)
    }

    fn has_tool(&self, caller: &Caller, name: &str) -> bool {
        self.own_name(&self.state.tools, caller, name).is_some()
    }

    fn has_prompt(&self, caller: &Caller, name: &str) -> bool {
        self.own_name(&self.state.prompts, caller, name).is_some()
    }

    fn resources(&self, _caller: &Caller) -> Arc<Items> {
        self.state.resources.load_full()
    }

    fn resource_templates(&self, _caller: &Caller) -> Arc<Items> {
        self.state.templates.load_full()
    }

    fn has_resource(&self, _caller: &Caller, uri: &str) -> bool {
        self.own_uri(uri).is_some()
    }

    fn read_resource(
        &self,
        invocation: Invocation,
    ) -> BoxFuture<'static, Result<ResourceReply, Interrupt>> {
        let (Some(own), Some(uris)) = (self.own_uri(&invocation.name), &self.state.uris) else {
            return std::future::ready(Err(unknown("resource", &invocation.name).into())).boxed();
        };
        let uris = uris.clone();
        let result = self.pass_on(method::RESOURCES_READ, own.to_owned(), invocation);
        async move {
            let result = result.await?;
            let verbatim = rewriting::read_result(&result, &uris).ok_or_else(RpcError::internal)?;
            Ok(ResourceReply { verbatim: verbatim.into() })
        }
        .boxed()
    }

    fn follow_resource(&self, caller: &Caller, uri: &str) -> Option<FollowedResource> {
        let own = self.own_uri(uri)?;
        let interest = self.state.followed.follow(own)?;
        let (label, method) = (self.label(), method::RESOURCES_SUBSCRIBE);
        AuditedCall::begin(&self.state.audit, caller, label, method, own).end(&Ok(()));
        Some(FollowedResource::new(interest))
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let caller = invocation.client.caller();
        let Some(own) = self.own_name(&self.state.tools, caller, &invocation.name) else {
            let unknown = Interrupt::passed_on(unknown("tool", &invocation.name));
            return std::future::ready(Err(unknown)).boxed();
        };
        let result = self.pass_on(method::TOOLS_CALL, own, invocation);
        async move { Ok(ToolReply { verbatim: Some(result.await?), ..ToolReply::default() }) }
            .boxed()
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        let caller = invocation.client.caller();
        let Some(own) = self.own_name(&self.state.prompts, caller, &invocation.name) else {
            let unknown = Interrupt::passed_on(unknown("prompt", &invocation.name));
            return std::future::ready(Err(unknown)).boxed();
        };
        let result = self.pass_on(method::PROMPTS_GET, own, invocation);
        async move { Ok(PromptReply { verbatim: Some(result.await?), ..PromptReply::default() }) }
            .boxed()
    }
}
