//! Load: a fixed number of connections, each sending its next request when the last is answered.
//!
//! One thread drives all connections, so that on two cores the server has at least one of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::client::Connection;
use crate::{
    broken::{Broken, Result},
    proc,
    stats::percentile,
};

/// The most latencies that are recorded, to bound memory.
const MAX_REQUESTS_PER_CONNECTION: usize = 1_000_000;
/// How long after the end of a round a server may still answer.
const GRACE: Duration = Duration::from_mins(1);
/// An error of JSON-RPC is an answer with status 200, but a short one.
const MIN_BODY: usize = 1_000;

/// The address of a server, and the process whose time is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

/// The result of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Processor time per request, in seconds, of the server and of this program.
    pub(crate) server_cpu: f64,
    pub(crate) client_cpu: f64,
}

/// Sends `requests` in turn for about `time`.
pub(crate) async fn round(
    target: Target,
    connections: usize,
    requests: &Arc<[Vec<u8>]>,
    time: Duration,
) -> Result<Round> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(target.address, GRACE).await?);
    }
    let (server, client) = (proc::cpu(target.pid)?, proc::cpu(std::process::id())?);
    let start = Instant::now();
    let end = start + time;
    let mut driven = JoinSet::new();
    for (at, connection) in open.into_iter().enumerate() {
        let first = at * requests.len() / connections;
        driven.spawn(drive(connection, Arc::clone(requests), first, end));
    }
    let mut latencies = Vec::new();
    while let Some(finished) = timeout_at(end + GRACE, driven.join_next())
        .await
        .map_err(|_| Broken::new("The server stopped answering under load."))?
    {
        latencies.extend(finished.map_err(|error| Broken::new(error.to_string()))??);
    }
    let took = start.elapsed();
    latencies.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "requests are counted in millions at most")]
    let count = latencies.len() as f64;
    Ok(Round {
        per_second: count / took.as_secs_f64(),
        p50: percentile(&latencies, 500),
        p99: percentile(&latencies, 990),
        server_cpu: (proc::cpu(target.pid)? - server) / count,
        client_cpu: (proc::cpu(std::process::id())? - client) / count,
    })
}

/// Sends requests on one connection until the time is over; at least one.
async fn drive(
    mut connection: Connection,
    requests: Arc<[Vec<u8>]>,
    first: usize,
    end: Instant,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    for request in requests.iter().cycle().skip(first).take(MAX_REQUESTS_PER_CONNECTION) {
        let sent = Instant::now();
        let body = connection.exchange(request).await?;
        if body.len() < MIN_BODY {
            return Err(Broken::new(format!("Refused: {}", String::from_utf8_lossy(body))));
        }
        let answered = Instant::now();
        latencies.push(answered - sent);
        if answered >= end {
            break;
        }
    }
    Ok(latencies)
}
