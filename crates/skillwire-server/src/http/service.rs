//! Handles one HTTP request, from access checks to the answer.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body;
use skillwire_catalog::ViewId;
use skillwire_protocol::{message::Message, meta, method, version::LEGACY};
use tokio::sync::{Semaphore, watch};
use tracing::{Instrument as _, Span};

use super::{
    ENDPOINT,
    access::AccessRefusal,
    access_log::{AccessDecision, AccessLog, Noted, RequestNote},
    auth::{Grant, TokenTable, Unauthorized},
    body::{self, ResponseBody},
    compress::{accepts_gzip, compress},
    content, headers,
    legacy::Sessions,
    options::HttpOptions,
    protected::{self, ProtectedResource},
    rate::{ConnectionPeer, RateBucket, RateRefusal},
    refusal_log::RefusalLog,
    reply,
    stream_shares::StreamShares,
    verified::TokenRefusal,
};
use skillwire_engine::{Caller, Engine, dialect::is_well_known, metrics::Metrics};

/// How long a request body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The most large bodies that are received at once: 16 of 4 MiB each.
const LARGE_BODIES: usize = 16;

/// Answers HTTP requests; clones share everything.
#[derive(Clone)]
pub struct HttpService {
    inner: Arc<ServiceInner>,
    /// The other end of the connection, if the listener told it.
    peer: Option<Arc<ConnectionPeer>>,
}

/// The callers that are admitted, and the view of the public.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    /// The callers by token; without a table, every request is admitted and sees everything.
    pub(crate) tokens: Option<Arc<TokenTable>>,
    /// The view of the skills published under `/.well-known/`, if there are any.
    pub(crate) public: Arc<ArcSwapOption<ViewId>>,
}

struct ServiceInner {
    engine: Arc<Engine>,
    options: HttpOptions,
    admission: Admission,
    /// The grant of every client, if there are no tokens.
    everyone: Arc<Grant>,
    refusals: RefusalLog,
    sessions: Arc<Sessions>,
    stopping: watch::Sender<bool>,
    large_bodies: Semaphore,
    streams: StreamShares,
}

impl HttpService {
    /// Creates a service that answers from an engine.
    pub(crate) fn new(engine: Arc<Engine>, admission: Admission, options: HttpOptions) -> Self {
        let inner = Arc::new(ServiceInner {
            engine,
            admission,
            everyone: Grant::for_everyone(),
            refusals: RefusalLog::default(),
            sessions: Sessions::start(options.session_idle),
            streams: StreamShares::new(options.streams_per_caller),
            options,
            stopping: watch::Sender::new(false),
            large_bodies: Semaphore::new(LARGE_BODIES),
        });
        Self { inner, peer: None }
    }

    /// Returns the same service for the requests of one connection.
    #[must_use]
    pub fn of_peer(&self, peer: Option<&Arc<ConnectionPeer>>) -> Self {
        Self { inner: Arc::clone(&self.inner), peer: peer.map(Arc::clone) }
    }

    /// Returns the metrics of this server.
    pub fn metrics(&self) -> &Metrics {
        self.inner.engine.metrics()
    }

    /// Ends all streams in order, with their last message where there is one.
    pub fn stop(&self) {
        self.inner.stopping.send_replace(true);
    }

