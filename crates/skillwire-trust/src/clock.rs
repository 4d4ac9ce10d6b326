//! The time, from outside.

use std::time::{Duration, SystemTime};

/// Tells the time; tests bring their own.
pub trait Clock: Send + Sync {
    /// The time of day, for records that people read.
    fn now(&self) -> SystemTime;

    /// Time that only goes forward, for lifetimes.
    fn elapsed(&self) -> Duration;
}
