//! How long ago the replica last knew what the database holds.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Says whether a replica may serve what it holds.
///
/// A replica that lost the database may hold versions and tokens that were revoked meanwhile. It serves
/// them until the limit has passed, and nothing after that.
#[derive(Debug)]
pub(crate) struct Freshness {
    start: Instant,
    limit: Duration,
    /// Milliseconds after the start at which the database last answered.
    last: AtomicU64,
    reachable: AtomicBool,
}

impl Freshness {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            start: Instant::now(),
            limit,
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
    pub(crate) fn lost(&self) -> bool {
        self.reachable.swap(false, Ordering::Relaxed)
    }

    /// Whether the database answered when it was last asked.
    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// Whether clients may still be served.
    pub(crate) fn may_serve(&self) -> bool {
        // The clock is looked at only while the database is away: this is asked for every request.
        self.is_reachable() || self.age() <= self.limit
    }

    /// The time since the database last answered.
    pub(crate) fn age(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_without_its_database_serves_until_the_limit() {
        let patient = Freshness::new(Duration::from_hours(1));
        assert!(patient.may_serve() && patient.is_reachable());
        assert!(patient.lost());
        assert!(patient.may_serve() && !patient.is_reachable());
        let strict = Freshness::new(Duration::ZERO);
        strict.lost();
        while strict.age().is_zero() {}
        assert!(!strict.may_serve());
        strict.knew_everything(Instant::now());
        assert!(strict.may_serve());
    }
}
