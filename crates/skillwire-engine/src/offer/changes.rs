//! Telling clients that a list changed.

use std::sync::Arc;

use tokio::sync::watch;

/// How often each list has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListVersions {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
}

/// Announces changes of what is offered; clones announce the same.
///
/// Only how often a list changed is kept, so a listener that is slow misses nothing.
#[derive(Debug, Clone)]
pub struct ListChanges(Arc<watch::Sender<ListVersions>>);

impl Default for ListChanges {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(ListVersions::default())))
    }
}

impl ListChanges {
    /// The tools, or their schemas, are others now.
    pub fn tools(&self) {
        self.0.send_modify(|versions| versions.tools += 1);
    }

    /// The prompts are others now.
    pub fn prompts(&self) {
        self.0.send_modify(|versions| versions.prompts += 1);
    }

    pub(crate) fn follow(&self) -> watch::Receiver<ListVersions> {
        self.0.subscribe()
    }
}
