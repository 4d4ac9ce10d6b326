//! Waking the scanner of a source that has changes to report.

use parking_lot::{Mutex, MutexGuard};
use skillwire_source::ChangeCallback;

/// Whether a source has changes that no scan has reported, and the callback that asks for a scan.
///
/// Marking and waking are two steps, because the skills of a bridge pass through the user's
/// approvals in between: a server marks its source, the bridge works out what is approved now, and
/// only then is the source scanned.
#[derive(Default)]
pub(crate) struct ChangeSignal(Mutex<State>);

#[derive(Default)]
struct State {
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
        // The callback may look at this source at once, so nothing is locked here.
        if let Some(callback) = callback {
            callback();
        }
    }

    /// Tells whether there are changes to report, and takes them for reported.
    pub(crate) fn take(&self) -> bool {
        std::mem::take(&mut self.lock().is_marked)
    }

    /// Sets the callback, and calls it at once if there are changes to report.
    pub(crate) fn on_change(&self, callback: ChangeCallback) {
        self.lock().callback = Some(callback);
        self.wake();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}
