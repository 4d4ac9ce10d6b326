//! Announces changes of what is offered: of the lists, and of resources.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};

/// Announcements of resources that a listener may fall behind before it is told that all changed.
const CAPACITY: usize = 1_024;

/// How often each list has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListVersions {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

/// Announces that lists of tools, prompts and resources changed, and that a resource did; clones share
/// the same listeners.
///
/// Only the number of changes of each list is kept, so a slow listener misses nothing.
#[derive(Debug, Clone)]
pub struct ListChanges {
    lists: Arc<watch::Sender<ListVersions>>,
    resources: broadcast::Sender<Arc<str>>,
}

impl Default for ListChanges {
    fn default() -> Self {
        let lists = Arc::new(watch::Sender::new(ListVersions::default()));
        Self { lists, resources: broadcast::Sender::new(CAPACITY) }
    }
}

impl ListChanges {
    /// Announces that the tools, or their schemas, have changed.
    pub fn tools(&self) {
        self.lists.send_modify(|versions| versions.tools += 1);
    }

    /// Announces that the prompts have changed.
    pub fn prompts(&self) {
        self.lists.send_modify(|versions| versions.prompts += 1);
    }

    /// Announces that the list of resources, or that of templates, has changed.
    pub fn resources(&self) {
        self.lists.send_modify(|versions| versions.resources += 1);
    }

    /// Announces that the resource with this URI has changed.
    pub fn resource(&self, uri: &str) {
        // Without a listener no client has to be told.
        let _ = self.resources.send(uri.into());
    }

    pub(crate) fn follow(&self) -> watch::Receiver<ListVersions> {
        self.lists.subscribe()
    }

    pub(crate) fn follow_resources(&self) -> broadcast::Receiver<Arc<str>> {
        self.resources.subscribe()
    }
}
