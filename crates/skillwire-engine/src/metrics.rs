//! Metrics of a running server, in the format of Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use skillwire_protocol::method::Method;

/// The metrics of a server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Histogram,
    /// The sum of all `requests`.
    answers: AtomicU64,
    /// Open connections.
    pub connections: Gauge,
    /// Open streams of notifications.
    pub streams: Gauge,
    /// Open legacy sessions.
    pub sessions: Gauge,
    /// Served skills.
    pub skills: Gauge,
    /// Published snapshots.
    pub snapshots: Counter,
    /// Answers to `resources/read` from the cache.
    pub contents_kept: Counter,
    /// Answers to `resources/read` for which a file was read.
    pub contents_read: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    code: i32,
}

/// The label of all unknown methods, so that clients cannot create labels without bound.
const OTHER: &str = "other";

/// Returns the label of a method.
pub(crate) fn method_label(method: Option<&'static Method>) -> &'static str {
    method.map_or(OTHER, |method| method.name)
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("skillwire"),
            requests: Family::default(),
            seconds: Histogram::new([
                0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0,
            ]),
            answers: AtomicU64::new(0),
            connections: Gauge::default(),
            streams: Gauge::default(),
            sessions: Gauge::default(),
            skills: Gauge::default(),
            snapshots: Counter::default(),
            contents_kept: Counter::default(),
            contents_read: Counter::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "requests",
            "Requests by method and error code, 0 for a result",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "Time to answer a request",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register("connections", "Connections that are open", self.connections.clone());
        registry.register(
            "streams",
            "Streams of notifications that are open",
            self.streams.clone(),
        );
        registry.register("sessions", "Legacy sessions that are open", self.sessions.clone());
        registry.register("skills", "Skills that are served", self.skills.clone());
        registry.register("snapshots", "Snapshots that were published", self.snapshots.clone());
        registry.register(
            "contents_kept",
            "Files answered from memory",
            self.contents_kept.clone(),
        );
        registry.register(
            "contents_read",
            "Files answered by reading them",
            self.contents_read.clone(),
        );
    }

    /// Counts one answered request by its [`method_label`].
    pub(crate) fn answered(&self, method: &'static str, code: i32, took: std::time::Duration) {
        self.requests.get_or_create(&RequestLabels { method, code }).inc();
        self.seconds.observe(took.as_secs_f64());
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many requests have been answered so far.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Writes all metrics in the text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Counts something as open until this is dropped.
#[derive(Debug)]
pub struct OpenGuard(Gauge);

impl OpenGuard {
    /// Counts one more as open.
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_things_are_counted_until_they_are_dropped() {
        let gauge = Gauge::default();
        let one = OpenGuard::new(&gauge);
        let two = OpenGuard::new(&gauge);
        assert_eq!(gauge.get(), 2);
        drop((one, two));
        assert_eq!(gauge.get(), 0);
    }
}
