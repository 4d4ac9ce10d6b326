//! Measures the extension with every dialect on, with every dialect off, and off once more. The
//! difference between the last two is noise; the first must not differ by more than that.

use std::{path::Path, sync::Arc};

use serde_json::json;

use super::{Bench, progress, summary};
use crate::{
    broken::Result,
    corpus::Corpus,
    http::load,
    listed::Listed,
    program::Program,
    report::{Quantity, Row},
    server::HttpServer,
    wire,
};

/// Every dialect that needs nothing else to be named.
const DIALECTS: [&str; 11] = [
    "index",
    "archives",
    "index-templates",
    "index-nested",
    "scoped-list",
    "sep-2076",
    "skills-page",
    "fastmcp",
    "skilljack",
    "skills-over-mcp",
    "templates",
];

const CONNECTIONS: usize = 32;

/// The results of one way to start the server, round by round.
#[derive(Default)]
struct Series {
    start: Vec<f64>,
    memory: Vec<f64>,
    rate: Vec<f64>,
}

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.large)?;
    let switched = |state: &str| {
        let switches = DIALECTS.iter().map(|name| format!("{name}={state}"));
        let arguments = switches.flat_map(|switch| ["--dialect".to_owned(), switch]);
        bench.skillwire.with_arguments(arguments)
    };
    let ways = [switched("on"), switched("off"), switched("off")];
    let mut all: [Series; 3] = Default::default();
    for round in 0..bench.plan.rounds {
        progress(&format!("dialects, round {}", round + 1));
        for turn in 0..ways.len() {
            // The order changes from round to round, so that none is always first.
            let way = (turn + round) % ways.len();
            run(bench, &ways[way], &corpus, &mut all[way]).await?;
        }
    }
    let [on, off, again] = all;
    let rows = [
        (format!("spawn to complete `skills/list` of {}", corpus.count), Quantity::Time),
        (format!("resident memory after listing {}", corpus.count), Quantity::Memory),
        (format!("`resources/read`, {CONNECTIONS} connections"), Quantity::Rate),
    ];
    let columns = |series: Series| [series.start, series.memory, series.rate];
    let series = columns(on).into_iter().zip(columns(off)).zip(columns(again));
    for ((what, quantity), ((on, off), again)) in rows.into_iter().zip(series) {
        let (off, again) = (summary(off)?, summary(again)?);
        bench.report.rows.push(
            Row::new(format!("{what}, all dialects on"), quantity, summary(on)?)
                .against("all dialects off", off),
        );
        let noise = Row::new(format!("{what}, all dialects off"), quantity, again);
        bench.report.rows.push(noise.against("the same again", off));
    }
    Ok(())
}

async fn run(bench: &Bench, way: &Program, corpus: &Corpus, into: &mut Series) -> Result<()> {
    let home = bench.new_home()?;
    let listed = Listed::by(way, corpus, home.path()).await?;
    into.start.push(listed.time);
    into.memory.push(listed.resident);
    into.rate.push(rate(bench, way, corpus, home.path()).await?);
    Ok(())
}

async fn rate(bench: &Bench, way: &Program, corpus: &Corpus, home: &Path) -> Result<f64> {
    let server = HttpServer::start(way.over_http(&corpus.folder, home)).await?;
    let requests: Arc<[Vec<u8>]> = corpus
        .file_uris()
        .take(bench.plan.hot)
        .map(|uri| wire::http_request("resources/read", json!({ "uri": uri })))
        .collect();
    let held = load::round(server.target, CONNECTIONS, &requests, bench.plan.load).await?;
    server.stop().await?;
    Ok(held.per_second)
}
