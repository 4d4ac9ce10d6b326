//! Spans and events as they are sent.

use std::time::SystemTime;

use skillwire_protocol::trace::TraceParent;
use tracing::Level;

/// What is known about a span or an event besides its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// The name of the field.
    pub key: String,
    /// The value of the field.
    pub value: AttributeValue,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Flag(bool),
}

/// A span that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpanRecord {
    /// The trace that the span belongs to.
    pub trace: u128,
    /// The id of the span.
    pub id: u64,
    /// The span around this one, here or at the client.
    pub parent: Option<u64>,
    /// The name of the span.
    pub name: String,
    /// Whether the span answers a request of another program.
    pub is_server: bool,
    /// When the span began.
    pub start: SystemTime,
    /// When the span ended.
    pub end: SystemTime,
    /// What is known about the span.
    pub attributes: Vec<Attribute>,
    /// Whether an error was logged within the span.
    pub failed: bool,
}

/// One line of the log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LogRecord {
    /// When it was written.
    pub time: SystemTime,
    /// How grave it is.
    pub level: Level,
    /// The message.
    pub body: String,
    /// What is known besides the message.
    pub attributes: Vec<Attribute>,
    /// The trace and the span in which it was written.
    pub within: Option<(u128, u64)>,
}

/// The program that spans and lines come from.
#[derive(Debug, Clone)]
pub struct Resource(pub(crate) Vec<(String, String)>);

impl Resource {
    /// Names a program and its version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let pair = |key: &str, value| (key.to_owned(), value);
        Self(vec![
            pair("service.name", name.into()),
            pair("service.version", version.into()),
            pair("telemetry.sdk.name", "skillwire-otlp".to_owned()),
            pair("telemetry.sdk.language", "rust".to_owned()),
        ])
    }

    /// Adds an attribute, in place of one with the same name.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let key = key.into();
        self.0.retain(|(known, _)| *known != key);
        self.0.push((key, value.into()));
        self
    }
}

/// Which traces are collected.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// The share of traces that begin here, from 0 to 1.
    pub share: f64,
    /// Whether a client decides about traces that began at it.
    pub follows_client: bool,
}

/// All traces, except those that their client does not collect.
impl Default for Sampling {
    fn default() -> Self {
        Self { share: 1.0, follows_client: true }
    }
}

impl Sampling {
    /// Sets the share of traces that begin here, from 0 to 1.
    #[must_use]
    pub fn with_share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    /// Says whether a client decides about traces that began at it.
    #[must_use]
    pub fn following_client(self, follows_client: bool) -> Self {
        Self { follows_client, ..self }
    }
}

impl Sampling {
    /// Decides about a trace by its id, so that all programs of the trace decide alike.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share needs no more digits, and the lowest bits of an id are the random ones"
    )]
    pub(crate) fn takes(self, trace: u128, client: Option<&TraceParent>) -> bool {
        if let Some(client) = client.filter(|_| self.follows_client) {
            return client.is_sampled();
        }
        let bound = (self.share.clamp(0.0, 1.0) * u64::MAX as f64) as u64;
        self.share >= 1.0 || (trace as u64) < bound
    }
}

/// What was collected since the last time.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TelemetryBatch {
    /// Spans that ended.
    pub spans: Vec<SpanRecord>,
    /// Lines that were written.
    pub logs: Vec<LogRecord>,
    /// How many spans and lines found no room.
    pub lost: u64,
}
