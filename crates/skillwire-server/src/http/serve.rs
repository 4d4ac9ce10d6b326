//! Accepting connections, and stopping.

use std::{sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{
    quiet::{Activity, Answer, Hurried},
    service::HttpService,
    stall::StallGuard,
};
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
    let permits = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    tokio::pin!(shutdown);
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&permits).acquire_owned() => permit,
            () = &mut shutdown => break,
        };
        let Ok(permit) = permit else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let stream = match stream {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely; the next connection that closes frees one.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let open = Open::new(&service.metrics().connections);
        let activity = Activity::new();
        let connection = connection(stream, service.clone(), &activity, &limits);
        let connection = Hurried::new(graceful.watch(connection), activity, limits.header_time);
        tokio::spawn(async move {
            match connection.await {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::debug!(%error, "a connection ended early"),
                None => tracing::debug!("a connection was quiet for too long"),
            }
            drop((permit, open));
        });
    }
    drop(listener);
    service.stop();
    if tokio::time::timeout(limits.stop_time, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way when the server stopped");
    }
}

fn connection(
    stream: TcpStream,
    service: HttpService,
    activity: &Arc<Activity>,
    limits: &ConnectionLimits,
) -> http1::Connection<
    StallGuard<TokioIo<TcpStream>>,
    impl hyper::service::HttpService<
        hyper::body::Incoming,
        ResBody = Answer,
        Error = std::convert::Infallible,
        Future: Send,
    > + Send
    + use<>,
> {
    // Small answers must not wait for more to send with them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let guarded = StallGuard::new(TokioIo::new(stream), limits.stall_time, Arc::clone(activity));
    let activity = Arc::clone(activity);
    let handler = service_fn(move |request| {
        let (service, answering) = (service.clone(), activity.answering());
        async move {
            let response = service.handle(request).await;
            Ok(response.map(|body| Answer::new(body, answering)))
        }
    });
    http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes)
        .serve_connection(guarded, handler)
}
