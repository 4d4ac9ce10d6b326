//! Messages over streamable HTTP: one request each, answered with JSON or with events.

mod events;
mod headers;
mod sse;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming as Body;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use skillwire_protocol::{Era, RequestId, method};
use tokio::{runtime::Handle, sync::broadcast, time::timeout};

use self::events::EventStream;
use super::{
    bearer::Bearer,
    call::{OutgoingRequest, cancelled},
    changes::{self, Change, Changes, SubscriptionGuard},
    conversation::Conversations,
    error::ClientError,
    http_client::{Destinations, HttpClient, HttpRequest, collect, is_loopback},
    incoming::{self, Incoming},
    masking::SecretMask,
    pipe::answer_to,
    task::OwnedTask,
};
use crate::secret::Secret;

/// The size limit for errors and notifications.
const SMALL_BYTES: usize = 256 * 1024;

/// A server at a URL.
pub(super) struct StreamableHttp {
    client: HttpClient,
    url: Uri,
    headers: HeaderMap,
    /// Supplies short-lived tokens.
    bearer: Option<Arc<dyn Bearer>>,
    /// The legacy session, once the server has opened one.
    session: Mutex<Option<HeaderValue>>,
    /// Sends a legacy server's announcements to their listeners while the session's stream is open.
    ///
    /// The sender is weak: the task that follows the stream owns the lasting strong one, so
    /// listeners see the end of the channel as soon as the stream ends.
    overheard: Mutex<Option<broadcast::WeakSender<Change>>>,
    /// The task that follows that stream, one per session.
    ///
    /// `overhear` holds this lock while it opens the stream, so that two listeners that come at
    /// once do not open two.
    stream: tokio::sync::Mutex<Option<OwnedTask>>,
    closed: AtomicBool,
    /// Learns the tokens of a login, which are renewed while the client runs.
    secrets: Arc<SecretMask>,
    conversations: Arc<Conversations>,
}

impl StreamableHttp {
    /// Prepares to talk to a URL; sends nothing yet.
    pub(super) fn new(
        url: &str,
        extra: &[(String, Secret)],
        bearer: Option<Arc<dyn Bearer>>,
        connect_timeout: Duration,
        secrets: Arc<SecretMask>,
    ) -> Result<Self, ClientError> {
        let url = headers::url(url)?;
        let destinations = match bearer {
            // A token of a login must not be readable on the way.
            Some(_) => Destinations::Confidential {
                this_machine: url.host().is_some_and(is_loopback),
                private_network: true,
            },
            None => Destinations::Configured,
        };
        destinations
            .check(&url)
            .map_err(|_| ClientError::unreachable("a token is sent to `https` URLs only"))?;
        Ok(Self {
            client: HttpClient::new(destinations, connect_timeout),
            secrets,
            url,
            headers: headers::configured(extra)?,
            bearer,
            session: Mutex::default(),
            overheard: Mutex::default(),
            stream: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
            conversations: Arc::default(),
        })
    }

    /// Delivers messages before answers to these callers.
    pub(super) fn conversing(self, conversations: Arc<Conversations>) -> Self {
        Self { conversations, ..self }
    }

    fn overheard(&self) -> Option<broadcast::Sender<Change>> {
        self.overheard.lock().as_ref()?.upgrade()
    }

    /// Sends a request and waits for its answer; dropping the future closes the exchange.
    pub(super) async fn call(
        self: &Arc<Self>,
        call: &OutgoingRequest,
        bytes: usize,
    ) -> Result<Box<RawValue>, ClientError> {
        let mut pending_request = PendingRequest::new(self, call);
        let outcome = self.exchange(call, bytes).await;
        pending_request.version = None;
        outcome
    }

    async fn exchange(
        self: &Arc<Self>,
        call: &OutgoingRequest,
        bytes: usize,
    ) -> Result<Box<RawValue>, ClientError> {
        let response = self.post(call.version, Some(call), call.text.clone()).await?;
        let response = self.accept(response, call.id, bytes).await?;
        if call.method == method::INITIALIZE {
            *self.session.lock() = response.headers().get(headers::SESSION).cloned();
            // The stream of an earlier session is useless now.
            *self.stream.lock().await = None;
        }
        if !headers::is_event_stream(response.headers()) {
            let bytes = collect(response.into_body(), bytes).await?;
            return own_answer(incoming::read(&bytes).map_err(|wrong| wrong.problem)?, call.id);
        }
        let mut events = EventStream::of_answer(response.into_body(), bytes);
        while let Some(event) = events.next().await? {
            match incoming::read(&event).map_err(|wrong| wrong.problem)? {
                answer @ Incoming::Answer { .. } => return own_answer(answer, call.id),
                other => self.aside(call, other),
            }
        }
        Err(ClientError::protocol("a stream ended before the answer"))
    }

