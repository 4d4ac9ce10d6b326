//! Measures `resources/read` over HTTP: of many files in turn, and of a few repeatedly.

use std::{sync::Arc, time::Instant};

use serde_json::json;

use super::{
    Bench, connected,
    contest::{self, Contest},
    peer, progress, summary,
};
use crate::{
    broken::Result,
    corpus::{Corpus, rng::Rng},
    http::{bare::Kind, load},
    program::Program,
    report::{Check, Peer, Quantity, Row},
    server::HttpServer,
    wire,
};

const CONNECTIONS: [usize; 2] = [1, 32];

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.large)?;
    let home = bench.new_home()?;
    let spread = requests(&corpus, bench.plan.spread);
    let hot: Arc<[Vec<u8>]> = spread[..bench.plan.hot.min(spread.len())].into();
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let server = server.settled().await?;
    for (set, requests) in [("spread over", &spread), ("hot set of", &hot)] {
        let twin = contest::bare_twin(Kind::Axum, server.target, requests, home.path()).await?;
        for connections in CONNECTIONS {
            let what = format!(
                "`resources/read`, {}, {set} {} files",
                connected(connections),
                requests.len()
            );
            progress(&what);
            let pair = (server.target, twin.target);
            let (rounds, time) = (bench.plan.rounds, bench.plan.load);
            let held = contest::hold(pair, connections, requests, rounds, time).await?;
            let is_spread = Arc::ptr_eq(requests, &spread);
            let peers = if is_spread {
                ask_peers(bench, &corpus, connections, requests).await
            } else {
                Vec::new()
            };
            add(bench, &what, &held, peers, is_spread)?;
        }
        twin.stop().await?;
    }
    ceiling(bench, &server, &hot, home.path()).await?;
    server.stop().await
}

fn add(
    bench: &mut Bench,
    what: &str,
    held: &Contest,
    peers: Vec<Peer>,
    is_spread: bool,
) -> Result<()> {
    contest::note(&mut bench.report, what, "skillwire", &held.ours);
    contest::note(&mut bench.report, what, "bare axum", &held.bare);
    let mut row = Row::new(what, Quantity::Rate, summary(contest::rates(&held.ours))?)
        .against("bare axum", summary(contest::rates(&held.bare))?)
        .among(peers)
        .wants(Check::AtLeastOfReference(0.85));
    if is_spread {
        row = row.wants(Check::TimesBestPeer(20.0));
    }
    bench.report.rows.push(row);
    Ok(())
}

/// Requests for files of many skills, in an order that looks random.
fn requests(corpus: &Corpus, most: usize) -> Arc<[Vec<u8>]> {
    let mut uris: Vec<String> = corpus.file_uris().collect();
    Rng::new(1, 0).shuffle(&mut uris);
    uris.truncate(most);
    uris.iter().map(|uri| wire::http_request("resources/read", json!({ "uri": uri }))).collect()
}

async fn ask_peers(
    bench: &Bench,
    corpus: &Corpus,
    connections: usize,
    requests: &Arc<[Vec<u8>]>,
) -> Vec<Peer> {
    let mut peers = Vec::new();
    for program in &bench.peers {
        progress(&format!("{} at {connections} connections", program.name));
        let rates = ask_peer(bench, program, corpus, connections, requests).await;
        peers.push(peer(program.name, rates));
    }
    peers
}

async fn ask_peer(
    bench: &Bench,
    program: &Program,
    corpus: &Corpus,
    connections: usize,
    requests: &Arc<[Vec<u8>]>,
) -> Result<Vec<f64>> {
    let home = bench.new_home()?;
    let server = HttpServer::start(program.over_http(&corpus.folder, home.path())).await?;
    let server = server.settled().await?;
    let (start, mut rates) = (Instant::now(), Vec::new());
    // The first round lets a just-in-time compiler settle and does not count.
    for round in 0..=bench.plan.long_rounds {
        let held = load::round(server.target, connections, requests, bench.plan.load).await?;
        if round > 0 {
            rates.push(held.per_second);
        }
        if start.elapsed() > bench.plan.peer_time && !rates.is_empty() {
            break;
        }
    }
    server.stop().await?;
    Ok(rates)
}

/// The rate of the load generator against a server that does not parse HTTP.
async fn ceiling(
    bench: &mut Bench,
    server: &HttpServer,
    requests: &Arc<[Vec<u8>]>,
    home: &std::path::Path,
) -> Result<()> {
    let canned = contest::bare_twin(Kind::Canned, server.target, requests, home).await?;
    for connections in CONNECTIONS {
        let mut rounds = Vec::new();
        for _ in 0..bench.plan.rounds {
            rounds.push(load::round(canned.target, connections, requests, bench.plan.load).await?);
        }
        let what = format!("load generator's ceiling, {}", connected(connections));
        contest::note(&mut bench.report, &what, "canned bytes", &rounds);
    }
    canned.stop().await
}
