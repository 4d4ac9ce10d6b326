//! Changes that a server announces.

use tokio::{
    sync::broadcast::{self, error::RecvError},
    task::AbortHandle,
};

/// Changes that are buffered for a listener; one that falls further behind has to look at
/// everything again.
const CAPACITY: usize = 256;

/// A change that a server announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The server's listing changed.
    SkillsChanged,
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The resource with this URI changed. The text is the server's.
    Updated(String),
}

/// The changes that a listener asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest<'a> {
    /// Changes of the listing.
    Listing,
    /// Changes of the lists of tools and prompts.
    Offers {
        /// Whether changes of the list of resources are wanted too.
        resources: bool,
    },
    /// Changes of these resources.
    Resources(&'a [&'a str]),
    /// Changes of the listing and of these resources.
    ListingAnd(&'a [&'a str]),
}

impl<'a> Interest<'a> {
    pub(super) fn is_in_listing(self) -> bool {
        !matches!(self, Self::Resources(_) | Self::Offers { resources: false })
    }

    pub(super) fn resources(self) -> &'a [&'a str] {
        match self {
            Self::Listing | Self::Offers { .. } => &[],
            Self::Resources(uris) | Self::ListingAnd(uris) => uris,
        }
    }
}

/// Creates the channel that carries changes to listeners.
pub(super) fn channel() -> broadcast::Sender<Change> {
    broadcast::Sender::new(CAPACITY)
}

/// A stream of changes; dropping it ends the subscription behind it.
#[derive(Debug)]
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
    _subscription: Option<SubscriptionGuard>,
}

impl Changes {
    pub(super) fn new(
        receiver: broadcast::Receiver<Change>,
        subscription: Option<SubscriptionGuard>,
    ) -> Self {
        Self { receiver, _subscription: subscription }
    }

    /// Waits for the next change; returns `None` once no more can come.
    pub async fn next(&mut self) -> Option<Change> {
        match self.receiver.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(Change::SkillsChanged),
            Err(RecvError::Closed) => None,
        }
    }
}

/// The task or request behind a subscription, which ends when this value is dropped.
pub(super) struct SubscriptionGuard(Option<Box<dyn FnOnce() + Send + Sync>>);

impl SubscriptionGuard {
    pub(super) fn new(end: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(end)))
    }

    pub(super) fn task(task: AbortHandle) -> Self {
        Self::new(move || task.abort())
    }
}

impl std::fmt::Debug for SubscriptionGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SubscriptionGuard")
    }
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_falls_behind_is_told_to_look_at_everything_hst_34() {
        let sender = channel();
        let mut changes = Changes::new(sender.subscribe(), None);
        for n in 0..=CAPACITY {
            sender.send(Change::Updated(n.to_string())).unwrap();
        }
        assert_eq!(changes.next().await, Some(Change::SkillsChanged));
        assert_eq!(changes.next().await, Some(Change::Updated("1".to_owned())));
    }
}
