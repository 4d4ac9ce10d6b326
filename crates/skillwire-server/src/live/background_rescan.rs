//! Rescans everything in parts, and slows down while clients are busy.

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    time::{Duration, Instant},
};

use skillwire_source::ScanRequest;
use tokio::time::sleep_until;

/// Answers per millisecond from which on the server counts as busy.
const BUSY: u128 = 1;

/// While the server is busy, rescans take at most one part in so many of the time.
const BUSY_SHARE: u32 = 20;

/// The share while the server is busy and files are read again, which no client waits for.
const BUSY_READING_SHARE: u32 = 100;

/// The share while the server is not busy and files are read again.
const READING_SHARE: u32 = 4;

/// A scan of everything, part after part.
#[derive(Debug)]
pub(super) struct BackgroundRescan {
    parts: VecDeque<BTreeSet<PathBuf>>,
    closely: bool,
    /// When the next part may start.
    next: Instant,
    /// When the last part was done, and how many requests had been answered by then.
    last: (Instant, u64),
    /// How long the scans took so far.
    took: Duration,
}

impl BackgroundRescan {
    /// Creates a rescan of these parts; `answers` is the number of requests answered so far.
    pub(super) fn new(parts: Vec<BTreeSet<PathBuf>>, closely: bool, answers: u64) -> Self {
        let now = Instant::now();
        Self { parts: parts.into(), closely, next: now, last: (now, answers), took: Duration::ZERO }
    }

    /// Tells whether no part is left.
    pub(super) fn is_over(&self) -> bool {
        self.parts.is_empty()
    }

    /// Tells whether files are still to be read again.
    pub(super) fn is_close(&self) -> bool {
        self.closely && !self.is_over()
    }

    /// Returns how long the whole scan took, once no part is left.
    ///
    /// A rescan that reads all files again returns `None`: its time says nothing about an ordinary
    /// scan.
    pub(super) fn took(&self) -> Option<Duration> {
        (self.is_over() && !self.closely).then_some(self.took)
    }

    /// Waits until the next part may start; waits for ever if there is none.
    pub(super) async fn turn(&mut self) -> ScanRequest {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
        sleep_until(self.next.into()).await;
        let look = ScanRequest::paths(self.parts.pop_front().unwrap_or_default());
        if self.closely { look.force_read() } else { look }
    }

    /// Delays the next part according to how long this one took and how busy the server is.
    pub(super) fn looked(&mut self, now: Instant, took: Duration, answers: u64) {
        let (before, answered) = self.last;
        let since = now.duration_since(before).as_millis().max(1);
        let busy = u128::from(answers.saturating_sub(answered)) >= BUSY * since;
        let share = match (busy, self.closely) {
            (true, false) => BUSY_SHARE,
            (true, true) => BUSY_READING_SHARE,
            (false, true) => READING_SHARE,
            (false, false) => 1,
        };
        self.next = now + took * (share - 1);
        self.last = (now, answers);
        self.took += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(10);

    /// Returns the delay after a part that took some time while the server sent `answers` answers.
    fn put_off(closely: bool, answers: u64) -> Duration {
        let mut rescan = BackgroundRescan::new(vec![BTreeSet::new()], closely, 0);
        let now = rescan.last.0 + Duration::from_secs(1);
        rescan.looked(now, TOOK, answers);
        rescan.next.duration_since(now)
    }

    #[test]
    fn looks_at_everything_take_little_from_a_busy_server() {
        assert_eq!(put_off(false, 200), Duration::ZERO);
        assert_eq!(put_off(true, 200), TOOK * 3);
        assert_eq!(put_off(false, 10_000), TOOK * 19);
        assert_eq!(put_off(true, 10_000), TOOK * 99);
    }

    /// Returns the total time reported after each of two parts.
    async fn took(closely: bool) -> [Option<Duration>; 2] {
        let mut rescan = BackgroundRescan::new(vec![BTreeSet::new(); 2], closely, 0);
        let mut after_each = [None; 2];
        for after in &mut after_each {
            rescan.turn().await;
            let now = rescan.last.0;
            rescan.looked(now, TOOK, 0);
            // The test does not wait for the next part.
            rescan.next = now;
            *after = rescan.took();
        }
        after_each
    }

    #[tokio::test]
    async fn parts_add_up_to_what_a_look_at_everything_takes() {
        assert_eq!(took(false).await, [None, Some(TOOK * 2)]);
        assert_eq!(took(true).await, [None, None]);
    }

    #[tokio::test]
    async fn each_part_has_its_turn_once() {
        let parts: Vec<_> = ["/a", "/b"].map(|path| BTreeSet::from([path.into()])).into();
        let mut rescan = BackgroundRescan::new(parts.clone(), true, 0);
        for part in parts {
            assert!(!rescan.is_over() && rescan.is_close());
            assert_eq!(rescan.turn().await, ScanRequest::paths(part).force_read());
        }
        assert!(rescan.is_over() && !rescan.is_close());
    }
}
