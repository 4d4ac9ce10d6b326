//! Answers requests, for both eras and every transport.

pub(crate) mod budget;
mod completion;
pub(crate) mod contents;
mod describe;
mod dialects;
mod directory;
mod offers;
pub(crate) mod owned_call;
mod paging;
mod permits;
pub(crate) mod reading;
pub(crate) mod result;
mod skills;
mod state;
mod templates;

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use skillwire_catalog::{Catalog, CursorSeal, FoundDirectory, Snapshot, ViewId};
use skillwire_protocol::{
    Era, ErrorCode, RpcError,
    message::{Params, Request, string},
    meta,
    method::{self, Method, MethodKind},
    truncated,
};

use tracing::Instrument;

pub use self::budget::ReservedMemory;
pub use self::state::EngineBuilder;
use self::{
    contents::memory_for,
    result::{ResultStyle, ResultText},
};
pub(crate) use self::{
    owned_call::{OwnedCall, about_name, body, item, media_type, uri_of},
    state::EngineState,
};
use crate::{
    caller::Caller,
    config::Config,
    metrics::{Metrics, method_label},
    offer::{Link, Offers},
    payload::Payload,
    subscription::{Feed, Subscription},
};

/// The most bytes of files that are read before a client requests them.
const WARM_BYTES: u64 = 16 * 1024 * 1024;

/// The outcome of a method: a result or an error.
pub type Outcome = Result<Payload, RpcError>;

/// The answer to a request.
pub enum Answer {
    /// The outcome is ready.
    Now(Outcome),
    /// The outcome is ready once a file has been read or content has been generated.
    Later(BoxFuture<'static, Outcome>),
    /// The answer is a stream of notifications.
    Stream(Box<Subscription>),
}

/// Answers requests from a catalogue.
#[derive(Debug)]
pub struct Engine {
    state: Arc<EngineState>,
}

/// One request with everything needed to answer it.
struct Call<'a> {
    state: &'a Arc<EngineState>,
    caller: &'a Caller,
    era: Era,
    snapshot: Arc<Snapshot>,
    params: &'a Params<'a>,
    link: &'a Link,
}

impl Engine {
    /// Returns a builder of an engine that serves a catalogue; `seal` keeps clients from forging
    /// cursors.
    pub fn builder(catalog: Arc<Catalog>, seal: CursorSeal) -> EngineBuilder {
        EngineBuilder::new(catalog, seal)
    }

    /// Returns the tools and prompts that are offered besides skills.
    pub fn offers(&self) -> &Offers {
        &self.state.offers
    }

