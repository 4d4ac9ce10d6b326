//! Telling whether a file changed without reading it.

use std::time::{Duration, SystemTime};

use cap_std::fs::Metadata;

/// What changes when a file is written, replaced or has its attributes set.
///
/// The change time is what makes it trustworthy: nobody can set it, so an edit that restores size
/// and modification time still shows. A write through a memory mapping may show late; a scan after
/// [`forget`](super::DirectorySource::forget) reads everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    changed: Option<SystemTime>,
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    /// Takes the stamp of a file.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use cap_std::fs::MetadataExt;
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            #[cfg(unix)]
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
            #[cfg(unix)]
            device: metadata.dev(),
            #[cfg(unix)]
            inode: metadata.ino(),
        }
    }

    /// The size at that time.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Tells whether a later change would surely give another stamp, when the scan that read the
    /// file began at `scan`.
    ///
    /// File systems count time in ticks. A file that was written and read in one tick can be
    /// written again in the same tick with the same size, and its stamp stays the same. Git calls
    /// such an index entry racy; like Git, we trust a stamp only when it was older than a tick as
    /// the reading began. Kernel clocks tick every 10 ms or faster. A time without a fraction comes
    /// from a file system that counts in seconds, or in pairs of them. A time in the future, from a
    /// clock that was set back or from another machine, is never trusted.
    #[cfg(unix)]
    pub(crate) fn is_settled(&self, scan: SystemTime) -> bool {
        [self.modified, self.changed].into_iter().all(|time| {
            let Some(time) = time else { return false };
            let age = scan.duration_since(time);
            age.is_ok_and(|age| age > tick(time))
        })
    }

    /// Without a change time an edit can hide, so everything is read each time.
    #[cfg(not(unix))]
    pub(crate) fn is_settled(&self, _scan: SystemTime) -> bool {
        false
    }
}

/// The longest time in which two changes to a file may share a stamp.
#[cfg(unix)]
fn tick(time: SystemTime) -> Duration {
    let fraction =
        time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    if fraction == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) }
}

#[cfg(unix)]
fn time(seconds: i64, nanoseconds: i64) -> Option<SystemTime> {
    let nanoseconds = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let second = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    second?.checked_add(nanoseconds)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn stamp(nanoseconds: i64) -> Stamp {
        let at = time(1_000, nanoseconds);
        Stamp { size: 1, modified: at, changed: at, device: 1, inode: 1 }
    }

    fn later(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000) + Duration::from_millis(milliseconds)
    }

    #[test]
    fn v_62_a_stamp_as_young_as_the_scan_is_not_trusted() {
        let stamp = stamp(1_000_000);
        assert!(!stamp.is_settled(later(1)));
        assert!(!stamp.is_settled(later(20)));
        assert!(stamp.is_settled(later(22)));
    }

    #[test]
    fn v_62_a_stamp_in_whole_seconds_must_be_older() {
        assert!(!stamp(0).is_settled(later(1_999)));
        assert!(stamp(0).is_settled(later(2_001)));
    }

    #[test]
    fn v_62_a_stamp_from_the_future_is_not_trusted() {
        assert!(!stamp(1_000_000).is_settled(later(0) - Duration::from_hours(1)));
    }
}
