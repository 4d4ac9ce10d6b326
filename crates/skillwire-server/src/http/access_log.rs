//! What the server tells a program about each request, for an access log.

use std::{
    fmt,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, Response};
use serde_json::value::RawValue;
use skillwire_catalog::{FoundFile, Snapshot};
use skillwire_core::ContentId;
use skillwire_engine::Engine;
use skillwire_protocol::{
    message::{Request, string},
    meta,
    trace::{TRACE_PARENT, TraceParent},
    truncated,
};

use tracing::{Span, field::Empty};

use super::auth::Grant;

/// Takes a record of each request, such as for a file.
///
/// It is called while a request is answered, so it must neither block nor take long.
pub trait AccessLog: Send + Sync + fmt::Debug {
    /// Tells whether the next request is recorded; this is where a log takes samples.
    fn wants(&self) -> bool;

    /// Takes the record of a request whose answer is ready.
    fn record(&self, record: &AccessRecord<'_>);
}

/// Whether a request was admitted, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AccessDecision {
    /// The request was answered, with a result or an error.
    #[default]
    Admitted,
    /// It had no token, or an unknown one.
    NoToken,
    /// Its token is not valid.
    InvalidToken,
    /// Its token lacks a scope, or its caller a role.
    Forbidden,
    /// Its token could not be checked.
    Unavailable,
    /// It named a host or an origin that is not allowed.
    ForeignHost,
    /// Its caller asks too often.
    RateLimited,
}

impl AccessDecision {
    /// Returns the word that logs and metrics have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::NoToken => "no-token",
            Self::InvalidToken => "invalid-token",
            Self::Forbidden => "forbidden",
            Self::Unavailable => "unavailable",
            Self::ForeignHost => "foreign-host",
            Self::RateLimited => "rate-limited",
        }
    }
}

/// One request. It holds no token, no argument of a tool and no query of an address.
#[derive(Debug)]
#[non_exhaustive]
pub struct AccessRecord<'a> {
    /// The address that the request came from.
    pub peer: Option<IpAddr>,
    /// The name of the caller, if the request was admitted with a token.
    pub caller: Option<&'a str>,
    /// Where the request was sent, such as `/mcp/c/stable`.
    pub mount: &'a str,
    /// The method of the message, or of HTTP where there is no message.
    pub method: &'a str,
    /// The URI that the message is about, or the path of the address.
    pub uri: Option<&'a str>,
    /// The tool, prompt or skill that the message names.
    pub name: Option<&'a str>,
    /// The content of the skill at the URI.
    pub content: Option<ContentId>,
    /// Whether the request was admitted.
    pub decision: AccessDecision,
    /// The status of HTTP.
    pub status: u16,
    /// The code of the error in the answer; 0 for a result.
    pub code: i32,
    /// The time until the answer was ready to be sent.
    pub took: Duration,
    /// The trace of the client.
    pub trace: Option<TraceParent>,
}

impl<'a> AccessRecord<'a> {
    /// Begins the record of a request that is not a message, such as one for an API.
    pub fn new(mount: &'a str, method: &'a str, status: u16, took: Duration) -> Self {
        Self {
            peer: None,
            caller: None,
            mount,
            method,
            uri: None,
            name: None,
            content: None,
            decision: AccessDecision::default(),
            status,
            code: 0,
            took,
            trace: None,
        }
    }
}

/// The code of the error that a response carries, for the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrorNumber(pub(super) i32);

/// What is noted about a request while it is answered; nothing, unless it is recorded.
pub(super) type Noted = Option<Box<RequestNote>>;

/// What is noted about a request while it is answered.
#[derive(Debug)]
pub(super) struct RequestNote {
    started: Instant,
    /// Whether the log wants the request.
    logged: bool,
    /// The span of the request, if spans are collected.
    pub(super) span: Span,
    grant: Option<Arc<Grant>>,
    method: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    pub(super) decision: AccessDecision,
    trace: Option<TraceParent>,
}

