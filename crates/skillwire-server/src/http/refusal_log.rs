//! Logs requests without a valid token, at most once a second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The shortest time between two lines. A client that guesses tokens must not fill the log.
const PAUSE: Duration = Duration::from_secs(1);

/// Counts refused requests between two lines of the log.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<RefusalCount>);

#[derive(Debug, Default)]
struct RefusalCount {
    last: Option<Instant>,
    unsaid: u64,
}

impl RefusalLog {
    /// Notes a refused request.
    pub(super) fn note(&self) {
        if let Some(count) = self.count_at(Instant::now()) {
            tracing::warn!(requests = count, "requests without a valid token were refused");
        }
    }

    /// Returns how many requests a line is about, if one is due.
    fn count_at(&self, now: Instant) -> Option<u64> {
        let mut since = self.0.lock();
        since.unsaid += 1;
        if since.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            return None;
        }
        since.last = Some(now);
        Some(std::mem::take(&mut since.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_one_line_a_second_fu_10() {
        let log = RefusalLog::default();
        let start = Instant::now();
        assert_eq!(log.count_at(start), Some(1));
        assert!((0..1_000).all(|_| log.count_at(start + PAUSE / 2).is_none()));
        assert_eq!(log.count_at(start + PAUSE), Some(1_001));
    }
}
