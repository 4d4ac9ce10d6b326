//! Keeps a running server up to date, and logs changes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use skillwire_catalog::Refreshed;
use skillwire_core::{Effect, Strictness};
use skillwire_server::live::{Notice, SourceFollower, Subject};
use skillwire_source::ScanRequest;

use super::signals::ReloadSignal;
use crate::{exit::Exit, failure::Failure, progress::ScanSpinner, report::printable};

/// Scans the folders of a running server whenever they change.
pub(super) struct LiveFolders {
    follower: Arc<SourceFollower>,
    strictness: Strictness,
    /// The spinner that is shown until the first scan is done.
    waiting: Option<ScanSpinner>,
    /// What the first scan waits for: the listings of servers that are passed on.
    before: Option<BoxFuture<'static, ()>>,
}

impl LiveFolders {
    pub(super) fn new(
        follower: Arc<SourceFollower>,
        strictness: Strictness,
        waiting: ScanSpinner,
    ) -> Self {
        Self { follower, strictness, waiting: Some(waiting), before: None }
    }

    /// Delays the first scan until a future completes.
    #[cfg(feature = "host")]
    pub(super) fn wait_for(&mut self, before: impl Future<Output = ()> + Send + 'static) {
        self.before = Some(Box::pin(before));
    }

    pub(super) fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Scans the folders once, off the event loop.
    pub(super) async fn refresh(&mut self, look: ScanRequest) -> Result<Refreshed, Failure> {
        if let Some(before) = self.before.take() {
            before.await;
        }
        let refreshed =
            self.follower.look(look).await.map_err(|error| {
                Failure::new(Exit::Internal, "Reading skills broke.").because(error)
            });
        self.waiting = None;
        refreshed
    }

    /// Does background work once no request has come for a while.
    pub(super) fn when_idle(&self, work: impl FnOnce() + Send + 'static) {
        self.follower.when_idle(work);
    }

    /// Follows changes of the folders, and reload signals, for ever; a signal also runs
    /// `on_reload`.
    pub(super) async fn follow(&self, reload: &mut ReloadSignal, on_reload: impl Fn()) {
        let reload = async || {
            reload.requested().await;
            on_reload();
            tracing::info!("reading all folders again");
        };
        self.follower.follow(reload).await;
    }
}

/// Logs skipped skills, warnings, folders that cannot be read, and recoveries.
pub(super) fn log(notice: &Notice) {
    if !notice.concerns_operator() {
        return;
    }
    let mut text = printable(&notice.to_string());
    if let Subject::Skipped { finding, .. } = &notice.subject
        && finding.code.effect() == Effect::SkipUnlessLenient
        && !notice.over
    {
        text.push_str(" `--lenient` serves it all the same.");
    }
    if notice.over {
        tracing::info!("{text}");
    } else {
        tracing::warn!("{text}");
    }
}
