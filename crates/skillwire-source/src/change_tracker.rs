//! Remembers what a source reported, so that it reports only differences.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use skillwire_core::Digest;

use crate::source::{GroupKey, InspectedSkill, SourceChange};

/// The fingerprint of each group that a source reported last.
///
/// A source that can list everything it has uses a tracker to find out what to report: it passes
/// the current fingerprints, and the tracker compares them with those of the last scan.
#[derive(Debug, Default)]
pub struct ChangeTracker(Mutex<BTreeMap<GroupKey, Digest>>);

impl ChangeTracker {
    /// Reports each group whose fingerprint is new or different, and each that is gone.
    ///
    /// `now` holds every group that exists, and `inspect` inspects one of them. The fingerprint
    /// covers everything that decides what `inspect` returns, such as the bytes of all files or a
    /// version number.
    ///
    /// Two scans at a time wait for each other: the lock is held until everything is reported, so
    /// that a receiver never gets an older state after a newer one. `report` and `inspect` must not
    /// use the same tracker.
    pub fn report(
        &self,
        now: &BTreeMap<GroupKey, Digest>,
        mut inspect: impl FnMut(&GroupKey) -> Vec<InspectedSkill>,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) {
        let mut reported = self.0.lock();
        let removed: Vec<GroupKey> =
            reported.keys().filter(|key| !now.contains_key(key)).cloned().collect();
        for key in removed {
            reported.remove(&key);
            report(SourceChange::Removed(key));
        }
        for (key, fingerprint) in now {
            if reported.get(key) != Some(fingerprint) {
                report(SourceChange::Updated(key.clone(), inspect(key)));
                reported.insert(key.clone(), *fingerprint);
            }
        }
    }
}
