//! Requests at a fixed rate, whatever the server takes for them.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::client::Connection;
use crate::broken::{Broken, Result};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// An error of JSON-RPC is an answer with status 200, but a short one.
const MIN_BODY: usize = 1_000;

/// Requests that are sent one after the other, each once before any is sent again.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    requests: Arc<[Vec<u8>]>,
    next: Arc<AtomicUsize>,
}

impl Sequence {
    pub(crate) fn new(requests: Vec<Vec<u8>>) -> Result<Self> {
        if requests.is_empty() {
            return Err(Broken::new("There is nothing to ask."));
        }
        Ok(Self { requests: requests.into(), next: Arc::default() })
    }

    fn next(&self) -> &[u8] {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.requests.len();
        &self.requests[at]
    }
}

/// Sends requests at a rate per second over some connections, and returns how long each took, sorted.
///
/// The time of a request counts from when it was due, so that one slow answer shows in those that had to wait
/// for it.
pub(crate) async fn paced(
    address: SocketAddr,
    connections: u32,
    sequence: &Sequence,
    rate: u32,
    time: Duration,
) -> Result<Vec<Duration>> {
    let pause = Duration::from_secs(1) * connections / rate.max(1);
    let start = Instant::now();
    let mut driven = JoinSet::new();
    for at in 0..connections {
        let connection = Connection::open(address, PATIENCE).await?;
        let first = start + pause * at / connections;
        driven.spawn(drive(connection, sequence.clone(), first, pause, start + time));
    }
    let mut latencies = Vec::new();
    while let Some(finished) = driven.join_next().await {
        latencies.extend(finished.map_err(|error| Broken::new(error.to_string()))??);
    }
    latencies.sort_unstable();
    Ok(latencies)
}

async fn drive(
    mut connection: Connection,
    sequence: Sequence,
    first: Instant,
    pause: Duration,
    end: Instant,
) -> Result<Vec<Duration>> {
    let (mut latencies, mut due) = (Vec::new(), first);
    while due < end {
        let from = if Instant::now() < due {
            sleep_until(due).await;
            // A timer is no finer than a millisecond, which is not the server's.
            Instant::now()
        } else {
            due
        };
        let body = connection.exchange_within(sequence.next(), PATIENCE).await?;
        if body.len() < MIN_BODY {
            return Err(Broken::new(format!("Refused: {}", String::from_utf8_lossy(body))));
        }
        latencies.push(from.elapsed());
        due += pause;
    }
    Ok(latencies)
}