    /// Returns the catalogue that is served.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.state.catalog
    }

    /// Returns how requests are answered.
    pub fn config(&self) -> &Config {
        &self.state.config
    }

    /// Answers one request in the era that the transport has established.
    ///
    /// The first snapshot must exist. A panic becomes an error for the client and does not
    /// propagate. The server can send only the answer this way: no progress, and no form for a
    /// legacy client's user.
    pub fn answer(&self, caller: &Caller, era: Era, request: &Request<'_>) -> Answer {
        self.answer_over(&Link::none(), caller, era, request)
    }

    /// Answers one request of a client that can receive messages before the answer.
    pub fn answer_over(
        &self,
        link: &Link,
        caller: &Caller,
        era: Era,
        request: &Request<'_>,
    ) -> Answer {
        let span = tracing::debug_span!(
            "request",
            method = truncated(&request.method),
            caller = caller.name,
            traceparent = tracing::field::Empty,
        );
        if !span.is_disabled()
            && let Some(trace) = meta::trace_parent(request.params.meta)
        {
            span.record("traceparent", tracing::field::display(trace));
        }
        let _entered = span.enter();
        let started = Instant::now();
        let method = client_request(&request.method);
        let dispatched =
            catch_unwind(AssertUnwindSafe(|| self.dispatch(method, link, caller, era, request)));
        let label = method_label(method);
        let answer = dispatched.unwrap_or_else(|_| {
            tracing::error!(method = label, "a handler panicked");
            Answer::Now(Err(RpcError::internal()))
        });
        self.count(label, started, answer)
    }

    /// Records an answer in the metrics when it is ready.
    fn count(&self, method: &'static str, started: Instant, answer: Answer) -> Answer {
        match answer {
            Answer::Now(outcome) => {
                let outcome = self.state.budget.admit_now(outcome);
                note_answer(&self.state.metrics, method, code(&outcome), started);
                Answer::Now(outcome)
            }
            Answer::Later(work) => {
                let state = Arc::clone(&self.state);
                let work =
                    AssertUnwindSafe(work.instrument(tracing::Span::current())).catch_unwind();
                Answer::Later(Box::pin(async move {
                    let outcome = work.await.unwrap_or_else(|_| {
                        tracing::error!(method, "a handler panicked");
                        Err(RpcError::internal())
                    });
                    let outcome = state.budget.admit(outcome).await;
                    note_answer(&state.metrics, method, code(&outcome), started);
                    outcome
                }))
            }
            Answer::Stream(stream) => {
                note_answer(&self.state.metrics, method, 0, started);
                Answer::Stream(stream)
            }
        }
    }

    /// Reads all files of a small catalogue into memory, so that the server can serve them even
    /// when their folder goes away.
    ///
    /// Blocks. A larger catalogue is left alone, and so are files of remote stores.
    pub fn warm(&self) {
        let Some(snapshot) = self.state.catalog.now(ViewId::EVERYTHING) else { return };
        // Cached files are escaped text or base64, and larger than the files themselves.
        let most = WARM_BYTES.min(self.state.config.cache_bytes / 2);
        // This is asked after every change, of a hundred thousand remote files as well.
        let here = snapshot.bytes_in_directories();
        if here == 0 || here > most {
            return;
        }
        for (store, file) in snapshot.files_in_directories() {
            if self.state.contents.kept(store, file).is_some() {
                continue;
            }
            // If the file cannot be read, the client that requests it gets the error.
            let _ = match memory_for(file.size).map(|bytes| self.state.budget.try_take(bytes)) {
                None => self.state.contents.read(store, file, None),
                Some(Some(memory)) => self.state.contents.read(store, file, Some(memory)),
                // Clients use the memory; the file is read when one of them asks for it.
                Some(None) => continue,
            };
        }
    }

    /// Returns the changes from now on that a caller may be notified of.
    pub fn feed(&self, caller: &Caller) -> Feed {
        self.state.feed(caller)
    }

    /// Tells whether the server may send messages (progress, questions) before the answer to a method.
    pub fn may_send_messages(&self, method: &str) -> bool {
        match method {
            method::TOOLS_CALL | method::PROMPTS_GET => !self.state.offers.is_empty(),
            method::SKILLS_EXECUTE => self.state.scripts.is_some(),
            _ => false,
        }
    }

    /// Returns the metrics of this server.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.state.metrics
    }

    fn dispatch(
        &self,
        method: Option<&Method>,
        link: &Link,
        caller: &Caller,
        era: Era,
        request: &Request<'_>,
    ) -> Answer {
        let Some(snapshot) = self.state.catalog.now(caller.view) else {
            return Answer::Now(Err(RpcError::internal()));
        };
        let call =
            Call { state: &self.state, caller, era, snapshot, params: &request.params, link };
        let Some(method) = method.filter(|method| method.exists_in(era)) else {
            return Answer::Now(Err(RpcError::method_not_found(&request.method)));
        };
        Answer::Now(match method.name {
            method::SKILLS_LIST => return call.list_skills(),
            method::SKILLS_GET => return call.get_skill(),
            page @ (method::SKILLS_READ
            | method::SKILLS_READ_REFERENCE
            | method::SKILLS_EXECUTE) => return call.skills_page(page),
            method::RESOURCES_READ => return call.read_resource(),
            method::DIRECTORY_READ if self.state.config.directory_read => {
                return call.read_directory();
            }
            method::RESOURCES_LIST => return call.list_resources(),
            method::RESOURCES_TEMPLATES_LIST => call.list_templates(),
            method::TOOLS_LIST => call.list_tools(),
            method::PROMPTS_LIST => call.list_prompts(),
            method::TOOLS_CALL => return call.call_tool(),
            method::PROMPTS_GET => return call.get_prompt(),
            method::COMPLETE => return call.complete(),
            method::DISCOVER => Ok(call.discover()),
            method::LISTEN => return call.listen(request),
            method::INITIALIZE => call.initialize(),
            method::PING => Ok(nothing()),
            method::RESOURCES_SUBSCRIBE => call.check_subscription(),
            // Always allowed: the file may be gone since the client subscribed to it.
            method::RESOURCES_UNSUBSCRIBE => call.uri().map(|_| nothing()),
            other => Err(RpcError::method_not_found(other)),
        })
    }
}

