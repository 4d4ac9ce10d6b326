//! Waking the scanner of a source that has changes to report.

use parking_lot::{Mutex, MutexGuard};
use skillwire_source::ChangeCallback;

/// Whether a source has changes that no scan has reported, and the callback that asks for a scan.
///
/// Marking and waking are two steps, because a bridge checks the user's approvals in between: a
/// server marks its source, the bridge works out which skills are approved now, and only then wakes
/// the source. A scan before that would judge the new skills by the old approvals.
#[derive(Default)]
pub(crate) struct ChangeSignal(Mutex<SignalState>);

#[derive(Default)]
struct SignalState {
    callback: Option<ChangeCallback>,
    is_marked: bool,
}

impl ChangeSignal {
    /// Notes that there are changes to report.
    pub(crate) fn mark(&self) {
        self.lock().is_marked = true;
    }

    /// Asks for a scan if there are changes to report.
    pub(crate) fn wake(&self) {
        let callback = {
            let state = self.lock();
            state.callback.clone().filter(|_| state.is_marked)
        };
        // The callback may scan this source at once, and a scan takes this lock. Calling it under
        // the lock would deadlock.
        if let Some(callback) = callback {
            callback();
        }
    }

    /// Tells whether there are changes to report, and clears the mark.
    pub(crate) fn take(&self) -> bool {
        std::mem::take(&mut self.lock().is_marked)
    }

    /// Sets the callback, and calls it at once if there are changes to report.
    pub(crate) fn on_change(&self, callback: ChangeCallback) {
        self.lock().callback = Some(callback);
        self.wake();
    }

    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.0.lock()
    }
}
