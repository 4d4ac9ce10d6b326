//! Two servers under the same load, in turn.

use std::{sync::Arc, time::Duration};

use crate::{
    broken::Result,
    http::{
        bare::{self, Kind},
        client::Connection,
        load::{self, Round, Target},
    },
    proc, program,
    report::{Load, Report},
    server::{HttpServer, PATIENCE},
    stats::Summary,
};

/// The rounds of both servers, alternating.
#[derive(Debug, Default)]
pub(super) struct Contest {
    pub(super) ours: Vec<Round>,
    pub(super) bare: Vec<Round>,
}

/// Loads both servers in turn, after a short warm-up round of each. With one connection, each server
/// and this program have a core of their own.
pub(super) async fn hold(
    (ours, bare): (Target, Target),
    connections: usize,
    requests: &Arc<[Vec<u8>]>,
    rounds: usize,
    time: Duration,
) -> Result<Contest> {
    hold_each((ours, requests), (bare, requests), connections, rounds, time).await
}

/// A server, and what it is asked.
pub(super) type Asked<'a> = (Target, &'a Arc<[Vec<u8>]>);

/// The same with requests of its own for each server.
pub(super) async fn hold_each(
    ours: Asked<'_>,
    bare: Asked<'_>,
    connections: usize,
    rounds: usize,
    time: Duration,
) -> Result<Contest> {
    let mut contest = Contest::default();
    for (target, requests) in [ours, bare] {
        round(target, connections, requests, time / 3).await?;
    }
    for _ in 0..rounds {
        contest.bare.push(round(bare.0, connections, bare.1, time).await?);
        contest.ours.push(round(ours.0, connections, ours.1, time).await?);
    }
    Ok(contest)
}

async fn round(
    target: Target,
    connections: usize,
    requests: &Arc<[Vec<u8>]>,
    time: Duration,
) -> Result<Round> {
    let _pinned = match connections {
        1 => proc::Pinned::apart(target.pid, std::process::id())?,
        _ => None,
    };
    load::round(target, connections, requests, time).await
}

/// Sends every request once and starts a server that returns the same bytes.
pub(super) async fn bare_twin(
    kind: Kind,
    original: Target,
    requests: &[Vec<u8>],
    home: &std::path::Path,
) -> Result<HttpServer> {
    let mut connection = Connection::open(original.address, PATIENCE).await?;
    let mut bodies = Vec::new();
    for request in requests {
        bodies.push(connection.exchange_within(request, PATIENCE).await?.to_vec());
    }
    let file = tempfile::Builder::new().prefix("bodies-").tempfile_in(home)?;
    bare::write_bodies(file.path(), &bodies)?;
    HttpServer::start(program::bare(kind, file.path())?).await
}

/// The requests per second of some rounds.
pub(super) fn rates(rounds: &[Round]) -> impl Iterator<Item = f64> {
    rounds.iter().map(|round| round.per_second)
}

/// Adds the processor time of server and client to the report.
pub(super) fn note(report: &mut Report, what: &str, who: &'static str, rounds: &[Round]) {
    let median = |value: fn(&Round) -> f64| {
        Summary::of(rounds.iter().map(value)).map_or(0.0, |summary| summary.median)
    };
    report.loads.push(Load {
        what: what.to_owned(),
        who,
        per_second: median(|round| round.per_second),
        p50_micros: median(|round| round.p50.as_secs_f64() * 1e6),
        p99_micros: median(|round| round.p99.as_secs_f64() * 1e6),
        server_cpu_micros: median(|round| round.server_cpu * 1e6),
        client_cpu_micros: median(|round| round.client_cpu * 1e6),
    });
}
