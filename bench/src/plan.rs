//! The amount of work in a run.

use std::time::Duration;

/// The sizes of corpora and the lengths of measurements.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Skills for the first answer.
    pub(crate) small: usize,
    /// Skills for measurements whose result must not depend on the size.
    pub(crate) medium: usize,
    /// Skills for listings, reads and peers.
    pub(crate) large: usize,
    /// Skills for the largest size that must still work.
    pub(crate) huge: usize,
    /// Skills for checking, as many as a large public collection has.
    pub(crate) authored: usize,
    /// Repetitions of measurements that take up to some seconds.
    pub(crate) rounds: usize,
    /// Repetitions of longer measurements.
    pub(crate) long_rounds: usize,
    /// How long one round of load lasts.
    pub(crate) load: Duration,
    /// Distinct files that are read, more than a bounded cache may hold.
    pub(crate) spread: usize,
    /// Distinct files that are read again and again.
    pub(crate) hot: usize,
    /// Files changed one after the other, within the time for it.
    pub(crate) changes: usize,
    pub(crate) change_time: Duration,
    /// Publications, one after the other.
    pub(crate) publications: usize,
    /// Publications whose way to every replica is watched.
    pub(crate) watched: usize,
    /// Reads per second that go on meanwhile.
    pub(crate) background: u32,
    /// Upstreams of one hub, and how many of them misbehave.
    pub(crate) upstreams: usize,
    pub(crate) troubled: usize,
    /// Classes of callers, and the namespaces that policies tell apart.
    pub(crate) classes: usize,
    pub(crate) namespaces: usize,
    /// Requests in one round of those whose latency is compared.
    pub(crate) pairs: usize,
    /// How long reads at a fixed rate last, and how many there are in a second.
    pub(crate) paced: Duration,
    pub(crate) paced_rate: u32,
    /// A peer that took longer than this in total is not measured again.
    pub(crate) peer_time: Duration,
}

impl Plan {
    /// The sizes for which the project has targets.
    pub(crate) fn full() -> Self {
        Self {
            small: 100,
            medium: 1_000,
            large: 10_000,
            huge: 100_000,
            authored: 14_000,
            rounds: 7,
            long_rounds: 3,
            load: Duration::from_millis(700),
            spread: 8_192,
            hot: 256,
            changes: 15,
            change_time: Duration::from_secs(30),
            publications: 1_000,
            watched: 300,
            background: 2_000,
            upstreams: 100,
            troubled: 30,
            classes: 50,
            namespaces: 100,
            pairs: 1_000,
            paced: Duration::from_secs(10),
            paced_rate: 400,
            peer_time: Duration::from_secs(12),
        }
    }

    /// Small sizes, which show that everything works and not how fast it is.
    pub(crate) fn quick() -> Self {
        Self {
            small: 20,
            medium: 200,
            large: 400,
            huge: 800,
            authored: 400,
            rounds: 3,
            long_rounds: 2,
            load: Duration::from_millis(300),
            spread: 1_024,
            hot: 64,
            changes: 3,
            change_time: Duration::from_secs(20),
            publications: 30,
            watched: 10,
            background: 200,
            upstreams: 20,
            troubled: 8,
            classes: 5,
            namespaces: 10,
            pairs: 100,
            paced: Duration::from_secs(2),
            paced_rate: 100,
            peer_time: Duration::from_secs(5),
        }
    }
}
