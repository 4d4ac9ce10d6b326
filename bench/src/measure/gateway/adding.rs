//! What a hub adds to the time of a read and of a call of a tool that it passes on.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    super::{Bench, progress, summary},
    place::{GatewayHub, Upstream},
};
use crate::{
    broken::{Broken, Result},
    corpus::{Corpus, rng::Rng},
    http::client::Connection,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::percentile,
    wire,
};

/// The most that may be added at the median, in seconds.
const MOST_ADDED: f64 = 0.000_3;

/// An error is an answer, too, but a short one.
const MIN_BODY: usize = 1_000;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.medium)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    // The hub keeps what it has fetched, so that each round has an upstream of its own.
    let upstreams: Vec<Upstream> = (0..bench.plan.rounds)
        .map(|at| Upstream::passed_on(format!("round-{at}"), &server, corpus.count))
        .collect();
    let hub = GatewayHub::make(bench, &upstreams).await?;
    let gateway = hub.serve(bench, &upstreams).await?.settled().await?;
    let mut direct = Connection::open(server.target.address, PATIENCE).await?;
    let mut through = Connection::open(gateway.target.address, PATIENCE).await?;
    for (what, requests) in [
        ("a passed-through `resources/read`", reads(bench, &corpus)),
        ("a passed-on `tools/call`", calls(bench, &corpus)),
    ] {
        progress(&format!("what a hub adds to {what}"));
        // The server reads each file from its disk once, which would else count for one side alone.
        for (method, params) in &requests {
            timed(&mut direct, &wire::http_request(method, params.clone())).await?;
        }
        let (mut added, mut alone) = (Vec::new(), Vec::new());
        for upstream in &upstreams {
            let path = upstream.path();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for (method, params) in &requests {
                let request = wire::http_request(method, params.clone());
                theirs.push(timed(&mut direct, &request).await?);
                let request = wire::http_request_to(&path, method, params.clone());
                let request = wire::authorized(&request, &hub.token);
                ours.push(timed(&mut through, &request).await?);
            }
            let (ours, theirs) = (median(ours), median(theirs));
            added.push(ours - theirs);
            alone.push(theirs);
        }
        let what = format!("added to {what}, median of {}", requests.len());
        bench.report.rows.push(
            Row::new(what, Quantity::Time, summary(added)?)
                .against("the same of the upstream directly", summary(alone)?)
                .wants(Check::AtMost(MOST_ADDED, Quantity::Time)),
        );
    }
    gateway.stop().await?;
    server.stop().await
}

type Requests = Vec<(&'static str, serde_json::Value)>;

fn reads(bench: &Bench, corpus: &Corpus) -> Requests {
    let mut uris: Vec<String> = corpus.file_uris().collect();
    Rng::new(2, 0).shuffle(&mut uris);
    uris.truncate(bench.plan.pairs);
    uris.into_iter().map(|uri| ("resources/read", json!({ "uri": uri }))).collect()
}

fn calls(bench: &Bench, corpus: &Corpus) -> Requests {
    let skills = corpus.file_uris().step_by(4).take(bench.plan.pairs);
    let name = |uri: String| {
        let name = uri.rsplit('/').nth(1).unwrap_or_default().to_owned();
        ("tools/call", json!({ "name": "load_skill", "arguments": { "name": name } }))
    };
    skills.map(name).collect()
}

/// The time until a request is answered.
async fn timed(connection: &mut Connection, request: &[u8]) -> Result<Duration> {
    let start = Instant::now();
    let body = connection.exchange_within(request, PATIENCE).await?;
    let took = start.elapsed();
    if body.len() < MIN_BODY || memchr::memmem::find(body, b"\"isError\":true").is_some() {
        return Err(Broken::new(format!("Refused: {}", String::from_utf8_lossy(body))));
    }
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    percentile(&times, 500).as_secs_f64()
}
