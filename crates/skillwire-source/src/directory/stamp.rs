//! Tells whether a file changed without reading it.

use std::time::{Duration, SystemTime};

/// What changes when a file is written, replaced or has its attributes set.
///
/// The change time makes it trustworthy: programs cannot set it, so an edit that restores size and
/// modification time still shows. A write through a memory mapping may show late; a forced scan
/// reads everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    size: u64,
    modified: Option<SystemTime>,
    /// When anything about the file changed, where the system keeps that.
    changed: Option<SystemTime>,
    /// Device and inode; zeros where the system tells them only of open files.
    identity: (u64, u64),
}

impl FileStamp {
    /// Makes a stamp of a file's metadata.
    pub(crate) fn new(
        size: u64,
        modified: Option<SystemTime>,
        changed: Option<SystemTime>,
        identity: (u64, u64),
    ) -> Self {
        Self { size, modified, changed, identity }
    }

    /// Appends the stamp to the bytes of a fingerprint.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let time = |time: Option<SystemTime>| {
            time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
                .map_or(u128::MAX, |time| time.as_nanos())
        };
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&time(self.modified).to_le_bytes());
        out.extend_from_slice(&time(self.changed).to_le_bytes());
        out.extend_from_slice(&self.identity.0.to_le_bytes());
        out.extend_from_slice(&self.identity.1.to_le_bytes());
    }

    /// Tells whether both stamps are of the same file or directory, whatever changed about it.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// The size of the file when the stamp was taken.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Tells whether a later change would surely give another stamp, when the scan that read the
    /// file began at `scan`.
    ///
    /// File systems count time in ticks. A file that was written and read in one tick can be
    /// written again in the same tick with the same size, and its stamp stays the same. Git calls
    /// such an index entry racy; like Git, we trust a stamp only when it was older than a tick as
    /// the reading began. A time in the future, from a clock that was set back or from another
    /// machine, is never trusted. Where there is no change time an edit can hide, so nothing is.
    pub(crate) fn is_settled(&self, scan: SystemTime) -> bool {
        [self.modified, self.changed].into_iter().all(|time| {
            time.is_some_and(|time| scan.duration_since(time).is_ok_and(|age| age > tick(time)))
        })
    }
}

/// The longest time in which two changes to a file may share a stamp.
///
/// Kernel clocks tick every 10 ms or faster. A time without a fraction comes from a file system
/// that counts in seconds, or in pairs of them.
fn tick(time: SystemTime) -> Duration {
    let fraction =
        time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    if fraction == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(nanoseconds: u64) -> FileStamp {
        let time = Duration::from_secs(1_000) + Duration::from_nanos(nanoseconds);
        let at = SystemTime::UNIX_EPOCH.checked_add(time);
        FileStamp { size: 1, modified: at, changed: at, identity: (1, 1) }
    }

    fn later(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000) + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_stamp_as_young_as_the_scan_is_not_trusted_v_62() {
        let stamp = stamp(1_000_000);
        assert!(!stamp.is_settled(later(1)));
        assert!(!stamp.is_settled(later(20)));
        assert!(stamp.is_settled(later(22)));
    }

    #[test]
    fn a_stamp_in_whole_seconds_must_be_older_v_62() {
        assert!(!stamp(0).is_settled(later(1_999)));
        assert!(stamp(0).is_settled(later(2_001)));
    }

    #[test]
    fn a_stamp_without_a_change_time_is_not_trusted_v_62() {
        assert!(!FileStamp { changed: None, ..stamp(1_000_000) }.is_settled(later(100_000)));
    }

    #[test]
    fn a_stamp_from_the_future_is_not_trusted_v_62() {
        assert!(!stamp(1_000_000).is_settled(later(0) - Duration::from_hours(1)));
    }
}
