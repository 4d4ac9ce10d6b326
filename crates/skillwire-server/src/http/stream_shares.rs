//! Limits how many streams one caller may have open.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use skillwire_engine::Caller;

/// Counts the open streams of each caller with a token.
///
/// A stream occupies a connection for as long as its client likes. Without a limit one caller could
/// occupy all of them and lock the others out. Callers without a token cannot be told apart and share
/// the connections.
#[derive(Debug)]
pub(super) struct StreamShares {
    most: usize,
    open: Arc<Mutex<OpenStreams>>,
}

/// How many streams each caller has open.
type OpenStreams = HashMap<String, usize>;

/// An open stream; dropping this frees its place.
#[derive(Debug)]
pub(super) struct OpenStream {
    /// The name of the caller, if its streams are counted.
    counted: Option<(String, Arc<Mutex<OpenStreams>>)>,
}

impl StreamShares {
    /// Allows each caller `most` streams.
    pub(super) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// Counts one more stream of a caller; returns `None` if the caller has all it may have.
    pub(super) fn open(&self, caller: &Caller) -> Option<OpenStream> {
        if caller.name.is_empty() {
            return Some(OpenStream { counted: None });
        }
        let mut open = self.open.lock();
        let count = open.entry(caller.name.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(OpenStream { counted: Some((caller.name.clone(), Arc::clone(&self.open))) })
    }

    /// Returns the text for a caller that has too many streams.
    pub(super) fn refusal(&self) -> String {
        format!("This token has {} streams open. Close one before you open another.", self.most)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let Some((name, open)) = self.counted.take() else { return };
        let mut open = open.lock();
        if let Some(count) = open.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                open.remove(&name);
            }
        }
    }
}
