//! What a running server counts, in the format of Prometheus.
//!
//! A server may have several mounts, such as the channels of a hub. Each has a [`Metrics`] of its own,
//! and all of them are written together. This crate never knows how a request is answered.
//!
//! ```
//! use skillwire_metrics::Metrics;
//!
//! let metrics = Metrics::default();
//! metrics.skills.set(3);
//! assert!(metrics.text().contains("skillwire_skills"));
//! ```

mod labelled;
mod shared;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prometheus_client::metrics::{counter::Counter, gauge::Gauge, histogram::Histogram};
use skillwire_protocol::ErrorCode;

pub use skillwire_protocol::method::Method;

pub use self::labelled::{LabelledCounter, LabelledGauge};
use self::shared::{RefusalLabels, ReloadLabels, RequestLabels, SharedMetrics};

/// The mount of a server that has only one.
const ONLY_MOUNT: &str = "/mcp";

/// The metrics of one mount of a server.
#[derive(Debug)]
pub struct Metrics {
    shared: Arc<SharedMetrics>,
    mount: Arc<str>,
    seconds: Histogram,
    /// The sum of all requests.
    answers: AtomicU64,
    /// Open connections, of all mounts.
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
    /// Requests that were refused because their caller sent too many.
    pub rate_limited: Counter,
}

/// The label of all unknown methods, so that clients cannot create labels without bound.
const OTHER: &str = "other";

/// Returns the label of a method.
pub fn method_label(method: Option<&'static Method>) -> &'static str {
    method.map_or(OTHER, |method| method.name)
}

/// Returns the label of a method by its name, which may be made up.
pub fn known_method(name: &str) -> &'static str {
    method_label(Method::find(name))
}

impl Default for Metrics {
    fn default() -> Self {
        Self::of(Arc::default(), ONLY_MOUNT.into())
    }
}

impl Metrics {
    fn of(shared: Arc<SharedMetrics>, mount: Arc<str>) -> Self {
        let handles = shared.of_mount(&mount);
        Self {
            seconds: handles.seconds,
            answers: AtomicU64::new(0),
            connections: shared.connections.clone(),
            streams: handles.streams,
            sessions: handles.sessions,
            skills: handles.skills,
            snapshots: handles.snapshots,
            contents_kept: handles.contents_kept,
            contents_read: handles.contents_read,
            rate_limited: handles.rate_limited,
            shared,
            mount,
        }
    }

    /// Returns the metrics of another mount of the same server; they are written together.
    ///
    /// The name is a label, so it must be one of a bounded number of names.
    pub fn mount(&self, mount: &str) -> Arc<Self> {
        Arc::new(Self::of(Arc::clone(&self.shared), mount.into()))
    }

    /// Returns the name of the mount.
    pub fn mount_name(&self) -> &Arc<str> {
        &self.mount
    }

    /// Returns a counter with labels that a program adds, such as requests by upstream.
    ///
    /// `skillwire_` precedes the name, and `_total` follows it. A name that is there already is the
    /// same counter.
    pub fn labelled_counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> LabelledCounter {
        self.shared.labelled_counter(name, help, labels)
    }

    /// Returns a gauge with labels that a program adds, such as the state of each upstream.
    pub fn labelled_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> LabelledGauge {
        self.shared.labelled_gauge(name, help, labels)
    }

    /// Counts one answered request by its [`method_label`].
    pub fn answered(&self, method: &'static str, code: i32, took: std::time::Duration) {
        let labels =
            RequestLabels { method, code, mount: Arc::clone(&self.mount), outcome: outcome(code) };
        self.shared.requests.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was not admitted, by a reason such as `no-token`.
    pub fn refused(&self, reason: &'static str) {
        let labels = RefusalLabels { mount: Arc::clone(&self.mount), reason };
        self.shared.auth_refusals.get_or_create(&labels).inc();
    }

    /// Counts that something was read again while the server ran, such as `tokens`.
    pub fn reloaded(&self, what: &'static str, worked: bool) {
        let outcome = if worked { "ok" } else { "failed" };
        self.shared.reloads.get_or_create(&ReloadLabels { what, outcome }).inc();
    }

    /// Returns how many requests have been answered so far.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Writes the metrics of all mounts in the text format.
    pub fn text(&self) -> String {
        self.shared.text()
    }
}

/// Returns the label of an error code; 0 is a result.
pub fn outcome(code: i32) -> &'static str {
    if code == 0 {
        return "ok";
    }
    match ErrorCode::from_number(code.into()) {
        Some(ErrorCode::MethodNotFound) => "unknown-method",
        Some(ErrorCode::InvalidParams | ErrorCode::LegacyResourceNotFound) => "invalid",
        Some(ErrorCode::Internal) => "failed",
        _ => "refused",
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

    #[test]
    fn mounts_are_written_together_each_with_its_own_numbers() {
        let latest = Metrics::default();
        let stable = latest.mount("/mcp/c/stable");
        latest.answered("skills/list", 0, std::time::Duration::ZERO);
        stable.answered("skills/list", -32603, std::time::Duration::ZERO);
        stable.skills.set(7);
        stable.refused("no-token");
        latest.reloaded("tokens", false);
        let text = latest.text();
        assert_eq!(text, stable.text());
        for line in [
            r#"skillwire_requests_total{method="skills/list",code="0",mount="/mcp",outcome="ok"} 1"#,
            r#"{method="skills/list",code="-32603",mount="/mcp/c/stable",outcome="failed"} 1"#,
            r#"skillwire_skills{mount="/mcp/c/stable"} 7"#,
            r#"skillwire_auth_refusals_total{mount="/mcp/c/stable",reason="no-token"} 1"#,
            r#"skillwire_reloads_total{what="tokens",outcome="failed"} 1"#,
            r#"skillwire_build_info{version=""#,
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
        assert_eq!(text.matches("# TYPE skillwire_skills ").count(), 1, "{text}");
    }

    #[test]
    fn labels_of_a_program_are_bounded() {
        let metrics = Metrics::default();
        let counter = metrics.labelled_counter("upstream_requests", "Requests", &["upstream"]);
        let same = metrics.mount("/x").labelled_counter("upstream_requests", "", &["upstream"]);
        counter.with(&["docs"]).inc();
        same.with(&["docs"]).inc();
        metrics.labelled_gauge("upstream_open", "Open", &["upstream"]).with(&["docs"]).set(1);
        assert!(metrics.text().contains(r#"skillwire_upstream_requests_total{upstream="docs"} 2"#));
        assert!(metrics.text().contains(r#"skillwire_upstream_open{upstream="docs"} 1"#));
        for number in 0..5_000 {
            counter.with(&[&number.to_string()]).inc();
        }
        let text = metrics.text();
        assert!(text.contains(r#"upstream="other"}"#));
        assert!(text.matches("skillwire_upstream_requests_total{").count() <= 1_025);
    }
}
