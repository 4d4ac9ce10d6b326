//! An MCP server that misbehaves on demand, for tests of hosts and clients.
//!
//! Without faults it is honest: right digests, both eras, pipes and HTTP. A [`Fault`] is one known
//! way to misbehave. For everything else, a test gives a closure that answers a method with
//! anything, raw bytes included. A delayed reply waits for a [`ReplyGate`] of the test and never
//! for time.
//!
//! ```
//! # use skillwire_testkit::{Fault, HostileServer, ScriptedReply};
//! let server = HostileServer::new()
//!     .skill("refunds", [("references/x.md", "Details.")])
//!     .fault(Fault::SameCursorForever)
//!     .on("resources/read", |_, n| if n == 1 { ScriptedReply::Never } else { ScriptedReply::Honest });
//! assert!(server.log().is_empty());
//! ```

mod answer;
mod content;
mod fault;
pub(crate) mod http;
mod log;
mod older_dialect;
mod pipes;
mod receive;
mod reply;

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use skillwire_protocol::{Era, method};
use tokio::sync::broadcast;

use self::{content::HonestContent, log::MessageLog};
pub use self::{
    fault::Fault,
    http::ListeningServer,
    log::LoggedMessage,
    older_dialect::{OlderDialect, refunds_frontmatter},
    reply::{ReplyGate, ScriptedReply},
};

/// A request that the server received, as rules see it.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Value,
    /// The era of the protocol that it uses.
    pub era: Era,
    /// The bearer token it came with, over HTTP.
    pub token: Option<String>,
    /// The id, as JSON.
    id: String,
}

impl ReceivedRequest {
    /// The `uri` parameter, or an empty text.
    pub fn uri(&self) -> &str {
        self.params["uri"].as_str().unwrap_or("")
    }
}

type AnswerRule = Box<dyn Fn(&ReceivedRequest, usize) -> ScriptedReply + Send + Sync>;

/// A server that misbehaves on demand; clones are the same server.
#[derive(Clone)]
pub struct HostileServer(Arc<HostileState>);

struct HostileState {
    content: Mutex<HonestContent>,
    faults: Mutex<Vec<Fault>>,
    rules: Mutex<Vec<(String, AnswerRule)>>,
    counts: Mutex<HashMap<String, usize>>,
    log: MessageLog,
    /// Messages that the server sends unasked, for every connection and subscription.
    pushed: broadcast::Sender<ServerPush>,
}

/// A message that the server sends unasked.
#[derive(Debug, Clone)]
enum ServerPush {
    /// A notification, for clients that subscribed.
    Notification(String, Value),
    /// Exactly this message, for every open channel.
    Message(String),
}

impl Default for HostileServer {
    fn default() -> Self {
        Self::new()
    }
}

impl HostileServer {
    /// Makes an honest server without skills.
    pub fn new() -> Self {
        Self(Arc::new(HostileState {
            content: Mutex::default(),
            faults: Mutex::default(),
            rules: Mutex::default(),
            counts: Mutex::default(),
            log: MessageLog::default(),
            pushed: broadcast::Sender::new(64),
        }))
    }

    /// Adds a skill at a path such as `acme/refunds`, or at a root with a scheme of its own.
    ///
    /// Without a `SKILL.md` among the files, it gets the smallest one of its name.
    #[must_use]
    pub fn skill<'a>(
        self,
        path: &str,
        files: impl IntoIterator<Item = (&'a str, impl Into<Vec<u8>>)>,
    ) -> Self {
        self.set_skill(path, files);
        self
    }

    /// Adds a skill whose content has no digests.
    #[must_use]
    pub fn dynamic_skill<'a>(
        self,
        path: &str,
        files: impl IntoIterator<Item = (&'a str, impl Into<Vec<u8>>)>,
    ) -> Self {
        self.set_skill(path, files);
        self.content().make_dynamic(path);
        self
    }

    /// Adds a resource that belongs to no skill.
    #[must_use]
    pub fn resource(self, uri: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.content().resources.insert(uri.to_owned(), bytes.into());
        self
    }

