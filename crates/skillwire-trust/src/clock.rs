//! The clock, which the embedder supplies.

use std::time::{Duration, SystemTime};

/// Tells the time; tests supply their own.
pub trait Clock: Send + Sync {
    /// Returns the time of day, for records that users read.
    fn now(&self) -> SystemTime;

    /// Returns a time that never goes backwards, for lifetimes.
    fn elapsed(&self) -> Duration;
}
