//! The results of a run, and whether they reach the targets.

use serde::Serialize;

use crate::stats::Summary;

mod check;
mod markdown;
mod quantity;

pub(crate) use check::Check;
pub(crate) use quantity::Quantity;

/// The results of one run of the benchmark.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) cores: usize,
    pub(crate) rows: Vec<Row>,
    pub(crate) starts: Vec<Start>,
    pub(crate) loads: Vec<Load>,
    pub(crate) notes: Vec<String>,
    /// Parts that could not be measured, and why.
    pub(crate) broken: Vec<String>,
}

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) quantity: Quantity,
    pub(crate) skillwire: Summary,
    pub(crate) reference: Option<Reference>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) checks: Vec<Check>,
}

/// What a measurement is compared with.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Reference {
    pub(crate) what: String,
    pub(crate) value: Summary,
}

/// The same measurement of another server, or why there is none.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) value: Result<Summary, String>,
}

/// The cost of a start or of its reference, as medians of several runs.
#[derive(Debug, Serialize)]
pub(crate) struct Start {
    pub(crate) what: String,
    pub(crate) who: &'static str,
    pub(crate) seconds: f64,
    /// Seconds of processor time, which other work on the machine disturbs less.
    pub(crate) cpu: f64,
}

/// The processor time that server and client spent on a load.
#[derive(Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) what: String,
    pub(crate) who: &'static str,
    pub(crate) per_second: f64,
    pub(crate) p50_micros: f64,
    pub(crate) p99_micros: f64,
    pub(crate) server_cpu_micros: f64,
    pub(crate) client_cpu_micros: f64,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, quantity: Quantity, skillwire: Summary) -> Self {
        let (peers, checks) = (Vec::new(), Vec::new());
        Self { what: what.into(), quantity, skillwire, reference: None, peers, checks }
    }

    pub(crate) fn against(mut self, what: impl Into<String>, value: Summary) -> Self {
        self.reference = Some(Reference { what: what.into(), value });
        self
    }

    pub(crate) fn among(mut self, peers: Vec<Peer>) -> Self {
        self.peers = peers;
        self
    }

    pub(crate) fn wants(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Skillwire as a multiple of the reference.
    fn of_reference(&self) -> Option<f64> {
        self.reference.as_ref().map(|reference| self.skillwire.median / reference.value.median)
    }

    fn best_peer(&self) -> Option<(&'static str, Summary)> {
        let measured =
            self.peers.iter().filter_map(|peer| Some((peer.name, peer.value.clone().ok()?)));
        measured
            .max_by(|(_, a), (_, b)| self.quantity.advantage(a.median, b.median).total_cmp(&1.0))
    }

    /// How many times better Skillwire is than the best peer.
    fn of_best_peer(&self) -> Option<f64> {
        let (_, best) = self.best_peer()?;
        Some(self.quantity.advantage(self.skillwire.median, best.median))
    }
}

impl Report {
    /// Whether every target that could be checked was reached.
    pub(crate) fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.checks.iter().all(|check| check.holds(row) != Some(false)))
    }
}
