//! The tools and prompts of one server, for the clients of another.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use skillwire_client::{Change, Changes, ClientError};
use skillwire_engine::{
    Caller,
    offer::{Interrupt, Invocation, Items, ListChanges, Offer, PromptReply, ToolReply, unknown},
};
use skillwire_host::Relay;
use skillwire_protocol::method;
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
    lists::{OwnItems, PROMPTS, PassedOnItems, TOOLS, read},
    name_prefix::NamePrefix,
    parked::ParkedCalls,
};

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
}

impl UpstreamOfferOptions {
    /// Passes on what `admission` admits, under these names. Calls are logged.
    pub fn new(prefix: NamePrefix, admission: Arc<dyn ToolAdmission>) -> Self {
        let (limits, changes) = (OfferLimits::default(), ListChanges::default());
        Self { prefix, admission, audit: Arc::new(LoggedCalls), limits, changes }
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

    /// Sets what announces changes of the lists, which several servers may share.
    #[must_use]
    pub fn changes(self, changes: ListChanges) -> Self {
        Self { changes, ..self }
    }
}

/// The tools and prompts of one server; clones share one state and one task.
///
/// A task lists them, listens for changes and lists them again. A call is sent to the server with
/// the connection and the credentials of the gateway: nothing of the client but the name and the
/// arguments goes there.
#[derive(Clone)]
pub struct UpstreamOffer {
    state: Arc<OfferState>,
    _following: Arc<FollowingTask>,
}

struct FollowingTask(AbortHandle);

impl Drop for FollowingTask {
    fn drop(&mut self) {
        self.0.abort();
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
    relist: Notify,
    tried: watch::Sender<bool>,
}

#[derive(Default)]
struct ServerLists {
    tools: OwnItems,
    prompts: OwnItems,
}

impl fmt::Debug for UpstreamOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamOffer").field("label", self.label()).finish_non_exhaustive()
    }
}

impl UpstreamOffer {
    /// Begins to follow the tools and prompts of a server; requests to it run on `runtime`.
    #[tracing::instrument(skip_all, fields(upstream = %relay.label()))]
    pub fn start(relay: Relay, options: UpstreamOfferOptions, runtime: &Handle) -> Self {
        let UpstreamOfferOptions { prefix, admission, audit, limits, changes } = options;
        let state = Arc::new(OfferState {
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
        });
        let task = runtime.spawn(follow(Arc::clone(&state)));
        Self { state, _following: Arc::new(FollowingTask(task.abort_handle())) }
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
            let outcome = PassedOnCall { state, method, own, invocation }.run().await;
            audited.end(&outcome);
            outcome
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
    }

    async fn list(&self) -> Result<(), ClientError> {
        let unreachable = |refusal| {
            tracing::info!("{refusal}");
            ClientError::NotOffered(method::TOOLS_LIST.to_owned())
        };
        let client = self.relay.client().await.map_err(unreachable)?;
        let listed = async {
            let tools = read(&client, TOOLS, &self.limits).await?;
            let prompts = read(&client, PROMPTS, &self.limits).await?;
            Ok(ServerLists { tools, prompts })
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
    loop {
        // The subscription begins before the listing, so that no change is in neither.
        if heard.is_none() {
            let listening = timeout(LISTENING, state.relay.listen_to_offers()).await;
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
