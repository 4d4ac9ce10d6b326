//! Times as RFC 3339 text.

use std::time::{Duration, SystemTime};

/// The latest time whose year has four digits.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// Writes a time as RFC 3339; a time out of range becomes the nearest bound.
pub(super) fn to_text(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST);
    humantime::format_rfc3339_nanos(SystemTime::UNIX_EPOCH + since).to_string()
}

/// Reads a time in RFC 3339.
pub(super) fn from_text(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_and_an_impossible_clock_does_no_harm() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_785_000_000, 5);
        assert_eq!(from_text(&to_text(time)), Some(time));
        assert!(to_text(time).starts_with("2026-07-25T"));
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(to_text(before), "1970-01-01T00:00:00.000000000Z");
        let after = SystemTime::UNIX_EPOCH + LAST + LAST;
        assert!(to_text(after).starts_with("9999-12-31T23:59:59"));
        assert_eq!(from_text("yesterday"), None);
    }
}
