//! Looking at everything without being in anybody's way.

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    time::{Duration, Instant},
};

use skillwire_source::source::Look;
use tokio::time::sleep_until;

/// So many answers in each millisecond keep a core busy enough that others should wait.
const BUSY: u128 = 1;

/// While there are as many, a look may take one part in so many of the time.
const BUSY_SHARE: u32 = 20;

/// The same of reading files anew, which nobody waits for at any time.
const BUSY_READING_SHARE: u32 = 100;

/// The same of reading files anew while there are fewer.
const READING_SHARE: u32 = 4;

/// What is still to be looked at, part after part.
#[derive(Debug)]
pub(super) struct Leisure {
    parts: VecDeque<BTreeSet<PathBuf>>,
    closely: bool,
    /// When the next part has its turn.
    next: Instant,
    /// When the last one was done, and how many requests had been answered by then.
    last: (Instant, u64),
}

impl Leisure {
    /// Looks at these parts from now on; `answers` is how many requests were answered so far.
    pub(super) fn new(parts: Vec<BTreeSet<PathBuf>>, closely: bool, answers: u64) -> Self {
        let now = Instant::now();
        Self { parts: parts.into(), closely, next: now, last: (now, answers) }
    }

    /// Tells whether nothing is left.
    pub(super) fn is_over(&self) -> bool {
        self.parts.is_empty()
    }

    /// Waits for the turn of the next part, for ever if there is none.
    pub(super) async fn turn(&mut self) -> Look {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
        sleep_until(self.next.into()).await;
        let look = Look::at(self.parts.pop_front().unwrap_or_default());
        if self.closely { look.closely() } else { look }
    }

    /// Puts the next part off according to how long this one took and how much else there is to do.
    pub(super) fn looked(&mut self, took: Duration, answers: u64) {
        let now = Instant::now();
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(10);

    /// How long a part is put off after one that took some time, and so many answers meanwhile.
    fn put_off(closely: bool, answers: u64) -> Duration {
        let mut leisure = Leisure::new(vec![BTreeSet::new()], closely, 0);
        leisure.last.0 -= Duration::from_secs(1);
        let now = Instant::now();
        leisure.looked(TOOK, answers);
        leisure.next.duration_since(now)
    }

    #[test]
    fn looks_at_everything_take_little_from_a_busy_server() {
        assert!(put_off(false, 200) < TOOK);
        assert!(put_off(true, 200) >= TOOK * 3 && put_off(true, 200) < TOOK * 10);
        assert!(put_off(false, 10_000) >= TOOK * 19);
        assert!(put_off(true, 10_000) >= TOOK * 99);
    }

    #[tokio::test]
    async fn each_part_has_its_turn_once() {
        let parts: Vec<_> = ["/a", "/b"].map(|path| BTreeSet::from([path.into()])).into();
        let mut leisure = Leisure::new(parts.clone(), true, 0);
        for part in parts {
            assert!(!leisure.is_over());
            assert_eq!(leisure.turn().await, Look::at(part).closely());
        }
        assert!(leisure.is_over());
    }
}
