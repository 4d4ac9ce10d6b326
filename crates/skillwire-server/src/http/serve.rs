//! Accepting connections, and stopping.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{HeaderMap, Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::TokioIo,
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
};

use super::{
    body::ResponseBody,
    framing::FramingGuard,
    idle::{ConnectionActivity, TrackedBody},
    rate::{ConnectionPeer, RateRefusal},
    service::HttpService,
    stall::StallGuard,
    workers::Workers,
};
use skillwire_engine::metrics::{Metrics, OpenGuard};

/// Limits on what connections may cost the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// The most connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// How long headers may take to arrive, and how long a kept-alive connection may be idle.
    pub header_time: Duration,
    /// How long a client may refuse to read before its connection is closed.
    pub stall_time: Duration,
    /// The most bytes that the headers of a request may have.
    pub header_bytes: usize,
    /// How long the server waits for running requests when it stops.
    pub stop_time: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            header_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(30),
            header_bytes: 64 * 1024,
            stop_time: Duration::from_secs(5),
        }
    }
}

impl ConnectionLimits {
    /// Sets the most connections at once; further ones wait to be accepted.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long headers may take to arrive and a kept-alive connection may be idle.
    #[must_use]
    pub fn header_time(mut self, time: Duration) -> Self {
        self.header_time = time;
        self
    }

    /// Sets how long a client may refuse to read before its connection is closed.
    #[must_use]
    pub fn stall_time(mut self, time: Duration) -> Self {
        self.stall_time = time;
        self
    }

    /// Sets the most bytes that the headers of a request may have.
    #[must_use]
    pub fn header_bytes(mut self, bytes: usize) -> Self {
        self.header_bytes = bytes;
        self
    }

    /// Sets how long the server waits for running requests when it stops.
    #[must_use]
    pub fn stop_time(mut self, time: Duration) -> Self {
        self.stop_time = time;
        self
    }
}

/// Answers the requests of a listener; [`HttpService`] is one, and a program may put its own before it.
pub trait HttpHandler: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn handle(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<ResponseBody>> + Send;

    /// Returns the handler of one connection, which knows where its requests come from.
    #[must_use]
    fn of_peer(&self, peer: Arc<ConnectionPeer>) -> Self {
        // A handler that does not tell clients apart answers all connections alike.
        drop(peer);
        self.clone()
    }

    /// Counts a request that this handler does not answer itself, and refuses one that comes too soon.
    fn charge_request(&self, _headers: &HeaderMap) -> Result<(), RateRefusal> {
        Ok(())
    }

    /// Ends all streams in order, because the server stops.
    fn stop(&self);

    /// Returns the metrics that count connections.
    fn metrics(&self) -> &Metrics;
}

impl HttpHandler for HttpService {
    async fn handle(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        Self::handle(self, request).await
    }

    fn of_peer(&self, peer: Arc<ConnectionPeer>) -> Self {
        Self::of_peer(self, Some(&peer))
    }

    fn charge_request(&self, headers: &HeaderMap) -> Result<(), RateRefusal> {
        Self::charge_request(self, headers)
    }

    fn stop(&self) {
        Self::stop(self);
    }

    fn metrics(&self) -> &Metrics {
        Self::metrics(self)
    }
}

/// Serves connections until `shutdown` is done, then lets running requests finish.
pub async fn run(
    listener: TcpListener,
    service: impl HttpHandler,
    workers: Workers,
    limits: ConnectionLimits,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    tokio::select! {
        () = accept(&listener, &service, &workers, &limits, &graceful) => {}
        () = shutdown => {}
    }
    drop(listener);
    service.stop();
    if tokio::time::timeout(limits.stop_time, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way when the server stopped");
    }
}

/// Accepts connections for ever, up to the limit at once.
async fn accept(
    listener: &TcpListener,
    service: &impl HttpHandler,
    workers: &Workers,
    limits: &ConnectionLimits,
    graceful: &GracefulShutdown,
) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    // The semaphore is never closed, so there is always a permit.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let accepted = listener.accept().await;
        let accepted = accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer)));
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely the process is out of file descriptors; the next connection that
                // closes frees one.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let open = OpenGuard::new(&service.metrics().connections);
        let service = service.of_peer(ConnectionPeer::new(peer.ip()));
        let (limits, watcher) = (limits.clone(), graceful.watcher());
        let activity = ConnectionActivity::new();
        let (late, too_late) = oneshot::channel();
        tokio::spawn(Arc::clone(&activity).watch(limits.header_time, late));
        workers.spawn(async move {
            tokio::select! {
                biased;
                ended = connection(stream, service, activity, &limits, watcher) => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "a connection ended early");
                    }
                }
                Ok(()) = too_late => tracing::debug!("a client took too long to ask"),
            }
            drop((permit, open));
        });
    }
}

/// Serves one connection on the current thread.
async fn connection(
    stream: std::net::TcpStream,
    service: impl HttpHandler,
    activity: Arc<ConnectionActivity>,
    limits: &ConnectionLimits,
    watcher: Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::from_std(stream)?;
    // Small answers must be sent at once, not held back to be sent with later data.
    stream.set_nodelay(true)?;
    let written = Arc::clone(&activity);
    let note_write = move || written.sent();
    let (from_client, to_client) = stream.into_split();
    let stream = tokio::io::join(FramingGuard::new(from_client), to_client);
    let stream = StallGuard::new(TokioIo::new(stream), limits.stall_time, note_write);
    let handler = service_fn(move |request| {
        let (service, answering) = (service.clone(), activity.answering());
        async move {
            let response = service.handle(request).await;
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, answering)))
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes)
        .serve_connection(stream, handler);
    Ok(watcher.watch(connection).await?)
}
