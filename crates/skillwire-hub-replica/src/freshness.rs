//! How long ago the replica last knew what the database holds.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long an answer of the database may be overdue before it counts as away.
const OVERDUE: Duration = Duration::from_secs(3);

/// Says whether a replica may serve what it holds.
///
/// A replica that lost the database may hold versions and tokens that were revoked meanwhile. It serves
/// them until the limit has passed, and nothing after that.
#[derive(Debug)]
pub struct Freshness {
    start: Instant,
    limit: Duration,
    /// How long the database may be silent.
    silence: Duration,
    /// Milliseconds after the start at which the database last answered.
    last: AtomicU64,
    reachable: AtomicBool,
}

impl Freshness {
    /// Says how long a replica may serve without its database, and how often it asks.
    pub(crate) fn new(limit: Duration, poll: Duration) -> Self {
        Self {
            start: Instant::now(),
            limit,
            silence: poll.saturating_add(OVERDUE),
            last: AtomicU64::new(0),
            reachable: AtomicBool::new(true),
        }
    }

    /// Notes what was known at a moment before the database was asked.
    pub(crate) fn knew_everything(&self, at: Instant) {
        let millis = at.saturating_duration_since(self.start).as_millis();
        self.last.fetch_max(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.reachable.store(true, Ordering::Relaxed);
    }

    /// Notes that the database did not answer; returns whether it did before.
    pub fn lost(&self) -> bool {
        self.reachable.swap(false, Ordering::Relaxed)
    }

    /// Whether the database answered when it was last asked, and not too long ago: one behind a broken
    /// network neither answers nor refuses.
    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed) && self.age() <= self.silence
    }

    /// Whether clients may still be served.
    pub fn may_serve(&self) -> bool {
        self.is_reachable() || self.age() <= self.limit
    }

    /// The time since the database last answered.
    pub fn age(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_without_its_database_serves_until_the_limit() {
        let patient = Freshness::new(Duration::from_hours(1), Duration::ZERO);
        assert!(patient.may_serve() && patient.is_reachable());
        assert!(patient.lost());
        assert!(patient.may_serve() && !patient.is_reachable());
        let strict = Freshness::new(Duration::ZERO, Duration::ZERO);
        strict.lost();
        while strict.age().is_zero() {}
        assert!(!strict.may_serve());
        strict.knew_everything(Instant::now());
        assert!(strict.may_serve());
    }
}
