//! The bridge: a host on one side, tools and prompts on the other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use futures_util::{FutureExt, future::BoxFuture};
use skillwire_host::{context::boundary::Boundaries, host::Host, label::ServerLabel};
use skillwire_server::{
    caller::Caller,
    offer::{Interrupt, Invocation, Items, ListChanges, Offer, PromptReply, ToolReply, Typing},
};
use tokio::sync::Notify;

use crate::{
    arguments::Arguments,
    options::BridgeOptions,
    stop::Stop,
    view::{Status, View},
    windows::Windows,
};

/// Offers the skills of a host to a client that knows tools and prompts; clones are the same bridge.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

struct Inner {
    host: Host,
    options: BridgeOptions,
    boundaries: Boundaries,
    windows: Windows,
    view: ArcSwap<View>,
    statuses: Mutex<BTreeMap<ServerLabel, Status>>,
    /// Rings when what is known may have changed.
    bell: Notify,
    changes: ListChanges,
}

impl Bridge {
    /// Makes a bridge to a host, which announces through `changes` what it offers otherwise.
    ///
    /// Nothing is asked for before [`Self::follow`] runs; until then there are tools and no skills.
    pub fn new(host: Host, options: BridgeOptions, changes: ListChanges) -> Self {
        let statuses: BTreeMap<_, _> =
            host.servers().into_iter().map(|label| (label, Status::Pending)).collect();
        let empty = skillwire_host::host::Discovered::default();
        let view = View::new(&host, empty, statuses.clone(), &options);
        Self(Arc::new(Inner {
            host,
            options,
            boundaries: Boundaries::random(),
            windows: Windows::default(),
            view: ArcSwap::from_pointee(view),
            statuses: Mutex::new(statuses),
            bell: Notify::new(),
            changes,
        }))
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

    pub(crate) fn windows(&self) -> &Windows {
        &self.0.windows
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.0.view.load_full()
    }

    pub(crate) async fn rung(&self) {
        self.0.bell.notified().await;
    }

    pub(crate) fn statuses(&self) -> MutexGuard<'_, BTreeMap<ServerLabel, Status>> {
        self.0.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over a new view, and announces what is offered otherwise than before.
    pub(crate) fn show(&self, view: View) {
        let view = Arc::new(view);
        let old = self.0.view.swap(Arc::clone(&view));
        if old.tools != view.tools {
            self.0.changes.tools();
        }
        if old.prompts != view.prompts {
            self.0.changes.prompts();
        }
    }

    async fn answer(&self, invocation: &Invocation) -> Result<ToolReply, Stop> {
        let Invocation { name, arguments, client } = invocation;
        let arguments = Arguments::new(name, arguments);
        match name.as_str() {
            "list_skills" => Ok(self.list_skills(&arguments)?),
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
            let arguments = Arguments::new(name, arguments);
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
