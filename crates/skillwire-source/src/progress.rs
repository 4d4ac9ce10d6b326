//! The progress of a scan.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Counts the skills that scans have inspected; clones share the count.
///
/// A program polls the count to show it. So a scan never waits for a terminal and knows nothing of
/// one.
#[derive(Debug, Clone, Default)]
pub struct ScanProgress(Arc<AtomicUsize>);

impl ScanProgress {
    /// The number of skills that have been inspected.
    pub fn skills(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