    /// Handles a message that arrives before the answer: legacy servers send notifications and
    /// requests there too.
    fn aside(self: &Arc<Self>, call: &OutgoingRequest, message: Incoming<'_>) {
        if let Incoming::Notification { method, params } = &message
            && method == method::PROGRESS
        {
            return self.conversations.progress(*params);
        }
        let Some(version) = call.version.filter(|_| call.era() == Era::Legacy) else { return };
        match message {
            Incoming::Notification { method, params } => {
                if let Some(change) = incoming::change(&method, params)
                    && let Some(overheard) = self.overheard()
                {
                    let _ = overheard.send(change);
                }
            }
            Incoming::Request { id, method, params } => {
                self.requested(Some(call.id), version, id, &method, params);
            }
            Incoming::Answer { .. } => {}
        }
    }

    /// Answers a request of a legacy server, or has the caller of `of` answer it.
    fn requested(
        self: &Arc<Self>,
        of: Option<u64>,
        version: &'static str,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) {
        if method != method::ELICIT {
            return self.later(version, answer_to(&id, method));
        }
        let (http, runtime) = (Arc::clone(self), Handle::try_current().ok());
        let send = move |text| {
            // The answer may be given outside of a runtime.
            let _entered = runtime.as_ref().map(Handle::enter);
            http.later(version, text);
        };
        self.conversations.ask(of, id, params, send);
    }

    /// Opens a modern subscription.
    pub(super) async fn listen(
        self: &Arc<Self>,
        call: &OutgoingRequest,
    ) -> Result<Changes, ClientError> {
        let response = self.post(call.version, Some(call), call.text.clone()).await?;
        let response = self.accept(response, call.id, SMALL_BYTES).await?;
        if !headers::is_event_stream(response.headers()) {
            let bytes = collect(response.into_body(), SMALL_BYTES).await?;
            own_answer(incoming::read(&bytes).map_err(|wrong| wrong.problem)?, call.id)?;
            return Err(ClientError::protocol("a subscription ended before it began"));
        }
        let mut events = EventStream::of_stream(response.into_body(), SMALL_BYTES);
        loop {
            let Some(event) = events.next().await? else {
                return Err(ClientError::protocol("a subscription ended before it began"));
            };
            match incoming::read(&event).map_err(|wrong| wrong.problem)? {
                Incoming::Notification { method, .. } if method == method::ACKNOWLEDGED => break,
                answer @ Incoming::Answer { .. } => {
                    own_answer(answer, call.id)?;
                    return Err(ClientError::protocol("a subscription ended before it began"));
                }
                _ => {}
            }
        }
        let changes = changes::channel();
        let receiver = changes.subscribe();
        let task = tokio::spawn(follow(events, changes, None));
        Ok(Changes::new(receiver, Some(SubscriptionGuard::task(task.abort_handle()))))
    }

