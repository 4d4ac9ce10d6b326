//! Moments, as the hub keeps and shows them.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A moment in milliseconds since 1970, written as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The last millisecond of the year 9999, after which RFC 3339 has no more years.
const LAST: i64 = 253_402_300_799_999;

/// The text or number is not a moment between 1970 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time is written as RFC 3339 in UTC, for example `2026-01-31T12:00:00Z`")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Takes milliseconds since 1970; moments before 1970 and after 9999 become the nearest one inside.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LAST))
    }

    /// Takes a moment of the system's clock.
    pub fn from_system_time(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_millis(i64::try_from(since.as_millis()).unwrap_or(LAST))
    }

    /// Returns milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the moment `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(LAST);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Returns the moment `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(LAST);
        Self::from_millis(self.0.saturating_sub(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Duration::from_millis(self.0.unsigned_abs());
        humantime::format_rfc3339_millis(UNIX_EPOCH + since).fmt(f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        humantime::parse_rfc3339(text).map(Self::from_system_time).map_err(|_| InvalidTimestamp)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_and_read_back_to_the_millisecond() {
        let moment = Timestamp::from_millis(1_769_860_800_123);
        assert_eq!(moment.to_string(), "2026-01-31T12:00:00.123Z");
        assert_eq!(moment.to_string().parse(), Ok(moment));
        assert_eq!("yesterday".parse::<Timestamp>(), Err(InvalidTimestamp));
    }

    #[test]
    fn moments_stay_between_1970_and_9999() {
        assert_eq!(Timestamp::from_millis(-1).as_millis(), 0);
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus(Duration::MAX), end);
        assert!(end.to_string().starts_with("9999-12-31"));
    }
}
