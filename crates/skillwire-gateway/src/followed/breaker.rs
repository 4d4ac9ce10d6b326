//! Leaves a server alone for a while after it failed too often in a row.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Counts failures in a row. After too many, requests are refused at once until a pause is over; the next
/// request then tries the server again, and its failure begins the next pause.
#[derive(Debug)]
pub(crate) struct CircuitBreaker {
    /// How many failures in a row are too many; none if the server is never left alone.
    most: Option<u32>,
    pause: Duration,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    paused_until: Option<Instant>,
}

impl CircuitBreaker {
    pub(crate) fn new(limit: Option<(u32, Duration)>) -> Self {
        let (most, pause) =
            limit.map_or((None, Duration::ZERO), |(most, pause)| (Some(most), pause));
        Self { most, pause, state: Mutex::default() }
    }

    /// Whether the server is left alone now.
    pub(crate) fn is_paused(&self) -> bool {
        self.state.lock().paused_until.is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn succeeded(&self) {
        *self.state.lock() = BreakerState::default();
    }

    pub(crate) fn failed(&self) {
        let Some(most) = self.most else { return };
        let mut state = self.state.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= most {
            state.paused_until = Some(Instant::now() + self.pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_too_often_in_a_row_is_left_alone_for_a_while_gw_23() {
        let breaker = CircuitBreaker::new(Some((2, Duration::from_secs(5))));
        breaker.failed();
        breaker.succeeded();
        breaker.failed();
        assert!(!breaker.is_paused());
        breaker.failed();
        assert!(breaker.is_paused());
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(!breaker.is_paused());
        // It is not forgiven before it answers.
        breaker.failed();
        assert!(breaker.is_paused());
        breaker.succeeded();
        assert!(!breaker.is_paused());
        let never = CircuitBreaker::new(None);
        (0..100).for_each(|_| never.failed());
        assert!(!never.is_paused());
    }
}
