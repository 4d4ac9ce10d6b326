//! From a request to its answer, for both eras and every transport.

mod completion;
mod describe;
mod directory;
mod reading;
mod result;
mod skills;
mod templates;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use skillwire_catalog::{
    catalog::Catalog,
    cursor::CursorSeal,
    listing::{Listing, Page},
    snapshot::{FoundDirectory, Snapshot},
};
use skillwire_protocol::{
    error::{ErrorCode, RpcError, truncated},
    message::{Params, Request, string},
    method,
    version::Era,
};

use self::result::{ResultStyle, ResultText, server_info};
use crate::{
    caller::Caller,
    config::{CacheScope, Config},
    subscription::Subscription,
};

/// What a method answers: a result as JSON text, or an error.
pub type Outcome = Result<String, RpcError>;

/// The answer to a request.
pub enum Answer {
    /// Ready now.
    Now(Outcome),
    /// Ready when generated content is.
    Later(BoxFuture<'static, Outcome>),
    /// A stream of notifications.
    Stream(Box<Subscription>),
}

/// Answers requests from a catalogue.
#[derive(Debug)]
pub struct Engine {
    catalog: Arc<Catalog>,
    config: Config,
    seal: CursorSeal,
    server_info: Arc<str>,
}

/// One request with everything needed to answer it.
struct Call<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    era: Era,
    snapshot: Arc<Snapshot>,
    params: &'a Params<'a>,
}

impl Engine {
    /// Serves a catalogue; `seal` makes this server's cursors unforgeable.
    pub fn new(catalog: Arc<Catalog>, config: Config, seal: CursorSeal) -> Self {
        let server_info = server_info(&config);
        Self { catalog, config, seal, server_info }
    }

    /// The catalogue that is served.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Answers one request under an era the transport has already established.
    ///
    /// The first snapshot must be there. A panic is answered, never passed on.
    pub fn answer(&self, caller: &Caller, era: Era, request: &Request<'_>) -> Answer {
        catch_unwind(AssertUnwindSafe(|| self.dispatch(caller, era, request))).unwrap_or_else(
            |_| {
                tracing::error!(method = truncated(&request.method), "a handler panicked");
                Answer::Now(Err(RpcError::internal()))
            },
        )
    }

    fn dispatch(&self, caller: &Caller, era: Era, request: &Request<'_>) -> Answer {
        let Some(snapshot) = self.catalog.now(caller.view) else {
            return Answer::Now(Err(RpcError::internal()));
        };
        let call = Call { engine: self, caller, era, snapshot, params: &request.params };
        let modern = era == Era::Modern;
        Answer::Now(match &*request.method {
            method::SKILLS_LIST => call.list_skills(),
            method::SKILLS_GET => call.get_skill(),
            method::RESOURCES_READ => return call.read_resource(),
            method::DIRECTORY_READ if self.config.directory_read => return call.read_directory(),
            method::RESOURCES_LIST => call.list_resources(),
            method::RESOURCES_TEMPLATES_LIST => call.list_templates(),
            method::TOOLS_LIST => Ok(call.list_nothing("tools")),
            method::PROMPTS_LIST => Ok(call.list_nothing("prompts")),
            method::TOOLS_CALL => call.refuse_named("tool"),
            method::PROMPTS_GET => call.refuse_named("prompt"),
            method::COMPLETE => call.complete(),
            method::DISCOVER if modern => Ok(call.discover()),
            method::LISTEN if modern => return call.listen(request),
            method::INITIALIZE if !modern => call.initialize(),
            method::PING if !modern => Ok("{}".to_owned()),
            method::RESOURCES_SUBSCRIBE if !modern => call.check_subscription(),
            // Always possible: what was subscribed to may be gone by now.
            method::RESOURCES_UNSUBSCRIBE if !modern => call.uri().map(|_| "{}".to_owned()),
            other => Err(RpcError::method_not_found(other)),
        })
    }
}

