//! An MCP server that can be told to misbehave, for tests of hosts and clients.
//!
//! Without faults it is honest: right digests, both eras, pipes and HTTP. A fault is one line; what
//! no fault expresses is a closure that answers a method with anything, raw bytes included. Delays
//! wait for a [`Gate`] of the test and never for time.
//!
//! ```
//! # use skillwire_testkit::hostile::{Fault, HostileServer, Reply};
//! let server = HostileServer::new()
//!     .skill("refunds", [("references/x.md", "Details.")])
//!     .fault(Fault::SameCursorForever)
//!     .on("resources/read", |_, n| if n == 1 { Reply::Never } else { Reply::Honest });
//! assert!(server.log().is_empty());
//! ```

mod answer;
mod fault;
mod gate;
pub(crate) mod http;
mod log;
mod older;
mod pipe;
mod receive;
mod reply;
mod shelf;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use skillwire_protocol::{method, version::Era};
use tokio::sync::broadcast;

pub use self::{
    fault::Fault,
    gate::Gate,
    http::Listening,
    log::Logged,
    older::{Older, frontmatter},
    reply::Reply,
};
use self::{log::Log, shelf::Shelf};

/// A request as a rule sees it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What is asked for.
    pub method: String,
    /// With what.
    pub params: Value,
    /// On which era.
    pub era: Era,
    /// The bearer token it came with, over HTTP.
    pub token: Option<String>,
    /// The id, as JSON.
    id: String,
}

impl Asked {
    /// The `uri` parameter, or nothing.
    pub fn uri(&self) -> &str {
        self.params["uri"].as_str().unwrap_or("")
    }
}

type Rule = Box<dyn Fn(&Asked, usize) -> Reply + Send + Sync>;

/// A server that misbehaves on demand; clones are the same server.
#[derive(Clone)]
pub struct HostileServer(Arc<State>);

struct State {
    shelf: Mutex<Shelf>,
    faults: Mutex<Vec<Fault>>,
    rules: Mutex<Vec<(String, Rule)>>,
    counts: Mutex<HashMap<String, usize>>,
    log: Log,
    /// What is sent to everybody who is connected or listens.
    said: broadcast::Sender<Said>,
}

/// Something a server says without being asked.
#[derive(Debug, Clone)]
enum Said {
    /// A notification, to those who subscribed.
    Notification(String, Value),
    /// Exactly this message, to every open channel.
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
        Self(Arc::new(State {
            shelf: Mutex::default(),
            faults: Mutex::default(),
            rules: Mutex::default(),
            counts: Mutex::default(),
            log: Log::default(),
            said: broadcast::Sender::new(64),
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
        self.shelf().make_dynamic(path);
        self
    }

    /// Adds a resource that belongs to no skill.
    #[must_use]
    pub fn resource(self, uri: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.shelf().resources.insert(uri.to_owned(), bytes.into());
        self
    }

    /// Adds a fault.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.set_fault(fault);
        self
    }

    /// Lets a closure answer a method; it gets the request and how many of that method came, from 1.
    ///
    /// The last rule for a method is asked first; `Reply::Honest` passes on to the one before.
    #[must_use]
    pub fn on(
        self,
        method: &str,
        rule: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        lock(&self.0.rules).push((method.to_owned(), Box::new(rule)));
        self
    }

    /// Replaces a skill, or adds it, while the server runs.
    pub fn set_skill<'a>(
        &self,
        path: &str,
        files: impl IntoIterator<Item = (&'a str, impl Into<Vec<u8>>)>,
    ) {
        let files = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.into()));
        self.shelf().put(path, files.collect());
    }

    /// Adds a fault while the server runs.
    pub fn set_fault(&self, fault: Fault) {
        lock(&self.0.faults).push(fault);
    }

    /// Becomes honest again, as far as faults go.
    pub fn clear_faults(&self) {
        lock(&self.0.faults).clear();
    }

    /// Gives a file other bytes, with an entry that says so.
    pub fn rotate(&self, uri: &str, bytes: impl Into<Vec<u8>>) {
        self.shelf().rotate(uri, bytes.into());
    }

    /// Removes a file, or with the URI of a `SKILL.md` the whole skill.
    pub fn remove(&self, uri: &str) {
        self.shelf().remove(uri);
    }

    /// The honest entry of a skill, for tests that bend it.
    pub fn entry(&self, uri: &str) -> Value {
        self.shelf().entry(uri).unwrap_or_else(|| panic!("there is no skill at {uri}"))
    }

    /// Every message that came, in order.
    pub fn log(&self) -> Vec<Logged> {
        self.0.log.all()
    }

    /// The methods of all messages that came, in order.
    pub fn methods(&self) -> Vec<String> {
        self.log().into_iter().map(|logged| logged.method).collect()
    }

    /// How many messages of a method came.
    pub fn count(&self, method: &str) -> usize {
        self.log().iter().filter(|logged| logged.method == method).count()
    }

    /// Waits until so many messages of a method came.
    pub async fn wait_for(&self, method: &str, count: usize) {
        self.0.log.wait_for(method, count).await;
    }

    /// Forgets the messages that came.
    pub fn clear_log(&self) {
        self.0.log.clear();
    }

    /// What requests lacked that the protocol asks for: metadata and headers.
    pub fn complaints(&self) -> Vec<String> {
        self.log().into_iter().flat_map(|logged| logged.complaints).collect()
    }

    /// Tells those who listen that the listing changed.
    pub fn tell_list_changed(&self) {
        self.tell(method::RESOURCES_LIST_CHANGED, json!({}));
    }

    /// Tells those who listen that a resource changed.
    pub fn tell_updated(&self, uri: &str) {
        self.tell(method::RESOURCES_UPDATED, json!({ "uri": uri }));
    }

    fn tell(&self, method: &str, params: Value) {
        // Nobody listening is no failure.
        let _ = self.0.said.send(Said::Notification(method.to_owned(), params));
    }

    /// Sends exactly this text as a message on every open channel, such as a request to the client.
    pub fn say(&self, message: impl Into<String>) {
        let _ = self.0.said.send(Said::Message(message.into()));
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        lock(&self.0.shelf)
    }

    /// The reply to a request: of the last rule that has one, else the honest or faulty one.
    fn reply(&self, asked: &Asked) -> Reply {
        let count = {
            let mut counts = lock(&self.0.counts);
            let count = counts.entry(asked.method.clone()).or_default();
            *count += 1;
            *count
        };
        let rules = lock(&self.0.rules);
        let reply = rules
            .iter()
            .rev()
            .filter(|(method, _)| *method == asked.method)
            .map(|(_, rule)| rule(asked, count))
            .find(|reply| !matches!(reply, Reply::Honest));
        drop(rules);
        reply.unwrap_or_else(|| {
            let faults = lock(&self.0.faults).clone();
            answer::answer(&self.shelf(), &faults, asked, count)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
