//! Threads that connections live on.
//!
//! A scheduler that may move any task to any thread wakes another thread for most requests, only
//! for that one to find nothing to do; on a quiet server that is a third of the price of an answer.
//! Requests are short and need no help, so each connection stays on the thread it was given.

use std::{future::Future, io, sync::Arc};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// Threads that connections live on; dropping it ends them.
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// Cloned by each task on this thread, so that they are counted.
    load: Arc<()>,
    /// Keeps the thread going.
    _until_dropped: Option<oneshot::Sender<()>>,
}

impl Workers {
    /// Starts some threads.
    pub fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Uses the runtime this is called on.
    pub fn here() -> Self {
        let runtime = Handle::current();
        Self(vec![Worker { runtime, load: Arc::default(), _until_dropped: None }])
    }

    /// Gives a task to the thread that has the fewest.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let Some(worker) = self.0.iter().min_by_key(|worker| Arc::strong_count(&worker.load))
        else {
            return;
        };
        let load = Arc::clone(&worker.load);
        worker.runtime.spawn(async move {
            task.await;
            drop(load);
        });
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (until_dropped, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name(format!("http-{number}")).spawn(move || {
            // The other end is never used, only dropped.
            let _ = runtime.block_on(ended);
            // A file system that hangs must not keep the process.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, load: Arc::default(), _until_dropped: Some(until_dropped) })
    }
}
