//! How far a scan has come.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Counts the skills that scans have looked at; clones share the count.
///
/// Whoever wants to show it looks at it from time to time, so that a scan neither waits for
/// anybody nor knows who watches.
#[derive(Debug, Clone, Default)]
pub struct ScanProgress(Arc<AtomicUsize>);

impl ScanProgress {
    /// The skills that have been looked at.
    pub fn skills(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
