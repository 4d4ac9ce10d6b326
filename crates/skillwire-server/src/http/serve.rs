//! Accepting connections, and stopping.

use std::{sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{service::HttpService, stall::StallGuard};
use crate::metrics::Open;

/// What connections may cost.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections at once; more wait to be accepted.
    pub connections: usize,
    /// How long headers may take to arrive, and a kept-alive connection may be idle.
    pub header_time: Duration,
    /// How long a peer may refuse to read.
    pub stall_time: Duration,
    /// Bytes of headers.
    pub header_bytes: usize,
    /// How long requests under way are waited for when the server stops.
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

/// Serves connections until `shutdown` is done, then lets requests under way finish.
pub async fn run(
    listener: TcpListener,
    service: HttpService,
    limits: ConnectionLimits,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    tokio::select! {
        () = accept(&listener, &service, &limits, &graceful) => {}
        () = service.tidy() => {}
        () = shutdown => {}
    }
    drop(listener);
    service.stop();
    if tokio::time::timeout(limits.stop_time, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way when the server stopped");
    }
}

/// Takes connections for ever, as many at once as there may be.
async fn accept(
    listener: &TcpListener,
    service: &HttpService,
    limits: &ConnectionLimits,
    graceful: &GracefulShutdown,
) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    // The semaphore is never closed, so there is always a permit.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely; the next connection that closes frees one.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let open = Open::new(&service.metrics().connections);
        let connection = graceful.watch(connection(stream, service.clone(), limits));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop((permit, open));
        });
    }
}

fn connection(
    stream: TcpStream,
    service: HttpService,
    limits: &ConnectionLimits,
) -> http1::Connection<
    StallGuard<TokioIo<TcpStream>>,
    impl hyper::service::HttpService<
        hyper::body::Incoming,
        ResBody = super::ResponseBody,
        Error = std::convert::Infallible,
        Future: Send,
    > + Send
    + use<>,
> {
    // Small answers must not wait for more to send with them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let handler = service_fn(move |request| {
        let service = service.clone();
        async move { Ok(service.handle(request).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes)
        .serve_connection(StallGuard::new(TokioIo::new(stream), limits.stall_time), handler)
}
