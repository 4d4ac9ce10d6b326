//! Upstreams that hang, lie, flap or flood, and what the others and pinned skills notice of it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::task::JoinSet;

use super::{
    super::{Bench, progress, summary},
    place::{GatewayHub, Upstream},
};
use crate::{
    broken::{Broken, Result},
    corpus::{Corpus, rng::Rng},
    faulty::{self, Misbehaviour},
    http::{
        client::Connection,
        paced::{Sequence, paced},
    },
    program,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::percentile,
    wire,
};

/// Of the upstreams that behave, each one of this many is pinned.
const PINNED_OF: usize = 7;

const CONNECTIONS: u32 = 4;

/// The p99 may be this many times what it is without upstreams that misbehave.
const WITHIN: f64 = 2.0;

/// How long upstreams misbehave before anything is measured.
const ONSET: Duration = Duration::from_secs(5);

/// A client of an upstream that misbehaves asks again after so long, and waits for no answer longer than this.
const BETWEEN: Duration = Duration::from_millis(100);
const PATIENCE_THERE: Duration = Duration::from_secs(20);

/// The upstreams of the hub, and the servers behind them.
struct Cast {
    good: Vec<Upstream>,
    bad: Vec<Upstream>,
    server: HttpServer,
    faulty: Vec<HttpServer>,
    corpus: Corpus,
}

impl Cast {
    async fn start(bench: &mut Bench, home: &std::path::Path) -> Result<Self> {
        let corpus = bench.corpus(bench.plan.small)?;
        // One process can stand for many servers, since clients cannot tell.
        let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home)).await?;
        let mut faulty = Vec::new();
        for how in Misbehaviour::ALL {
            faulty.push(HttpServer::start(program::faulty(how)?).await?);
        }
        let good = (0..bench.plan.upstreams - bench.plan.troubled).map(|at| {
            let label = format!("good-{at}");
            if at.is_multiple_of(PINNED_OF) {
                Upstream::pinned(label, &server, corpus.count)
            } else {
                Upstream::passed_on(label, &server, corpus.count)
            }
        });
        let bad = (0..bench.plan.troubled).map(|at| {
            let kind = at % faulty.len();
            let label = format!("{}-{at}", Misbehaviour::ALL[kind].word());
            if (at / faulty.len()).is_multiple_of(2) {
                Upstream::pinned(label, &faulty[kind], faulty::SKILLS)
            } else {
                Upstream::passed_on(label, &faulty[kind], faulty::SKILLS)
            }
        });
        let (good, bad) = (good.collect(), bad.collect());
        Ok(Self { good, bad, server, faulty, corpus })
    }

    /// Every file of the upstreams that behave, either pinned or not.
    fn files(&self, token: &str, pinned: bool) -> Vec<Vec<u8>> {
        let upstreams = self.good.iter().filter(|upstream| upstream.is_pinned() == pinned);
        let uris: Vec<String> = self.corpus.file_uris().collect();
        upstreams.flat_map(|upstream| uris.iter().map(|uri| read(upstream, uri, token))).collect()
    }

    /// The files of upstreams that misbehave, either pinned or not.
    fn troubled(&self, token: &str, pinned: bool) -> Vec<Vec<u8>> {
        let upstreams = self.bad.iter().filter(|upstream| upstream.is_pinned() == pinned);
        let uri = |at| format!("skill://{}/{}", faulty::skill_path(at), faulty::NOTES);
        upstreams
            .flat_map(|it| (0..faulty::SKILLS).map(move |at| read(it, &uri(at), token)))
            .collect()
    }
}

