//! Helpers that several tests share.

use std::time::Duration;

use rmcp::{
    ClientHandler,
    model::ResourceUpdatedNotificationParam,
    service::{NotificationContext, RoleClient},
};
use tokio::{sync::mpsc, time::timeout};

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// The tokens of two callers, one of whom sees a part of the skills.
pub(crate) const TOKENS: &str = "alice 0123456789abcdef\nbob fedcba9876543210 acme/**\n";

/// Waits for something that a broken server may never do.
pub(crate) async fn soon<T>(waiting: impl Future<Output = T>) -> T {
    timeout(PATIENCE, waiting).await.expect("it happens in time")
}

/// A client of the official SDK that passes on notifications outside a subscription.
#[derive(Clone)]
pub(crate) struct Listening(pub(crate) mpsc::UnboundedSender<String>);

impl ClientHandler for Listening {
    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send("list changed".to_owned());
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(params.uri);
    }
}
