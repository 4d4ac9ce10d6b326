//! A server's whole listing into the registry, against receiving and parsing the same pages.

use std::time::Instant;

use serde_json::Value;
use skillwire_host::Host;
use skillwire_trust::Registry;

use super::{super::summary, Bench, host, url};
use crate::{
    broken::{Broken, Result},
    http::{client::Connection, load::Target},
    measure::progress,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    wire,
};

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.large)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    progress(&format!("listing of {} by the host", corpus.count));
    // The server renders its pages once; the first listing is not counted.
    parse_pages(server.target, corpus.count).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.rounds {
        let start = Instant::now();
        parse_pages(server.target, corpus.count).await?;
        bare.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let registry = list(server.target, corpus.count).await?;
        ours.push(start.elapsed().as_secs_f64());
        drop(registry);
    }
    server.stop().await?;
    let what = format!("host: listing of {} into the registry over HTTP", corpus.count);
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary(ours)?)
            .against("receiving and parsing the same pages", summary(bare)?)
            .wants(Check::AtMostOfReference(1.5)),
    );
    Ok(())
}

async fn list(target: Target, count: usize) -> Result<Registry> {
    let (host, label) = host(Host::builder(), url(target))?;
    let listing = host.list(&label).await?;
    let registry = Registry::new(listing.skills.iter().cloned());
    if registry.items().len() == count && listing.truncated.is_none() {
        return Ok(registry);
    }
    Err(Broken::new(format!("{} of {count} skills were listed.", registry.items().len())))
}

/// The least a client can do: each page as JSON, all of them kept.
async fn parse_pages(target: Target, count: usize) -> Result<()> {
    let mut connection = Connection::open(target.address, PATIENCE).await?;
    let (mut pages, mut skills) = (Vec::new(), 0);
    let mut cursor: Option<String> = None;
    while pages.is_empty() || cursor.is_some() {
        let request = wire::http_request("skills/list", wire::page_params(cursor.as_deref()));
        let body = connection.exchange_within(&request, PATIENCE).await?;
        let page: Value = serde_json::from_slice(body)?;
        skills += page["result"]["skills"].as_array().map_or(0, Vec::len);
        cursor = page["result"]["nextCursor"].as_str().map(str::to_owned);
        pages.push(page);
    }
    if skills == count {
        return Ok(());
    }
    Err(Broken::new(format!("{skills} of {count} skills were listed.")))
}