    /// Adds a fault.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.set_fault(fault);
        self
    }

    /// Lets a closure answer a method; it gets the request and its number among those of the
    /// method, from 1.
    ///
    /// The last rule for a method is asked first; [`ScriptedReply::Honest`] defers to the one
    /// before.
    #[must_use]
    pub fn on(
        self,
        method: &str,
        rule: impl Fn(&ReceivedRequest, usize) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        self.0.rules.lock().push((method.to_owned(), Box::new(rule)));
        self
    }

    /// Replaces a skill, or adds it, while the server runs.
    pub fn set_skill<'a>(
        &self,
        path: &str,
        files: impl IntoIterator<Item = (&'a str, impl Into<Vec<u8>>)>,
    ) {
        let files = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.into()));
        self.content().set_skill(path, files.collect());
    }

    /// Adds a fault while the server runs.
    pub fn set_fault(&self, fault: Fault) {
        self.0.faults.lock().push(fault);
    }

    /// Removes all faults; rules stay.
    pub fn clear_faults(&self) {
        self.0.faults.lock().clear();
    }

    /// Gives a file other bytes; its entry has the new digest.
    pub fn rotate(&self, uri: &str, bytes: impl Into<Vec<u8>>) {
        self.content().rotate(uri, bytes.into());
    }

    /// Removes a file, or with the URI of a `SKILL.md` the whole skill.
    pub fn remove(&self, uri: &str) {
        self.content().remove(uri);
    }

    /// The honest entry of a skill, for tests that change it.
    pub fn entry(&self, uri: &str) -> Value {
        self.content().entry(uri).unwrap_or_else(|| panic!("there is no skill at {uri}"))
    }

    /// Every message that the server received, in order.
    pub fn log(&self) -> Vec<LoggedMessage> {
        self.0.log.all()
    }

    /// The methods of all messages that the server received, in order.
    pub fn methods(&self) -> Vec<String> {
        self.log().into_iter().map(|logged| logged.method).collect()
    }

    /// How many messages of a method the server received.
    pub fn count(&self, method: &str) -> usize {
        self.log().iter().filter(|logged| logged.method == method).count()
    }

    /// Waits until the server has received this many messages of a method.
    pub async fn wait_for(&self, method: &str, count: usize) {
        self.0.log.wait_for(method, count).await;
    }

    /// Forgets the messages that the server received.
    pub fn clear_log(&self) {
        self.0.log.clear();
    }

    /// The metadata and headers that the protocol requires and the received requests lacked.
    pub fn complaints(&self) -> Vec<String> {
        self.log().into_iter().flat_map(|logged| logged.complaints).collect()
    }

    /// Notifies subscribed clients that the listing changed.
    pub fn notify_list_changed(&self) {
        self.notify(method::RESOURCES_LIST_CHANGED, json!({}));
    }

    /// Notifies subscribed clients that the list of tools changed.
    pub fn notify_tools_changed(&self) {
        self.notify(method::TOOLS_LIST_CHANGED, json!({}));
    }

    /// Notifies subscribed clients that a resource changed.
    pub fn notify_updated(&self, uri: &str) {
        self.notify(method::RESOURCES_UPDATED, json!({ "uri": uri }));
    }

    fn notify(&self, method: &str, params: Value) {
        // There may be no client.
        let _ = self.0.pushed.send(ServerPush::Notification(method.to_owned(), params));
    }

    /// Sends exactly this text as a message on every open channel, such as a request to the client.
    pub fn send_message(&self, message: impl Into<String>) {
        let _ = self.0.pushed.send(ServerPush::Message(message.into()));
    }

    fn content(&self) -> MutexGuard<'_, HonestContent> {
        self.0.content.lock()
    }

    /// The reply of the last rule that has one, or else the honest answer with the faults applied.
    fn reply(&self, request: &ReceivedRequest) -> ScriptedReply {
        let count = {
            let mut counts = self.0.counts.lock();
            let count = counts.entry(request.method.clone()).or_default();
            *count += 1;
            *count
        };
        let rules = self.0.rules.lock();
        let reply = rules
            .iter()
            .rev()
            .filter(|(method, _)| *method == request.method)
            .map(|(_, rule)| rule(request, count))
            .find(|reply| !matches!(reply, ScriptedReply::Honest));
        drop(rules);
        reply.unwrap_or_else(|| {
            let faults = self.0.faults.lock().clone();
            answer::answer(&self.content(), &faults, request, count)
        })
    }
}