/// Finds the request with this method name that a client can send.
fn client_request(name: &str) -> Option<&'static Method> {
    Method::find(name).filter(|method| method.kind == MethodKind::ClientRequest)
}

/// Creates an empty result.
fn nothing() -> Payload {
    Bytes::from_static(b"{}").into()
}

/// Counts an answer and writes it into the log.
fn note_answer(metrics: &Metrics, method: &'static str, code: i32, started: Instant) {
    let took = started.elapsed();
    metrics.answered(method, code, took);
    tracing::debug!(method, code, ?took, "answered");
}

/// Returns the code under which an outcome is counted.
fn code(outcome: &Outcome) -> i32 {
    outcome.as_ref().map_or_else(|error| error.code.number(), |_| 0)
}

impl<'a> Call<'a> {
    fn style(&self) -> ResultStyle {
        self.state.style(self.caller, self.era)
    }

    fn result(&self) -> ResultText {
        self.style().begin()
    }

    fn uri(&self) -> Result<Cow<'a, str>, RpcError> {
        let raw =
            self.params.uri.ok_or_else(|| RpcError::invalid_params("`params.uri` is required."))?;
        string(raw, "params.uri")
    }

    fn listen(&self, request: &Request<'_>) -> Answer {
        // Listening starts before the snapshot is read. The other way round, a change in between
        // would reach neither the snapshot nor the subscription.
        let feed = self.state.feed(self.caller);
        let snapshot = self.state.catalog.now(self.caller.view);
        let snapshot = snapshot.as_ref().unwrap_or(&self.snapshot);
        let call = Call { snapshot: Arc::clone(snapshot), ..*self };
        match Subscription::open(request, |uri| call.follow(uri), feed) {
            Ok(subscription) => Answer::Stream(Box::new(subscription)),
            Err(error) => Answer::Now(Err(error)),
        }
    }

    /// Checks only the URI; the transport's session keeps legacy subscriptions.
    fn check_subscription(&self) -> Outcome {
        let uri = self.uri()?;
        self.follow(&uri).map(|_| nothing()).ok_or_else(|| self.resource_not_found(&uri))
    }

    fn resource_not_found(&self, uri: &str) -> RpcError {
        // Only the generator knows whether a path inside a generated skill is a directory.
        let is_directory = match self.snapshot.directory(uri) {
            None => false,
            Some(FoundDirectory::Generated(_, path)) => path.is_empty(),
            Some(FoundDirectory::Stored(..) | FoundDirectory::Above(_)) => true,
        };
        let message = if is_directory && self.state.config.directory_read {
            format!("`{}` is a directory; list it with `resources/directory/read`.", truncated(uri))
        } else {
            format!("No resource is served at `{}`.", truncated(uri))
        };
        about_resource(self.era, uri, message)
    }
}

/// Returns the error for a file that no longer matches its published digest.
///
/// It says that the file is not served, because a host then refreshes the skill, as it should here.
pub(crate) fn resource_changed(era: Era, uri: &str) -> RpcError {
    let message = format!(
        "`{}` has changed since its skill was published; ask for the skill again.",
        truncated(uri)
    );
    about_resource(era, uri, message)
}

/// Returns an error about a resource, with the code of its era.
pub(crate) fn about_resource(era: Era, uri: &str, message: String) -> RpcError {
    let code = match era {
        Era::Modern => ErrorCode::InvalidParams,
        Era::Legacy => ErrorCode::LegacyResourceNotFound,
    };
    RpcError::new(code, message).with_data(serde_json::json!({ "uri": truncated(uri) }))
}

