//! Threads that connections live on.
//!
//! A scheduler that may move any task to any thread wakes another thread for most requests, and
//! that thread finds nothing to do; on a quiet server this is a third of the cost of an answer.
//! Requests are short, so each connection stays on the thread it was assigned to.

use std::{
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// The threads that serve connections; dropping this ends them.
#[derive(Debug)]
pub struct Workers(Vec<HttpWorker>);

#[derive(Debug)]
struct HttpWorker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    /// Ends the thread when it is dropped.
    _until_dropped: Option<oneshot::Sender<()>>,
}

/// Counts one connection of a worker until this is dropped.
struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    fn on(worker: &HttpWorker) -> Self {
        worker.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&worker.connections))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts `count` threads, but at least one.
    pub fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(HttpWorker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Serves connections on the runtime of the caller, without threads of its own.
    pub fn here() -> Self {
        let runtime = Handle::current();
        Self(vec![HttpWorker { runtime, connections: Arc::default(), _until_dropped: None }])
    }

    /// Runs a connection on the thread that has the fewest connections.
    pub(super) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let load = |worker: &&HttpWorker| worker.connections.load(Ordering::Relaxed);
        if let Some(worker) = self.0.iter().min_by_key(load) {
            let open = OpenConnection::on(worker);
            worker.runtime.spawn(async move {
                connection.await;
                drop(open);
            });
        }
    }
}

impl HttpWorker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (until_dropped, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name(format!("http-{number}")).spawn(move || {
            // The sender never sends; this ends when it is dropped.
            let _ = runtime.block_on(ended);
            // Does not wait for blocking tasks: one that hangs in the file system would keep the
            // process alive.
            runtime.shutdown_background();
        })?;
        let connections = Arc::default();
        Ok(Self { runtime: handle, connections, _until_dropped: Some(until_dropped) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(workers: &Workers) -> Vec<usize> {
        workers.0.iter().map(|worker| worker.connections.load(Ordering::Relaxed)).collect()
    }

    #[tokio::test]
    async fn each_connection_goes_to_the_thread_that_has_the_fewest() {
        let workers = Workers::start(2).unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel::<()>();
        workers.spawn(std::future::pending());
        workers.spawn(async {
            let _ = ended.await;
            let _ = done.send(());
        });
        assert_eq!(loads(&workers), [1, 1]);
        end.send(()).unwrap();
        is_done.await.unwrap();
        // The count falls when the task is gone, which is right after its last statement.
        while loads(&workers) != [1, 0] {
            tokio::task::yield_now().await;
        }
        workers.spawn(std::future::pending());
        assert_eq!(loads(&workers), [1, 1]);
    }
}
