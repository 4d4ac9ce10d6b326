//! Threads that connections live on.
//!
//! A scheduler that may move any task to any thread wakes another thread for most requests, only
//! for that one to find nothing to do; on a quiet server that is a third of the price of an answer.
//! Requests are short and need no help, so each connection stays on the thread it was given.

use std::{
    future::Future,
    io,
    num::NonZero,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle},
    sync::{Notify, oneshot},
};

/// How long a thread with one connection looks out for the next request before it sleeps.
const LOOK_OUT: Duration = Duration::from_micros(50);

/// Threads that connections live on; dropping it ends them.
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// Cloned by each task on this thread, so that they are counted.
    lookout: Arc<Lookout>,
    /// Keeps the thread going.
    _until_dropped: Option<oneshot::Sender<()>>,
}

/// Keeps a thread awake for a moment after each answer.
///
/// A client that asks one thing after the other sends its next request some microseconds after the
/// last answer. A thread that slept meanwhile must be woken, and so must a core that had nothing else
/// to do: that takes longer than answering, on a virtual machine several times as long. Where there
/// are more connections than one, there is mostly a request to answer before there is time to sleep.
/// Where there is one core, it is the client that would wait for it.
#[derive(Debug, Default)]
pub(super) struct Lookout {
    answered: Notify,
}

impl Lookout {
    /// Notes that an answer was sent from this thread.
    pub(super) fn answered(self: &Arc<Self>) {
        // One is the worker's, one that of its task, and one the connection's.
        if Arc::strong_count(self) <= 3 {
            self.answered.notify_one();
        }
    }

    /// Looks out for requests after each answer, as long as the thread lives.
    async fn keep(self: Arc<Self>) {
        loop {
            self.answered.notified().await;
            let end = Instant::now() + LOOK_OUT;
            while Instant::now() < end {
                // Whatever came in is found by the thread when nothing is left to do but this.
                tokio::task::yield_now().await;
            }
        }
    }
}

impl Workers {
    /// Starts some threads.
    pub fn start(count: usize) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = (0..count.max(1)).map(|number| Worker::start(number, cores));
        workers.collect::<io::Result<_>>().map(Self)
    }

    /// Uses the runtime this is called on.
    pub fn here() -> Self {
        let runtime = Handle::current();
        Self(vec![Worker { runtime, lookout: Arc::default(), _until_dropped: None }])
    }

    /// Gives a task to the thread that has the fewest; it has the thread's lookout while it lasts.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl FnOnce(Arc<Lookout>) -> F,
    ) {
        let fewest = self.0.iter().min_by_key(|worker| Arc::strong_count(&worker.lookout));
        if let Some(worker) = fewest {
            worker.runtime.spawn(task(Arc::clone(&worker.lookout)));
        }
    }
}

impl Worker {
    fn start(number: usize, cores: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (until_dropped, ended) = oneshot::channel::<()>();
        let lookout = Arc::<Lookout>::default();
        if cores > 1 {
            runtime.spawn(Arc::clone(&lookout).keep());
        }
        std::thread::Builder::new().name(format!("http-{number}")).spawn(move || {
            // The other end is never used, only dropped.
            let _ = runtime.block_on(ended);
            // A file system that hangs must not keep the process.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, lookout, _until_dropped: Some(until_dropped) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_core_is_left_to_the_client() {
        let holders = |cores| Arc::strong_count(&Worker::start(0, cores).unwrap().lookout);
        assert_eq!((holders(1), holders(2)), (1, 2), "the worker, and a task that looks out");
    }
}
