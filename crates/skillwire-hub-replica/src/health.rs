//! How upstreams are doing, in the metrics of a hub.

use skillwire_hub::NamespaceName;
use skillwire_server::metrics::{LabelledGauge, Metrics};

use crate::upstream_status::{UpstreamHealth, UpstreamStatus};

/// Gauges of every upstream.
pub(crate) struct UpstreamGauges {
    states: LabelledGauge,
    skills: LabelledGauge,
    unfetched: LabelledGauge,
}

impl UpstreamGauges {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let states = metrics.labelled_gauge(
            "upstream_state",
            "Whether an upstream is in a state; `paused` is an open circuit breaker",
            &["upstream", "state"],
        );
        let skills = metrics.labelled_gauge(
            "upstream_skills",
            "Skills that an upstream listed last",
            &["upstream"],
        );
        let unfetched = metrics.labelled_gauge(
            "upstream_unfetched",
            "Skills of an upstream whose content could not be fetched for its review",
            &["upstream"],
        );
        Self { states, skills, unfetched }
    }

    pub(crate) fn set(&self, label: &NamespaceName, status: &UpstreamStatus) {
        self.write(label, Some(status.health), status.skills, status.unfetched);
    }

    /// Notes that an upstream was removed: it is in no state any more.
    pub(crate) fn forget(&self, label: &NamespaceName) {
        self.write(label, None, 0, 0);
    }

    fn write(
        &self,
        label: &NamespaceName,
        health: Option<UpstreamHealth>,
        skills: usize,
        unfetched: usize,
    ) {
        for state in UpstreamHealth::ALL {
            let gauge = self.states.with(&[label.as_str(), state.as_str()]);
            gauge.set(i64::from(health == Some(state)));
        }
        for (gauge, count) in [(&self.skills, skills), (&self.unfetched, unfetched)] {
            gauge.with(&[label.as_str()]).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
