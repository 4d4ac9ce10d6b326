//! Options of the endpoint.

use std::{fmt, sync::Arc, time::Duration};

use skillwire_engine::Caller;

use super::{
    access::{AccessRefusal, LiveAccessRules},
    access_log::AccessLog,
    protected::ProtectedResource,
    rate::RateLimiter,
};

/// How long a legacy session may be unused unless the operator says otherwise.
const SESSION_IDLE: Duration = Duration::from_hours(1);

/// The most streams of one caller unless the operator says otherwise: a quarter of the connections.
const STREAMS_PER_CALLER: usize = 256;

/// Decides for which callers an endpoint is there.
pub trait EndpointPresence: Send + Sync + fmt::Debug {
    /// Tells whether the endpoint is there for a caller; others get the answer for an address that does not
    /// exist.
    fn is_there(&self, caller: &Caller) -> bool;
}

/// Options of the endpoint that an operator can set.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The hosts and origins from which requests are accepted; they may change while the server runs.
    pub access: LiveAccessRules,
    /// Whether the server answers `/metrics`.
    pub metrics: bool,
    /// How long a legacy session may be unused before it ends.
    pub session_idle: Duration,
    /// The most streams that one caller with a token may have open.
    pub streams_per_caller: usize,
    /// Writes the text for refused requests, in place of the usual text.
    pub refusal_text: Option<fn(AccessRefusal) -> String>,
    /// Where clients without a token get one, if the operator says so.
    pub protected: Option<ProtectedResource>,
    /// How often each caller may ask; there is no limit unless one is set.
    pub rate: RateLimiter,
    /// What is told of each request.
    pub access_log: Option<Arc<dyn AccessLog>>,
    /// For which callers the endpoint is there; for all of them unless one is set.
    pub presence: Option<Arc<dyn EndpointPresence>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            access: LiveAccessRules::default(),
            metrics: false,
            session_idle: SESSION_IDLE,
            streams_per_caller: STREAMS_PER_CALLER,
            refusal_text: None,
            protected: None,
            rate: RateLimiter::default(),
            access_log: None,
            presence: None,
        }
    }
}

impl HttpOptions {
    /// Sets the hosts and origins from which requests are accepted.
    #[must_use]
    pub fn access(mut self, access: impl Into<LiveAccessRules>) -> Self {
        self.access = access.into();
        self
    }

    /// Sets whether the server answers `/metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: bool) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets how long a legacy session may be unused before it ends.
    #[must_use]
    pub fn session_idle(mut self, time: Duration) -> Self {
        self.session_idle = time;
        self
    }

    /// Sets the most streams that one caller with a token may have open.
    #[must_use]
    pub fn streams_per_caller(mut self, most: usize) -> Self {
        self.streams_per_caller = most;
        self
    }

    /// Sets the text that refused clients get, so that a program can name its own options in it.
    #[must_use]
    pub fn refusal_text(mut self, text: fn(AccessRefusal) -> String) -> Self {
        self.refusal_text = Some(text);
        self
    }

    /// Tells clients without a token where to get one (RFC 9728).
    #[must_use]
    pub fn protected(mut self, protected: ProtectedResource) -> Self {
        self.protected = Some(protected);
        self
    }

    /// Limits how often each caller may ask.
    ///
    /// Services with clones of one limiter count the requests of a caller together.
    #[must_use]
    pub fn rate(mut self, limiter: RateLimiter) -> Self {
        self.rate = limiter;
        self
    }

    /// Sets for which callers the endpoint is there. One without a valid token is asked for it first.
    #[must_use]
    pub fn presence(mut self, presence: Arc<dyn EndpointPresence>) -> Self {
        self.presence = Some(presence);
        self
    }

    /// Sets what is told of each request.
    #[must_use]
    pub fn access_log(mut self, log: Arc<dyn AccessLog>) -> Self {
        self.access_log = Some(log);
        self
    }
}
