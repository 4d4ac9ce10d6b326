//! Announces changes of the lists of tools and prompts.

use std::sync::Arc;

use tokio::sync::watch;

/// How often each list has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListVersions {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
}

/// Announces that lists of tools and prompts changed; clones share the same listeners.
///
/// Only the number of changes of each list is kept, so a slow listener misses nothing.
#[derive(Debug, Clone)]
pub struct ListChanges(Arc<watch::Sender<ListVersions>>);

impl Default for ListChanges {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(ListVersions::default())))
    }
}

impl ListChanges {
    /// Announces that the tools, or their schemas, have changed.
    pub fn tools(&self) {
        self.0.send_modify(|versions| versions.tools += 1);
    }

    /// Announces that the prompts have changed.
    pub fn prompts(&self) {
        self.0.send_modify(|versions| versions.prompts += 1);
    }

    pub(crate) fn follow(&self) -> watch::Receiver<ListVersions> {
        self.0.subscribe()
    }
}
