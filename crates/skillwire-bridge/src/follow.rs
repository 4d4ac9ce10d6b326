//! Keeping up with every origin.

use std::time::Duration;

use futures_util::future::join_all;
use skillwire_host::label::ServerLabel;
use tokio::time::sleep;

use crate::{
    bridge::Bridge,
    view::{Status, View},
};

/// The first and the longest pause before a server that failed is tried again.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// How often a server is listed that tells of no changes.
const PAUSE: Duration = Duration::from_mins(1);

impl Bridge {
    /// Follows every server of the host, each on its own, until the future is dropped.
    pub async fn follow(&self) {
        let labels = self.host().servers();
        let all = join_all(labels.iter().map(|label| self.follow_server(label)));
        tokio::join!(all, self.keep_view());
    }

    async fn keep_view(&self) {
        loop {
            self.refresh().await;
            self.rung().await;
        }
    }

    /// Puts together what is known now.
    async fn refresh(&self) {
        let found = self.host().known().await;
        let statuses = self.statuses().clone();
        let bridge = self.clone();
        // Ten thousand skills take a while, and clients are waiting.
        let made = tokio::task::spawn_blocking(move || {
            View::new(bridge.host(), found, statuses, bridge.options())
        });
        if let Ok(view) = made.await {
            self.show(view);
        }
    }

    async fn follow_server(&self, label: &ServerLabel) {
        let (first, longest) = RETRY;
        let mut retry = first;
        loop {
            let (status, pause) = match self.host().list(label).await {
                Ok(_) => {
                    retry = first;
                    (Status::Listed, PAUSE)
                }
                Err(refusal) => {
                    let pause = retry;
                    retry = (2 * retry).min(longest);
                    (Status::Failed(refusal), pause)
                }
            };
            self.statuses().insert(label.clone(), status);
            self.look_again();
            sleep(pause).await;
        }
    }
}
