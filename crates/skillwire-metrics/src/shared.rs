//! The metrics that all mounts of a server write together.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

use super::labelled::{LabelledCounter, LabelledGauge};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) method: &'static str,
    pub(super) code: i32,
    pub(super) mount: Arc<str>,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MountLabels {
    mount: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RefusalLabels {
    pub(super) mount: Arc<str>,
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReloadLabels {
    pub(super) what: &'static str,
    pub(super) outcome: &'static str,
}

type Histograms = Family<MountLabels, Histogram, fn() -> Histogram>;

/// The metrics of a server, by mount.
#[derive(Debug)]
pub(super) struct SharedMetrics {
    registry: Mutex<Registry>,
    added: Mutex<AddedMetrics>,
    pub(super) requests: Family<RequestLabels, Counter>,
    seconds: Histograms,
    pub(super) connections: Gauge,
    streams: Family<MountLabels, Gauge>,
    sessions: Family<MountLabels, Gauge>,
    skills: Family<MountLabels, Gauge>,
    snapshots: Family<MountLabels, Counter>,
    contents_kept: Family<MountLabels, Counter>,
    contents_read: Family<MountLabels, Counter>,
    rate_limited: Family<MountLabels, Counter>,
    pub(super) auth_refusals: Family<RefusalLabels, Counter>,
    pub(super) reloads: Family<ReloadLabels, Counter>,
}

/// The metrics that a program added, by name.
#[derive(Debug, Default)]
struct AddedMetrics {
    counters: BTreeMap<&'static str, LabelledCounter>,
    gauges: BTreeMap<&'static str, LabelledGauge>,
}

/// The metrics of one mount, so that requests need not look them up.
pub(super) struct MountHandles {
    pub(super) seconds: Histogram,
    pub(super) streams: Gauge,
    pub(super) sessions: Gauge,
    pub(super) skills: Gauge,
    pub(super) snapshots: Counter,
    pub(super) contents_kept: Counter,
    pub(super) contents_read: Counter,
    pub(super) rate_limited: Counter,
}

fn histogram() -> Histogram {
    Histogram::new([0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0])
}

impl Default for SharedMetrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("skillwire")),
            added: Mutex::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram as fn() -> Histogram),
            connections: Gauge::default(),
            streams: Family::default(),
            sessions: Family::default(),
            skills: Family::default(),
            snapshots: Family::default(),
            contents_kept: Family::default(),
            contents_read: Family::default(),
            rate_limited: Family::default(),
            auth_refusals: Family::default(),
            reloads: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl SharedMetrics {
    fn register(&self) {
        let registry = &mut *self.registry.lock();
        registry.register(
            "requests",
            "Requests by method, error code (0 for a result), mount and outcome",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "Time to answer a request",
            Unit::Seconds,
            self.seconds.clone(),
        );
        let connections = self.connections.clone();
        registry.register("connections", "Connections that are open", connections);
        for (name, help, gauges) in [
            ("streams", "Streams of notifications that are open", &self.streams),
            ("sessions", "Legacy sessions that are open", &self.sessions),
            ("skills", "Skills that are served", &self.skills),
        ] {
            registry.register(name, help, gauges.clone());
        }
        for (name, help, counters) in [
            ("snapshots", "Snapshots that were published", &self.snapshots),
            ("contents_kept", "Files answered from memory", &self.contents_kept),
            ("contents_read", "Files answered by reading them", &self.contents_read),
            ("rate_limited", "Requests of callers that sent too many", &self.rate_limited),
        ] {
            registry.register(name, help, counters.clone());
        }
        let refusals = self.auth_refusals.clone();
        registry.register("auth_refusals", "Requests that were not admitted", refusals);
        let reloads = self.reloads.clone();
        registry.register("reloads", "What was read again while the server ran", reloads);
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of the program", build);
    }

    pub(super) fn of_mount(&self, mount: &Arc<str>) -> MountHandles {
        let labels = &MountLabels { mount: Arc::clone(mount) };
        MountHandles {
            seconds: self.seconds.get_or_create_owned(labels),
            streams: self.streams.get_or_create_owned(labels),
            sessions: self.sessions.get_or_create_owned(labels),
            skills: self.skills.get_or_create_owned(labels),
            snapshots: self.snapshots.get_or_create_owned(labels),
            contents_kept: self.contents_kept.get_or_create_owned(labels),
            contents_read: self.contents_read.get_or_create_owned(labels),
            rate_limited: self.rate_limited.get_or_create_owned(labels),
        }
    }

    pub(super) fn labelled_counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> LabelledCounter {
        let add = || {
            let counter = LabelledCounter::new(labels);
            self.registry.lock().register(name, help, counter.family.clone());
            counter
        };
        self.added.lock().counters.entry(name).or_insert_with(add).clone()
    }

    pub(super) fn labelled_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> LabelledGauge {
        let add = || {
            let gauge = LabelledGauge::new(labels);
            self.registry.lock().register(name, help, gauge.family.clone());
            gauge
        };
        self.added.lock().gauges.entry(name).or_insert_with(add).clone()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry.lock());
        text
    }
}
