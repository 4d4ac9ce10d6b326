//! How far a verification has come, for a person at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use skillwire_host::verification::Progress;

/// The interval at which the spinner moves.
const PACE: Duration = Duration::from_millis(100);

/// A bar on standard error, if that is a terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Begins with the listing, which has no known length.
    pub(super) fn new() -> Self {
        // The library draws nothing if standard error is not a terminal.
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} Listing skills, {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(PACE);
        Self(bar)
    }

    /// Shows how many skills are done.
    pub(super) fn show(&self, progress: Progress) {
        if self.0.length().is_none() {
            let template = "{spinner} Verifying skills {bar:30} {pos} of {len}, {elapsed}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.0.set_style(style);
            }
            self.0.set_length(progress.total as u64);
        }
        self.0.set_position(progress.done as u64);
    }

    /// Removes the bar from the terminal.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