impl Call<'_> {
    fn style(&self) -> ResultStyle {
        let config = &self.engine.config;
        let own = self.caller.is_distinguished();
        ResultStyle {
            era: self.era,
            ttl_ms: config.ttl_ms,
            scope: if own { CacheScope::Private } else { config.cache_scope },
            server_info: Arc::clone(&self.engine.server_info),
        }
    }

    fn result(&self) -> ResultText {
        self.style().begin()
    }

    fn uri(&self) -> Result<String, RpcError> {
        let raw =
            self.params.uri.ok_or_else(|| RpcError::invalid_params("`params.uri` is required."))?;
        string(raw, "params.uri")
    }

    /// Cuts the page a request asks for; `scope` names the listing within its method.
    fn page<'l>(
        &self,
        listing: &'l Listing,
        method: &str,
        scope: &str,
    ) -> Result<Page<'l>, RpcError> {
        let after = match self.params.cursor {
            Some(raw) => Some(self.open_cursor(raw, method, scope)?),
            None => None,
        };
        Ok(listing.page(after.as_deref(), self.engine.config.page_size))
    }

    fn open_cursor(&self, raw: &RawValue, method: &str, scope: &str) -> Result<String, RpcError> {
        let cursor = string(raw, "params.cursor")?;
        self.engine.seal.open(&[method, &self.caller.name, scope], &cursor).map_err(|_| {
            RpcError::invalid_params(
                "`params.cursor` is not a cursor of this listing; start again without one.",
            )
        })
    }

    /// Writes the items of a page and the cursor of the next one.
    fn write_page(
        &self,
        result: &mut ResultText,
        member: &str,
        page: &Page<'_>,
        method: &str,
        scope: &str,
    ) {
        result.array(member, page.items);
        if let Some(next) = page.next {
            let cursor = self.engine.seal.seal(&[method, &self.caller.name, scope], next);
            result.string("nextCursor", &cursor);
        }
    }

    fn list_resources(&self) -> Outcome {
        let page = self.page(self.snapshot.listed_resources(), method::RESOURCES_LIST, "")?;
        let mut result = self.result();
        self.write_page(&mut result, "resources", &page, method::RESOURCES_LIST, "");
        result.cacheable();
        result.server_info();
        Ok(result.finish())
    }

    /// Answers a list method for which a server of skills has nothing.
    fn list_nothing(&self, member: &str) -> String {
        let mut result = self.result();
        result.array(member, &[]);
        result.cacheable();
        result.server_info();
        result.finish()
    }

    /// Answers a call by name for which there can be no match.
    fn refuse_named(&self, kind: &str) -> Outcome {
        let name = match self.params.name {
            Some(raw) => string(raw, "params.name")?,
            None => return Err(RpcError::invalid_params("`params.name` is required.")),
        };
        Err(RpcError::invalid_params(format!("There is no {kind} `{}`.", truncated(&name))))
    }

    fn listen(&self, request: &Request<'_>) -> Answer {
        let changes = self.engine.catalog.changes();
        match Subscription::open(request, self.caller, &self.snapshot, changes) {
            Ok(subscription) => Answer::Stream(Box::new(subscription)),
            Err(error) => Answer::Now(Err(error)),
        }
    }

    /// Legacy subscriptions are kept by the transport's session; here only the URI is judged.
    fn check_subscription(&self) -> Outcome {
        let uri = self.uri()?;
        match self.snapshot.file(&uri) {
            Some(_) => Ok("{}".to_owned()),
            None => Err(self.resource_not_found(&uri)),
        }
    }

    fn resource_not_found(&self, uri: &str) -> RpcError {
        let code = match self.era {
            Era::Modern => ErrorCode::InvalidParams,
            Era::Legacy => ErrorCode::LegacyResourceNotFound,
        };
        // Whether a path inside a generated skill is a directory only its generator knows.
        let is_directory = matches!(
            self.snapshot.directory(uri),
            Some(FoundDirectory::Stored(_) | FoundDirectory::Generated(_, None))
        );
        let message = if is_directory && self.engine.config.directory_read {
            format!("`{}` is a directory; list it with `resources/directory/read`.", truncated(uri))
        } else {
            format!("No resource is served at `{}`.", truncated(uri))
        };
        RpcError::new(code, message).with_data(serde_json::json!({ "uri": truncated(uri) }))
    }
}
