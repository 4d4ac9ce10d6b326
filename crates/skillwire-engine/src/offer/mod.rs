//! Tools, prompts and resources that a server offers besides skills and their files.
//!
//! A program gives an [`Offer`] to an engine, or several of them together ([`Offers`]). A running
//! call gets its [`Client`]: who calls, how to report progress, and how to ask the user.

mod changes;
mod client;
mod items;
mod link;
mod progress;
mod questions;
mod reply;
mod resource;
mod state;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};
use skillwire_protocol::{RpcError, truncated};

pub use self::{
    changes::ListChanges,
    client::Client,
    items::{Item, Items},
    link::{LegacyLink, Link},
    progress::Progress,
    questions::{Elicited, Form, Questions},
    reply::{Interrupt, PromptReply, ToolReply},
    resource::{FollowedResource, ResourceReply},
    state::Carried,
};
pub(crate) use self::{
    changes::ListVersions,
    client::Asked,
    items::{append, offered_key, page},
    reply::Kind,
    state::StateSeal,
};
use crate::caller::Caller;

/// A call of a tool or prompt, or the read of a resource, by a client.
#[derive(Debug)]
pub struct Invocation {
    /// The name, which is one of the listed names; of a resource, its URI.
    pub name: String,
    /// The arguments; the engine has not checked them.
    pub arguments: Map<String, Value>,
    /// The client that calls.
    pub client: Client,
}

/// The argument of a prompt that the user is typing.
#[derive(Debug)]
pub struct Typing<'a> {
    /// The prompt's name.
    pub prompt: &'a str,
    /// The argument's name.
    pub argument: &'a str,
    /// The text typed so far.
    pub typed: &'a str,
    /// Other arguments that are already known.
    pub given: &'a BTreeMap<String, String>,
}

/// A resource that the result of a call linked to.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The content.
    pub bytes: Bytes,
    /// The media type of the content.
    pub media_type: &'static str,
}

/// Tools, prompts and resources.
///
/// The engine asks for the lists with every request, so they must be ready; calls may take their
/// time. The engine drops a call that its client cancels, or whose client goes away.
pub trait Offer: Send + Sync {
    /// Returns what a model should know from the start.
    fn instructions(&self, _caller: &Caller) -> Option<String> {
        None
    }

    /// Returns the tools; each is an object with `name` and `inputSchema`.
    fn tools(&self, _caller: &Caller) -> Arc<Items> {
        Arc::default()
    }

    /// Returns the prompts; each is an object with `name`.
    fn prompts(&self, _caller: &Caller) -> Arc<Items> {
        Arc::default()
    }

    /// Tells whether a tool is listed. An offer of many lists finds one without joining them.
    fn has_tool(&self, caller: &Caller, name: &str) -> bool {
        self.tools(caller).contains(name)
    }

    /// Tells whether a prompt is listed.
    fn has_prompt(&self, caller: &Caller, name: &str) -> bool {
        self.prompts(caller).contains(name)
    }

    /// Calls a tool; a failure that the model should see is a [`ToolReply`] too.
    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        std::future::ready(Err(unknown("tool", &invocation.name).into())).boxed()
    }

    /// Writes a prompt.
    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        std::future::ready(Err(unknown("prompt", &invocation.name).into())).boxed()
    }

    /// Returns values for the argument of a prompt, best first.
    fn complete(&self, _caller: &Caller, _typing: &Typing<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Returns the resources, each under its URI: an object with `uri` and `name`.
    fn resources(&self, _caller: &Caller) -> Arc<Items> {
        Arc::default()
    }

    /// Returns the templates of resources, each under its template: an object with `uriTemplate` and
    /// `name`.
    fn resource_templates(&self, _caller: &Caller) -> Arc<Items> {
        Arc::default()
    }

    /// Tells whether a caller may read a resource and follow its changes. It need not be listed, and
    /// it need not exist.
    fn has_resource(&self, _caller: &Caller, _uri: &str) -> bool {
        false
    }

    /// Reads a resource. The caller gets the answer for a resource that does not exist if this fails
    /// with an error about the parameters.
    fn read_resource(
        &self,
        invocation: Invocation,
    ) -> BoxFuture<'static, Result<ResourceReply, Interrupt>> {
        std::future::ready(Err(unknown("resource", &invocation.name).into())).boxed()
    }

    /// Follows changes of a resource until the value is dropped, and announces them
    /// ([`ListChanges::resource`]); returns `None` if that is not possible.
    fn follow_resource(&self, _caller: &Caller, _uri: &str) -> Option<FollowedResource> {
        None
    }

    /// Reads a resource that the result of a call linked to; returns `None` for URIs of other
    /// offers.
    fn read(&self, _caller: &Caller, _uri: &str) -> Option<Linked> {
        None
    }

    /// Drops whatever was kept for a legacy session, which has ended.
    fn session_ended(&self, _session: &str) {}
}

