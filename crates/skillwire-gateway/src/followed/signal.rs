//! Telling whoever looks at a source that there is something to report.

use std::sync::{Mutex, MutexGuard, PoisonError};

use skillwire_source::ChangeCallback;

/// Whether there is something that no look has reported, and whom to tell.
#[derive(Default)]
pub(crate) struct ChangeSignal(Mutex<State>);

#[derive(Default)]
struct State {
    wake: Option<ChangeCallback>,
    pending: bool,
}

impl ChangeSignal {
    /// There is something to report.
    pub(crate) fn tell(&self) {
        let mut state = self.lock();
        // One look reports everything, so that one call is enough.
        if !std::mem::replace(&mut state.pending, true)
            && let Some(wake) = state.wake.clone()
        {
            drop(state);
            wake();
        }
    }

    /// Tells whether there is something to report, and takes it for reported.
    pub(crate) fn take(&self) -> bool {
        std::mem::take(&mut self.lock().pending)
    }

    /// Has somebody told from now on, and at once if there is something.
    pub(crate) fn on_change(&self, wake: ChangeCallback) {
        let mut state = self.lock();
        let at_once = state.pending.then(|| ChangeCallback::clone(&wake));
        state.wake = Some(wake);
        drop(state);
        if let Some(wake) = at_once {
            wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