    /// Answers one request.
    ///
    /// Futures of rare cases are boxed: the whole future is copied for each request, so space for
    /// them would cost every other request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        match request.uri().path() {
            ENDPOINT => self.endpoint(request).await,
            "/healthz" | "/readyz" => self.readiness(),
            "/metrics" if self.inner.options.metrics => self.numbers(&request),
            path if path.starts_with(protected::DOCUMENT) => self.protected_resource(&request),
            path if is_well_known(path) => Box::pin(self.recorded_well_known(&request)).await,
            _ => reply::refuse(StatusCode::NOT_FOUND, "The endpoint is `/mcp`."),
        }
    }

    /// Tells whether there is a first snapshot, so that requests are answered at once.
    fn readiness(&self) -> Response<ResponseBody> {
        let ready = self.inner.engine.catalog().now(Caller::default().view).is_some();
        let (status, text) = if ready {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "starting\n")
        };
        reply::text(status, "text/plain; charset=utf-8", text)
    }

    /// Counts a request of a sender that needs no token, or refuses it.
    fn charge_peer(&self) -> Result<(), RateRefusal> {
        let rate = &self.inner.options.rate;
        let bucket = self.peer.as_deref().map_or(&**rate.shared(), |peer| peer.bucket(rate));
        self.charge(bucket)
    }

    fn charge(&self, bucket: &RateBucket) -> Result<(), RateRefusal> {
        let charged = self.inner.options.rate.take(bucket);
        if charged.is_err() {
            self.metrics().rate_limited.inc();
        }
        charged
    }

    /// Counts a request for something beside the endpoint, such as an API, or refuses it.
    ///
    /// The caller is known by its token, if this service admitted that before, else by its address.
    pub fn charge_request(&self, headers: &HeaderMap) -> Result<(), RateRefusal> {
        let rate = &self.inner.options.rate;
        if !rate.is_on() {
            return Ok(());
        }
        let tokens = self.inner.admission.tokens.as_ref();
        let named = headers.contains_key(header::AUTHORIZATION);
        match tokens.filter(|_| named).and_then(|tokens| tokens.known_grant(headers)) {
            Some(grant) => self.charge(grant.rate(rate)),
            None => self.charge_peer(),
        }
    }

    /// Makes the answer to a request that [`charge_request`](Self::charge_request) refused.
    pub fn too_often(refusal: RateRefusal) -> Response<ResponseBody> {
        reply::too_often(refusal)
    }

    /// Returns what is told of each request.
    pub fn access_log(&self) -> Option<&Arc<dyn AccessLog>> {
        self.inner.options.access_log.as_ref()
    }

    /// Begins a note about a request, if it is recorded.
    fn note(&self) -> Noted {
        RequestNote::begin(self.access_log(), self.metrics().mount_name())
    }

    /// Records an answered request.
    fn record(&self, note: &Noted, method: &Method, response: &Response<ResponseBody>) {
        if let Some(note) = note {
            let peer = self.peer.as_ref().map(|peer| peer.address());
            note.finish(self.access_log(), &self.inner.engine, (peer, method), response);
        }
    }

    async fn recorded_well_known<B>(&self, request: &Request<B>) -> Response<ResponseBody> {
        let mut note = self.note();
        if let Some(note) = &mut note {
            note.path(request.uri().path());
        }
        let response = match self.charge_peer() {
            Ok(()) => self.well_known(request).await,
            Err(refusal) => {
                decide(&mut note, AccessDecision::RateLimited);
                reply::too_often(refusal)
            }
        };
        self.record(&note, request.method(), &response);
        response
    }

    /// Answers requests for public skills, which need no token.
    async fn well_known<B>(&self, request: &Request<B>) -> Response<ResponseBody> {
        let ServiceInner { engine, options, admission, .. } = &*self.inner;
        let Some(view) = admission.public.load().as_deref().copied() else {
            return reply::refuse(StatusCode::NOT_FOUND, "The endpoint is `/mcp`.");
        };
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if let Err(refusal) = options.access.admit(request.headers(), authority) {
            return self.keep_out(refusal);
        }
        let asked = (request.method(), request.uri().path(), request.headers());
        super::well_known::answer(engine, view, asked).await
    }

    /// Answers a request for `/metrics`, which must pass the same checks as any client.
    fn numbers<B>(&self, request: &Request<B>) -> Response<ResponseBody> {
        let options = &self.inner.options;
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if let Err(refusal) = options.access.admit(request.headers(), authority) {
            return self.keep_out(refusal);
        }
        if let Some(tokens) = &self.inner.admission.tokens {
            let Some(grant) = tokens.known_grant(request.headers()) else {
                return self.unauthorized(request.headers(), &Unauthorized::Missing);
            };
            // Trust boundary: the numbers count skills and requests of every caller, which a caller
            // that sees only some skills must not learn.
            if grant.caller.view != ViewId::EVERYTHING {
                return reply::refuse(
                    StatusCode::FORBIDDEN,
                    "The numbers are for callers that see every skill.",
                );
            }
        }
        let text = self.inner.engine.metrics().text();
        reply::text(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text,
        )
    }

    /// Checks the `Host` and `Origin` of a request that another handler of the same address answers,
    /// such as an API beside the endpoint; the error is the text for its client.
    pub fn check_access<B>(&self, request: &Request<B>) -> Result<(), String> {
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        let admitted = self.inner.options.access.admit(request.headers(), authority);
        admitted.map(drop).map_err(|refusal| self.count_refusal(refusal))
    }

    /// Counts a request that the rules about hosts and origins refuse; returns the text for its client.
    fn count_refusal(&self, refusal: AccessRefusal) -> String {
        self.metrics().refused(AccessDecision::ForeignHost.as_str());
        match self.inner.options.refusal_text {
            Some(text) => text(refusal),
            None => refusal.to_string(),
        }
    }

    fn keep_out(&self, refusal: AccessRefusal) -> Response<ResponseBody> {
        reply::refuse(StatusCode::FORBIDDEN, &self.count_refusal(refusal))
    }

    /// Answers one request to the MCP endpoint; its path does not matter.
    pub async fn endpoint<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let (parts, body) = request.into_parts();
        let mut note = self.note();
        let span = note.as_ref().map_or_else(Span::none, |note| note.span.clone());
        let response = self.answer(&parts, body, &mut note).instrument(span).await;
        self.record(&note, &parts.method, &response);
        response
    }

    async fn answer<B>(
        &self,
        parts: &http::request::Parts,
        body: B,
        note: &mut Noted,
    ) -> Response<ResponseBody>
    where
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        let admitted = match self.inner.options.access.admit(&parts.headers, authority) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                decide(note, AccessDecision::ForeignHost);
                return self.keep_out(refusal);
            }
        };
        let origin = admitted.foreign_origin.map(str::to_owned);
        let response = if parts.method == Method::OPTIONS && origin.is_some() {
            reply::empty(StatusCode::NO_CONTENT)
        } else {
            self.admitted(&parts.method, &parts.headers, body, note).await
        };
        match origin {
            Some(origin) => allow_browser(response, &origin),
            None => response,
        }
    }

    async fn admitted<B>(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: B,
        note: &mut Noted,
    ) -> Response<ResponseBody>
    where
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let of_token;
        let grant = match &self.inner.admission.tokens {
            None => &self.inner.everyone,
            Some(tokens) => {
                let resource = || self.inner.options.protected.as_ref()?.resource(headers);
                match tokens.admit(headers, resource, self.inner.engine.catalog()).await {
                    Ok(grant) => {
                        of_token = grant;
                        &of_token
                    }
                    Err(unauthorized) => {
                        // A sender without a valid token is known by its address alone.
                        if let Err(refusal) = self.charge_peer() {
                            decide(note, AccessDecision::RateLimited);
                            return reply::too_often(refusal);
                        }
                        decide(note, unauthorized.decision());
                        return self.unauthorized(headers, &unauthorized);
                    }
                }
            }
        };
        if let Some(note) = note {
            note.admitted(grant);
        }
        let charged =
            if headers.contains_key(header::AUTHORIZATION) && !grant.caller.name.is_empty() {
                self.charge(grant.rate(&self.inner.options.rate))
            } else {
                self.charge_peer()
            };
        if let Err(refusal) = charged {
            decide(note, AccessDecision::RateLimited);
            return reply::too_often(refusal);
        }
        let presence = self.inner.options.presence.as_ref();
        if presence.is_some_and(|presence| !presence.is_there(&grant.caller)) {
            return reply::refuse(StatusCode::NOT_FOUND, "There is nothing at this address.");
        }
        match *method {
            Method::POST => self.post(grant, headers, body, note).await,
            Method::GET => {
                self.inner.engine.catalog().ready().await;
                let Some(open) = self.inner.streams.open(&grant.caller) else {
                    let text = self.inner.streams.refusal();
                    return reply::refuse(StatusCode::TOO_MANY_REQUESTS, &text);
                };
                let stopping = self.stopping();
                self.inner.sessions.stream(&self.inner.engine, grant, headers, stopping, open)
            }
            Method::DELETE => self.inner.sessions.delete(&grant.caller, headers),
            _ => reply::not_allowed("POST"),
        }
    }

    async fn post<B>(
        &self,
        grant: &Arc<Grant>,
        headers: &HeaderMap,
        body: B,
        note: &mut Noted,
    ) -> Response<ResponseBody>
    where
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        if let Err((status, reason)) = content::check(headers) {
            return reply::refuse(status, reason);
        }
        let bytes = match body::read(body, BODY_TIME, &self.inner.large_bodies).await {
            Ok(bytes) => bytes,
            Err((status, reason)) => return reply::refuse(status, reason),
        };
        let message = match skillwire_protocol::message::read(&bytes) {
            Ok(message) => message,
            Err(malformed) => {
                let id = malformed.id.as_ref();
                return reply::error(StatusCode::BAD_REQUEST, id, &malformed.error);
            }
        };
        self.inner.engine.catalog().ready().await;
        match message {
            Message::Request(request) => {
                if let Some(note) = note {
                    note.message(headers, &request);
                }
                let response = self.request(grant, headers, &request).await;
                let listing =
                    matches!(&*request.method, method::SKILLS_LIST | method::RESOURCES_LIST);
                if listing && accepts_gzip(headers) {
                    Box::pin(compress(response)).await
                } else {
                    response
                }
            }
            Message::Notification(notification) if claims_legacy(headers) => {
                self.inner.sessions.notified(&grant.caller, headers, &notification)
            }
            Message::Notification(_) => reply::empty(StatusCode::ACCEPTED),
            Message::Response(answer) => {
                self.inner.sessions.answered(&grant.caller, headers, &answer)
            }
        }
    }

    async fn request(
        &self,
        grant: &Arc<Grant>,
        headers: &HeaderMap,
        request: &skillwire_protocol::message::Request<'_>,
    ) -> Response<ResponseBody> {
        let engine = &self.inner.engine;
        if is_legacy(headers, request) {
            Box::pin(self.inner.sessions.answer(engine, grant, headers, request)).await
        } else {
            let streams = (&self.inner.streams, &self.inner.stopping);
            super::modern::answer(engine, grant, headers, request, streams).await
        }
    }

    /// Says where clients get tokens, to every client: those without a token are meant.
    pub fn protected_resource<B>(&self, request: &Request<B>) -> Response<ResponseBody> {
        let ServiceInner { options, .. } = &*self.inner;
        let Some(protected) = &options.protected else {
            return reply::refuse(StatusCode::NOT_FOUND, "The endpoint is `/mcp`.");
        };
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if let Err(refusal) = options.access.admit(request.headers(), authority) {
            return self.keep_out(refusal);
        }
        protected.document(request, self.inner.engine.config())
    }

    /// Describes another protected resource of the same hosts, such as an API beside the endpoint.
    pub fn describe<B>(
        &self,
        protected: &ProtectedResource,
        request: &Request<B>,
    ) -> Response<ResponseBody> {
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if let Err(refusal) = self.inner.options.access.admit(request.headers(), authority) {
            return self.keep_out(refusal);
        }
        protected.document(request, self.inner.engine.config())
    }

    /// Refuses a request without a valid token.
    fn unauthorized(&self, headers: &HeaderMap, why: &Unauthorized) -> Response<ResponseBody> {
        self.inner.refusals.note();
        self.metrics().refused(why.decision().as_str());
        let (status, text, error) = match why {
            Unauthorized::Missing => {
                (StatusCode::UNAUTHORIZED, "A valid bearer token is required.", None)
            }
            Unauthorized::Refused(TokenRefusal::Invalid(problem)) => {
                (StatusCode::UNAUTHORIZED, problem.as_str(), Some("invalid_token"))
            }
            Unauthorized::Refused(TokenRefusal::Scope(problem)) => {
                (StatusCode::FORBIDDEN, problem.as_str(), Some("insufficient_scope"))
            }
            Unauthorized::Refused(TokenRefusal::Unavailable(problem)) => {
                return reply::refuse(StatusCode::SERVICE_UNAVAILABLE, problem);
            }
        };
        let mut response = reply::refuse(status, text);
        let protected = self.inner.options.protected.as_ref();
        let challenge = protected.and_then(|it| it.challenge(headers, error));
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        response
    }

    fn stopping(&self) -> watch::Receiver<bool> {
        self.inner.stopping.subscribe()
    }
}

/// Notes whether a request was admitted.
fn decide(note: &mut Noted, decision: AccessDecision) {
    if let Some(note) = note {
        note.decision = decision;
    }
}

/// Decides the era of a request by its own metadata, else by its headers.
fn is_legacy(headers: &HeaderMap, request: &skillwire_protocol::message::Request<'_>) -> bool {
    (&*request.method == method::INITIALIZE || claims_legacy(headers))
        && !meta::is_modern(request.params.meta)
}

/// Tells whether headers are those of a legacy client, by their version or else by a session id.
fn claims_legacy(headers: &HeaderMap) -> bool {
    let version = headers.get(&headers::VERSION).and_then(|value| value.to_str().ok());
    match version {
        Some(version) => LEGACY.contains(&version.trim()),
        None => headers.contains_key(&super::legacy::SESSION),
    }
}

/// Tells the browser that a page of an allowed origin may read the response.
fn allow_browser(mut response: Response<ResponseBody>, origin: &str) -> Response<ResponseBody> {
    let headers = response.headers_mut();
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    let fixed = [
        (header::VARY, "Origin, Accept-Encoding"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
             Mcp-Session-Id",
        ),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
