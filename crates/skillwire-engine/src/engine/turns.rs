//! Turns at work that blocks a thread.

use std::sync::Arc;

use tokio::{sync::Semaphore, task::JoinError};

/// Files that are read from disk at the same time.
const READINGS: usize = 32;

/// Files of generated skills that are made at the same time.
const MAKINGS: usize = 32;

/// Who may block a thread, and how many at once.
///
/// Work goes on when its client has left, so without a bound clients that come and go would take
/// every thread there is. Generators have turns of their own: one that never ends holds up no files.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    readings: Arc<Semaphore>,
    makings: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        let turns = |most| Arc::new(Semaphore::new(most));
        Self { readings: turns(READINGS), makings: turns(MAKINGS) }
    }
}

impl Turns {
    /// Reads something from disk, off the event loop.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        in_turn(&self.readings, work).await
    }

    /// Has a generator make something, off the event loop.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        in_turn(&self.makings, work).await
    }
}

async fn in_turn<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // The semaphore is never closed, so there is always a turn.
    let turn = Arc::clone(turns).acquire_owned().await;
    let working = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    working.await
}