/// Several offers as one.
#[derive(Clone, Default)]
pub struct Offers {
    all: Vec<Arc<dyn Offer>>,
    changes: ListChanges,
}

impl std::fmt::Debug for Offers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offers").field("all", &self.all.len()).finish_non_exhaustive()
    }
}

/// Offers that end with their server.
#[derive(Debug)]
pub(crate) struct WeakOffers(Vec<Weak<dyn Offer>>);

impl WeakOffers {
    /// Tells whether a caller may read a resource.
    pub(crate) fn has_resource(&self, caller: &Caller, uri: &str) -> bool {
        let mut offers = self.0.iter().filter_map(Weak::upgrade);
        offers.any(|offer| offer.has_resource(caller, uri))
    }
}

/// The error when two offers have a tool of the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools are called `{0}`")]
pub struct DuplicateTool(pub String);

impl Offers {
    /// Joins offers, which announce their changes through `changes`.
    ///
    /// If two offers later list the same name, the first offer's is used and the others' cannot be
    /// reached.
    pub fn joined(all: Vec<Arc<dyn Offer>>, changes: ListChanges) -> Result<Self, DuplicateTool> {
        let mut seen = std::collections::BTreeSet::new();
        for offer in &all {
            for item in offer.tools(&Caller::default()).iter() {
                if !seen.insert(item.name().to_owned()) {
                    return Err(DuplicateTool(item.name().to_owned()));
                }
            }
        }
        Ok(Self { all, changes })
    }

    /// Adds an offer; a tool that is offered already stays the one that is called.
    #[must_use]
    pub fn and(mut self, offer: Arc<dyn Offer>) -> Self {
        self.all.push(offer);
        self
    }

    /// Puts an offer before these; of tools of one name, its is the one that is called.
    pub(crate) fn behind(mut self, offer: Arc<dyn Offer>) -> Self {
        self.all.insert(0, offer);
        self
    }

    /// Tells whether a caller without restrictions gets a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.with_tool(&Caller::default(), name).is_some()
    }

    /// Returns the same offers, for a listener that must not keep them.
    pub(crate) fn downgrade(&self) -> WeakOffers {
        WeakOffers(self.all.iter().map(Arc::downgrade).collect())
    }

    /// Tells whether nothing is offered, now or later.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Iterates over the offers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn Offer>> {
        self.all.iter()
    }

    /// Returns what announces changes of the lists.
    pub fn changes(&self) -> &ListChanges {
        &self.changes
    }

    /// Joins the instructions of all offers.
    pub(crate) fn instructions(&self, caller: &Caller) -> Option<String> {
        let texts: Vec<String> =
            self.all.iter().filter_map(|offer| offer.instructions(caller)).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Finds the offer that has a tool.
    pub(crate) fn with_tool(&self, caller: &Caller, name: &str) -> Option<&Arc<dyn Offer>> {
        self.all.iter().find(|offer| offer.has_tool(caller, name))
    }

    /// Finds the offer that has a prompt.
    pub(crate) fn with_prompt(&self, caller: &Caller, name: &str) -> Option<&Arc<dyn Offer>> {
        self.all.iter().find(|offer| offer.has_prompt(caller, name))
    }

    /// Finds the offer whose resource a caller may read.
    pub(crate) fn with_resource(&self, caller: &Caller, uri: &str) -> Option<&Arc<dyn Offer>> {
        self.all.iter().find(|offer| offer.has_resource(caller, uri))
    }

    /// Reads a resource that the result of a call linked to.
    pub(crate) fn read(&self, caller: &Caller, uri: &str) -> Option<Linked> {
        self.all.iter().find_map(|offer| offer.read(caller, uri))
    }

    /// Tells every offer that a legacy session is over.
    pub fn session_ended(&self, session: &str) {
        self.all.iter().for_each(|offer| offer.session_ended(session));
    }
}

/// Returns the error for a name that is not offered.
pub fn unknown(kind: &str, name: &str) -> RpcError {
    RpcError::invalid_params(format!("There is no {kind} `{}`.", truncated(name)))
}
