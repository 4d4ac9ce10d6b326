//! The time, from outside.

use std::time::{Duration, Instant, SystemTime};

/// Tells the time; tests bring their own.
pub trait Clock: Send + Sync {
    /// The time of day, for records that people read.
    fn now(&self) -> SystemTime;

    /// Time that only goes forward, for lifetimes.
    fn elapsed(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