fn read(upstream: &Upstream, uri: &str, token: &str) -> Vec<u8> {
    let request = wire::http_request_to(&upstream.path(), "resources/read", json!({ "uri": uri }));
    wire::authorized(&request, token)
}

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let home = bench.new_home()?;
    let mut cast = Cast::start(bench, home.path()).await?;
    progress(&format!("{} upstreams that behave", cast.good.len()));
    let hub = GatewayHub::make(bench, &cast.good).await?;
    let gateway = hub.serve(bench, &cast.good).await?.settled().await?;
    let alone = Latencies::measure(bench, &gateway, &cast, &hub.token, false).await?;
    gateway.stop().await?;
    let all: Vec<Upstream> = cast.good.iter().chain(&cast.bad).cloned().collect();
    hub.configure(&all)?;
    let gateway = hub.serve(bench, &all).await?.settled().await?;
    progress(&format!("{} more that hang, lie, flap or flood", cast.bad.len()));
    for faulty in &mut cast.faulty {
        faulty.tell("begin").await?;
    }
    let trouble = Trouble::begin(gateway.target.address, &cast, &hub.token);
    tokio::time::sleep(ONSET).await;
    let beside = Latencies::measure(bench, &gateway, &cast, &hub.token, true).await?;
    let refused = trouble.end().await?;
    let shown = hub.upstreams(&gateway).await?;
    let failing = shown.iter().filter_map(|shown| shown.status.as_ref());
    let failing = failing.filter(|status| status.failure.is_some() || status.health == "paused");
    let note = format!(
        "While {} of {} upstreams misbehaved, {refused} reads of their files were refused, and {} of them were failing or paused at the end.",
        cast.bad.len(),
        all.len(),
        failing.count()
    );
    bench.report.notes.push(note);
    gateway.stop().await?;
    for (what, alone, beside) in [
        ("of the others' files", alone.passed_on, beside.passed_on),
        ("of pinned skills", alone.pinned, beside.pinned),
    ] {
        let what = format!(
            "reads {what} while {} of {} upstreams hang, lie, flap or flood, p99",
            cast.bad.len(),
            all.len()
        );
        bench.report.rows.push(
            Row::new(what, Quantity::Time, summary(beside)?)
                .against("without these", summary(alone)?)
                .wants(Check::AtMostOfReference(WITHIN)),
        );
    }
    for faulty in cast.faulty {
        faulty.stop().await?;
    }
    cast.server.stop().await
}

/// The p99 of each round, in seconds.
struct Latencies {
    passed_on: Vec<f64>,
    pinned: Vec<f64>,
}

impl Latencies {
    async fn measure(
        bench: &Bench,
        gateway: &HttpServer,
        cast: &Cast,
        token: &str,
        with_bad: bool,
    ) -> Result<Self> {
        let mut passed_on = cast.files(token, false);
        let mut pinned = cast.files(token, true);
        // Pinned skills of upstreams that misbehave are the ones that pinning is for.
        if with_bad {
            pinned.extend(cast.troubled(token, true));
        }
        let mut rng = Rng::new(3, 0);
        rng.shuffle(&mut passed_on);
        rng.shuffle(&mut pinned);
        let (passed_on, pinned) = (Sequence::new(passed_on)?, Sequence::new(pinned)?);
        let (time, rate) = (bench.plan.paced, bench.plan.paced_rate);
        let address = gateway.target.address;
        let mut latencies = Self { passed_on: Vec::new(), pinned: Vec::new() };
        for _ in 0..bench.plan.long_rounds {
            progress(&format!("{rate} reads/s of either kind"));
            let (passed, kept) = tokio::try_join!(
                paced(address, CONNECTIONS, &passed_on, rate, time),
                paced(address, CONNECTIONS, &pinned, rate, time),
            )?;
            latencies.passed_on.push(percentile(&passed, 990).as_secs_f64());
            latencies.pinned.push(percentile(&kept, 990).as_secs_f64());
        }
        Ok(latencies)
    }
}

/// Clients that go on reading from upstreams that misbehave.
struct Trouble {
    clients: JoinSet<()>,
    refused: Arc<AtomicUsize>,
}

impl Trouble {
    /// Begins with one client for each upstream that is not pinned.
    fn begin(address: SocketAddr, cast: &Cast, token: &str) -> Self {
        let (mut clients, refused) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
        for requests in cast.troubled(token, false).chunks(faulty::SKILLS) {
            clients.spawn(insist(address, requests.to_vec(), Arc::clone(&refused)));
        }
        Self { clients, refused }
    }

    /// Ends the clients, and returns how many of their reads were refused.
    async fn end(mut self) -> Result<usize> {
        self.clients.shutdown().await;
        match self.refused.load(Ordering::Relaxed) {
            0 => Err(Broken::new("No upstream misbehaved.")),
            count => Ok(count),
        }
    }
}

/// Reads the files of one upstream for ever, and takes no notice of refusals.
async fn insist(address: SocketAddr, requests: Vec<Vec<u8>>, refused: Arc<AtomicUsize>) {
    let mut open = None;
    for request in requests.iter().cycle() {
        tokio::time::sleep(BETWEEN).await;
        let connection = match open.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(address, PATIENCE).await,
        };
        let Ok(mut connection) = connection else { continue };
        let answer = connection.exchange_within(request, PATIENCE_THERE).await;
        let is_served =
            answer.as_ref().is_ok_and(|body| memchr::memmem::find(body, b"\"contents\"").is_some());
        if !is_served {
            refused.fetch_add(1, Ordering::Relaxed);
        }
        // A connection whose answer did not come may have the answer of an earlier request on its way.
        if answer.is_ok() {
            open = Some(connection);
        }
    }
}
