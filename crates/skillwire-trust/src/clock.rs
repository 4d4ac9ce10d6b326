//! The clock, which the embedder supplies, or that of the machine.

use std::time::{Duration, Instant, SystemTime};

/// Tells the time; tests supply their own.
pub trait Clock: Send + Sync {
    /// Returns the time of day, for records that users read.
    fn now(&self) -> SystemTime;

    /// Returns a time that never goes backwards, for lifetimes.
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
