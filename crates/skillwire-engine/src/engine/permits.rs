//! Bounds the work that blocks a thread.

use std::sync::Arc;

use tokio::{sync::Semaphore, task::JoinError};

/// The most files that are read from disk at the same time.
const READS: usize = 32;

/// The most files of generated skills that are made at the same time.
const GENERATIONS: usize = 32;

/// Permits to block a thread.
///
/// A blocking task runs to its end even when its client has left, so without a bound, clients that
/// come and go would occupy every thread of the pool. Generators are the operator's own code and
/// may hang. They have permits of their own, so that a generator that never returns does not block
/// stored files.
#[derive(Debug)]
pub(crate) struct ReadPermits {
    reads: Arc<Semaphore>,
    generations: Arc<Semaphore>,
}

impl Default for ReadPermits {
    fn default() -> Self {
        let permits = |most| Arc::new(Semaphore::new(most));
        Self { reads: permits(READS), generations: permits(GENERATIONS) }
    }
}

impl ReadPermits {
    /// Reads from disk, off the event loop.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        with_permit(&self.reads, work).await
    }

    /// Runs a generator, off the event loop.
    pub(super) async fn generate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        with_permit(&self.generations, work).await
    }
}

async fn with_permit<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // The semaphore is never closed, so there is always a permit. The blocking task holds it, not
    // this future: a client that leaves must not free the permit of a thread that is still busy.
    let permit = Arc::clone(permits).acquire_owned().await;
    let working = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    working.await
}