impl RequestNote {
    /// Begins a note, if the log wants one or spans are collected.
    pub(super) fn begin(log: Option<&Arc<dyn AccessLog>>, mount: &str) -> Noted {
        let logged = log.is_some_and(|log| log.wants());
        let span = tracing::debug_span!(
            "http request",
            otel.kind = "server",
            mount,
            traceparent = Empty,
            mcp.method = Empty,
            mcp.uri = Empty,
            caller = Empty,
            decision = Empty,
            http.status = Empty,
            code = Empty,
        );
        (logged || !span.is_disabled()).then(|| {
            Box::new(Self {
                started: Instant::now(),
                logged,
                span,
                grant: None,
                method: None,
                uri: None,
                name: None,
                decision: AccessDecision::Admitted,
                trace: None,
            })
        })
    }

    pub(super) fn admitted(&mut self, grant: &Arc<Grant>) {
        self.grant = Some(Arc::clone(grant));
    }

    /// Notes the path of a request that is not a message.
    pub(super) fn path(&mut self, path: &str) {
        self.uri = Some(truncated(path));
    }

    /// Notes what a message asks for.
    pub(super) fn message(&mut self, headers: &HeaderMap, request: &Request<'_>) {
        let text = |raw: Option<&RawValue>| {
            raw.and_then(|raw| string(raw, "").ok()).map(|text| truncated(&text))
        };
        self.method = Some(truncated(&request.method));
        self.uri = text(request.params.uri);
        self.name = text(request.params.name);
        self.trace = trace_of(headers, request);
        if !self.span.is_disabled() {
            if let Some(trace) = &self.trace {
                self.span.record("traceparent", tracing::field::display(trace));
            }
            self.span.record("mcp.method", self.method.as_deref());
            self.span.record("mcp.uri", self.uri.as_deref());
        }
    }

    /// Ends the span of an answered request, and writes its record.
    pub(super) fn finish<B>(
        &self,
        log: Option<&Arc<dyn AccessLog>>,
        engine: &Engine,
        (peer, method): (Option<IpAddr>, &http::Method),
        response: &Response<B>,
    ) {
        let status = response.status().as_u16();
        let code = response.extensions().get::<ErrorNumber>().map_or(0, |error| error.0);
        let caller = self.grant.as_deref().map(|grant| grant.caller.name.as_str());
        let caller = caller.filter(|name| !name.is_empty());
        if !self.span.is_disabled() {
            self.span.record("caller", caller);
            self.span.record("decision", self.decision.as_str());
            self.span.record("http.status", status);
            self.span.record("code", code);
        }
        let Some(log) = log.filter(|_| self.logged) else { return };
        let snapshot = self.grant.as_ref().and_then(|grant| {
            self.uri.as_ref().and_then(|_| engine.catalog().now(grant.caller.view))
        });
        let content = self.uri.as_deref().zip(snapshot.as_deref());
        log.record(&AccessRecord {
            peer,
            caller,
            mount: engine.metrics().mount_name(),
            method: self.method.as_deref().unwrap_or(method.as_str()),
            uri: self.uri.as_deref(),
            name: self.name.as_deref(),
            content: content.and_then(|(uri, snapshot)| content_at(snapshot, uri)),
            decision: self.decision,
            status,
            code,
            took: self.started.elapsed(),
            trace: self.trace,
        });
    }
}

/// Returns the trace that a message belongs to: its own metadata is closer to it than a header, which
/// a proxy may have set.
pub(super) fn trace_of(headers: &HeaderMap, request: &Request<'_>) -> Option<TraceParent> {
    meta::trace_parent(request.params.meta).or_else(|| {
        let header = headers.get(TRACE_PARENT)?;
        header.to_str().ok()?.parse().ok()
    })
}

/// Returns the content of the skill that a URI belongs to.
fn content_at(snapshot: &Snapshot, uri: &str) -> Option<ContentId> {
    let skill = match snapshot.skill(uri) {
        Some(skill) => skill,
        None => match snapshot.file(uri)? {
            FoundFile::Stored { skill, .. } | FoundFile::Generated(skill, _) => skill,
        },
    };
    skill.content_id()
}