    /// Subscribes to the changes that a legacy server announces on the one stream of the session.
    pub(super) async fn overhear(
        self: &Arc<Self>,
        version: &'static str,
    ) -> Result<Changes, ClientError> {
        let mut stream = self.stream.lock().await;
        if let Some(overheard) = self.overheard() {
            return Ok(Changes::new(overheard.subscribe(), None));
        }
        let mut request = self.request(Some(version), None)?;
        *request.method_mut() = Method::GET;
        let accept = HeaderValue::from_static("text/event-stream");
        request.headers_mut().insert(header::ACCEPT, accept);
        let response = self.send(request).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            // This server announces no changes.
            return Ok(Changes::new(changes::channel().subscribe(), None));
        }
        if !response.status().is_success() || !headers::is_event_stream(response.headers()) {
            return Err(ClientError::HttpStatus(response.status().as_u16()));
        }
        let events = EventStream::of_stream(response.into_body(), SMALL_BYTES);
        let overheard = changes::channel();
        let receiver = overheard.subscribe();
        let weak = overheard.downgrade();
        *self.overheard.lock() = Some(weak);
        let asker = Some((Arc::downgrade(self), version));
        *stream = Some(OwnedTask::spawn(follow(events, overheard, asker)));
        Ok(Changes::new(receiver, None))
    }

    /// Sends a notification of the legacy era.
    pub(super) async fn notify(
        &self,
        version: &'static str,
        text: String,
    ) -> Result<(), ClientError> {
        let response = self.post(Some(version), None, text).await?;
        let status = response.status();
        // Servers accept with 202, and some with 200 or 204.
        if status.is_success() { Ok(()) } else { Err(ClientError::HttpStatus(status.as_u16())) }
    }

    /// Sends a message without waiting for the server to accept it.
    fn later(self: &Arc<Self>, version: &'static str, text: String) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let http = Arc::clone(self);
            let patience = Duration::from_secs(5);
            runtime.spawn(async move {
                let _ = timeout(patience, http.notify(version, text)).await;
            });
        }
    }

    /// Ends the session, if there is one, and makes every later request fail.
    pub(super) async fn close(&self, grace: Duration) {
        *self.stream.lock().await = None;
        let session = self.session.lock().take();
        if let Some(session) = session
            && let Ok(mut request) = self.request(None, None)
        {
            *request.method_mut() = Method::DELETE;
            request.headers_mut().insert(headers::SESSION, session);
            let _ = timeout(grace, self.send(request)).await;
        }
        self.closed.store(true, Ordering::Relaxed);
    }

    async fn post(
        &self,
        version: Option<&'static str>,
        call: Option<&OutgoingRequest>,
        text: String,
    ) -> Result<Response<Body>, ClientError> {
        let mut request = self.request(version, call)?;
        *request.body_mut() = Full::new(Bytes::from(text));
        self.send(request).await
    }

    fn request(
        &self,
        version: Option<&'static str>,
        call: Option<&OutgoingRequest>,
    ) -> Result<HttpRequest, ClientError> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = self.headers.clone();
        // `initialize` opens a session, so it must not carry the id of an earlier one.
        let session = version.and_then(|_| self.session.lock().clone());
        headers::add(request.headers_mut(), version, call, session)?;
        Ok(request)
    }

    async fn send(&self, request: HttpRequest) -> Result<Response<Body>, ClientError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(ClientError::closed("it was closed here"));
        }
        let response = match &self.bearer {
            Some(bearer) => self.send_with(&**bearer, request).await?,
            None => self.client.send(request).await?,
        };
        if response.status().is_redirection() {
            return Err(ClientError::Redirected(headers::target(response.headers())));
        }
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // A user who configured a token has to fix that token; a login would not help.
        if self.headers.contains_key(header::AUTHORIZATION) {
            return Err(ClientError::TokenRefused);
        }
        let why = if self.bearer.is_some() { "it refuses a new token" } else { "there is none" };
        Err(ClientError::LoginRequired(why.to_owned()))
    }

    /// Sends a request with a token, and once more with a new token if the server refuses the
    /// first.
    async fn send_with(
        &self,
        bearer: &dyn Bearer,
        mut request: HttpRequest,
    ) -> Result<Response<Body>, ClientError> {
        let token = bearer.token().await?;
        self.secrets.add(&token);
        request.headers_mut().insert(header::AUTHORIZATION, headers::bearer(&token)?);
        let response = self.client.send(request.clone()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let token = bearer.renew(&token).await?;
        self.secrets.add(&token);
        request.headers_mut().insert(header::AUTHORIZATION, headers::bearer(&token)?);
        self.client.send(request).await
    }

    /// Accepts a response that can hold an answer, or returns the error that it stands for.
    async fn accept(
        &self,
        response: Response<Body>,
        id: u64,
        bytes: usize,
    ) -> Result<Response<Body>, ClientError> {
        let status = response.status();
        if status.is_success() {
            headers::check_content(response.headers())?;
            return Ok(response);
        }
        let body = collect(response.into_body(), bytes.min(SMALL_BYTES)).await;
        // Modern servers send JSON-RPC errors with an HTTP error status.
        if let Ok(body) = &body
            && let Ok(Incoming::Answer { id: found, outcome: Err(error) }) = incoming::read(body)
            && found.is_none_or(|found| found.as_json() == id.to_string())
        {
            return Err(error);
        }
        if status == StatusCode::NOT_FOUND && self.session.lock().is_some() {
            return Err(ClientError::closed("the server ended the session"));
        }
        Err(ClientError::HttpStatus(status.as_u16()))
    }
}

/// Takes the answer to this request and refuses any other.
fn own_answer(message: Incoming<'_>, id: u64) -> Result<Box<RawValue>, ClientError> {
    match message {
        Incoming::Answer { id: Some(found), outcome } if found.as_json() == id.to_string() => {
            outcome.map(ToOwned::to_owned)
        }
        Incoming::Answer { id: None, outcome: Err(error) } => Err(error),
        Incoming::Answer { .. } => Err(ClientError::protocol("an answer has another request's id")),
        _ => Err(ClientError::protocol("a body is not an answer")),
    }
}

/// Forwards a stream's announcements until it ends, and answers a legacy server's requests on it.
async fn follow(
    mut events: EventStream,
    changes: broadcast::Sender<Change>,
    legacy: Option<(Weak<StreamableHttp>, &'static str)>,
) {
    while let Ok(Some(event)) = events.next().await {
        match incoming::read(&event) {
            Ok(Incoming::Notification { method, params }) => {
                if let Some(change) = incoming::change(&method, params) {
                    let _ = changes.send(change);
                }
            }
            Ok(Incoming::Answer { .. }) => return,
            Ok(Incoming::Request { id, method, params }) => {
                if let Some((http, version)) = &legacy
                    && let Some(http) = http.upgrade()
                {
                    http.requested(None, version, id, &method, params);
                }
            }
            // Messages that cannot be read are skipped: one of them must not end the stream.
            Err(_) => {}
        }
    }
}

/// A request without an answer yet; dropping it tells a legacy server that the caller no longer
/// waits.
struct PendingRequest {
    http: Arc<StreamableHttp>,
    id: u64,
    version: Option<&'static str>,
}

impl PendingRequest {
    fn new(http: &Arc<StreamableHttp>, call: &OutgoingRequest) -> Self {
        let told = call.era() == Era::Legacy && call.may_be_cancelled();
        Self { http: Arc::clone(http), id: call.id, version: call.version.filter(|_| told) }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(version) = self.version {
            self.http.later(version, cancelled(self.id));
        }
    }
}
