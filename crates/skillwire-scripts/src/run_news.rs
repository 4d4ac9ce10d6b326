//! What a client hears of a run that is under way, and what ends a run that no client waits for.

use std::time::Duration;

use skillwire_sandbox::{CancelHandle, OutputStream, RunObserver, RunProgress};
use tokio::sync::mpsc;

/// How often a client that waits is told that the script still waits or runs.
pub(crate) const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// How far reports of what a script writes are apart.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(250);

/// The most bytes of output in one report.
const MAX_REPORTED_BYTES: usize = 8 * 1024;

/// News of a run that is under way.
pub(crate) enum RunNews {
    Progress(RunProgress),
    Output(String),
}

/// Passes news on to a channel that holds one of them. A client that does not read misses some.
pub(crate) struct NewsObserver {
    news: mpsc::Sender<RunNews>,
    told: Duration,
    /// What the script wrote and the client was not told yet.
    written: String,
}

impl NewsObserver {
    pub(crate) fn new(news: mpsc::Sender<RunNews>) -> Self {
        Self { news, told: Duration::ZERO, written: String::new() }
    }
}

impl RunObserver for NewsObserver {
    fn progress(&mut self, run: &RunProgress) {
        // The run's own clock decides how far reports are apart.
        let since = run.elapsed.saturating_sub(self.told);
        if since >= OUTPUT_INTERVAL && !self.written.is_empty() {
            let written = std::mem::take(&mut self.written);
            let _ = self.news.try_send(RunNews::Output(written));
            self.told = run.elapsed;
        } else if since >= PROGRESS_INTERVAL {
            let _ = self.news.try_send(RunNews::Progress(*run));
            self.told = run.elapsed;
        }
    }

    fn wants_output(&self) -> bool {
        true
    }

    fn output(&mut self, _: OutputStream, text: &str) {
        if self.written.len() + text.len() <= MAX_REPORTED_BYTES {
            self.written.push_str(text);
        }
    }
}

/// Cancels a run when the future that waits for it is dropped.
pub(crate) struct CancelOnDrop(pub(crate) CancelHandle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