/// Returns the error for a cursor that this server did not make.
pub(crate) fn invalid_cursor() -> RpcError {
    RpcError::invalid_params(
        "`params.cursor` is not a cursor of this listing; start again without one.",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use skillwire_catalog::{CatalogDelta, FileRecord, FileStore, FileTree, SnapshotOptions};
    use skillwire_core::{Frontmatter, RelPath, SkillUri};
    use skillwire_protocol::message::{self, Message};
    use skillwire_source::{FileStoreError, Skill, SkillContent};

    use super::*;

    fn answer(engine: &Engine, method: &str, params: &serde_json::Value) {
        let request = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": params
        });
        let text = request.to_string();
        let Ok(Message::Request(request)) = message::read(text.as_bytes()) else {
            panic!("{text} is a request");
        };
        engine.answer(&Caller::default(), Era::Modern, &request);
    }

    #[tokio::test]
    async fn every_method_of_the_table_has_a_label_and_made_up_ones_share_one() {
        let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
        let engine = Engine::builder(catalog, CursorSeal::new([0; 32])).build();
        for method in method::client_requests() {
            answer(&engine, method.name, &serde_json::json!({}));
        }
        for n in 0..100 {
            answer(&engine, &format!("evil/{n}"), &serde_json::json!({}));
        }
        let text = engine.metrics().text();
        for method in [method::TOOLS_CALL, method::PROMPTS_GET, method::SKILLS_LIST] {
            let labels =
                format!(r#"{{method="{method}",code="-32603",mount="/mcp",outcome="failed"}} 1"#);
            assert!(text.contains(&labels), "{text}");
        }
        assert!(
            text.contains(r#"{method="other",code="-32603",mount="/mcp",outcome="failed"} 100"#)
        );
        assert!(!text.contains("evil"));
    }

    #[tokio::test]
    async fn work_that_panics_later_is_answered_srv_89() {
        let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
        let engine = Engine::builder(catalog, CursorSeal::new([0; 32])).build();
        let work = async { std::panic::resume_unwind(Box::new("secret")) };
        let answer = Answer::Later(Box::pin(work));
        let Answer::Later(work) = engine.count("resources/read", Instant::now(), answer) else {
            panic!("it is still to be waited for");
        };
        let error = work.await.expect_err("a panic is no result");
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(!error.message.contains("secret"), "{}", error.message);
        let counted = r#"method="resources/read",code="-32603",mount="/mcp",outcome="failed"} 1"#;
        assert!(engine.metrics().text().contains(counted));
    }

    /// Files that are in no directory, and count how often they are asked where they are.
    #[derive(Debug, Default)]
    struct Elsewhere(AtomicUsize);

    impl FileStore for Elsewhere {
        fn read(&self, _: &RelPath, _: u64) -> Result<bytes::Bytes, FileStoreError> {
            Err(FileStoreError::failed("no file is read"))
        }

        fn directory(&self) -> Option<std::path::PathBuf> {
            self.0.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    #[test]
    fn a_change_looks_at_no_file_of_the_other_skills() {
        let store = Arc::new(Elsewhere::default());
        let skill = |number: usize| {
            let fields = json!({ "name": format!("s{number}"), "description": "Use it." });
            let fields = fields.as_object().unwrap().clone();
            let uri = format!("skill://s{number}/SKILL.md");
            let tree = FileTree {
                files: [FileRecord::new(RelPath::skill_file(), b"text")].into(),
                empty_directories: Box::default(),
                store: Arc::clone(&store) as Arc<dyn FileStore>,
            };
            let frontmatter = Frontmatter::from_fields(fields).unwrap();
            let content = SkillContent::Files(tree);
            Arc::new(Skill::new(SkillUri::parse(&uri).unwrap(), frontmatter, content))
        };
        let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
        let place = |placed: Vec<_>| catalog.publish(&CatalogDelta { removed: Vec::new(), placed });
        place((0..500).map(skill).collect());
        let engine = Engine::builder(Arc::clone(&catalog), CursorSeal::new([7; 32])).build();
        engine.warm();
        let before = store.0.load(Ordering::Relaxed);
        place(vec![skill(500)]);
        engine.warm();
        let looked = store.0.load(Ordering::Relaxed) - before;
        assert!(looked < 5, "{looked} looks");
    }
}
