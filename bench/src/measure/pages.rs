//! Pages of `skills/list` over HTTP, all pages of the listing in turn.

use std::sync::Arc;

use super::{
    Bench, connected,
    contest::{self, Contest},
    progress, summary,
};
use crate::{
    broken::{Broken, Result},
    http::{bare::Kind, client::Connection, load::Target},
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::Summary,
    wire,
};

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let plan = bench.plan.clone();
    let mut sizes = vec![plan.medium, plan.large, plan.huge];
    sizes.dedup();
    let mut shares = Vec::new();
    for count in sizes {
        shares.push((count, size(bench, count).await?));
    }
    let (Some((first, small)), Some((last, big))) = (shares.first(), shares.last()) else {
        return Ok(());
    };
    let what = format!("page's share of a bare handler's rate, {last} skills, 32 connections");
    bench.report.rows.push(
        Row::new(what, Quantity::Share, *big)
            .against(format!("the same at {first}"), *small)
            .wants(Check::AtLeastOfReference(0.9)),
    );
    Ok(())
}

/// Measures one size and returns the rate at 32 connections as a share of the bare handler's.
async fn size(bench: &mut Bench, count: usize) -> Result<Summary> {
    let corpus = bench.corpus(count)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let server = server.settled().await?;
    let requests = all_pages(server.target, count).await?;
    let twin = contest::bare_twin(Kind::Axum, server.target, &requests, home.path()).await?;
    let mut held = Contest::default();
    for connections in [1, 32] {
        let what = format!("`skills/list` page of 100, {}, {count} skills", connected(connections));
        progress(&what);
        let pair = (server.target, twin.target);
        let (rounds, time) = (bench.plan.rounds, bench.plan.load);
        held = contest::hold(pair, connections, &requests, rounds, time).await?;
        contest::note(&mut bench.report, &what, "skillwire", &held.ours);
        contest::note(&mut bench.report, &what, "bare axum", &held.bare);
        bench.report.rows.push(
            Row::new(what, Quantity::Rate, summary(contest::rates(&held.ours))?)
                .against("bare axum", summary(contest::rates(&held.bare))?)
                .wants(Check::AtLeastOfReference(0.85)),
        );
    }
    twin.stop().await?;
    server.stop().await?;
    let pairs = contest::rates(&held.ours).zip(contest::rates(&held.bare));
    summary(pairs.map(|(ours, bare)| ours / bare))
}

/// Walks the listing once and returns the request of each page.
async fn all_pages(target: Target, count: usize) -> Result<Arc<[Vec<u8>]>> {
    let mut connection = Connection::open(target.address, PATIENCE).await?;
    let (mut requests, mut cursor) = (Vec::new(), None::<String>);
    while requests.is_empty() || cursor.is_some() {
        let params = wire::page_params(cursor.as_deref());
        let request = wire::http_request("skills/list", params);
        cursor = wire::next_cursor(connection.exchange_within(&request, PATIENCE).await?);
        requests.push(request);
        if requests.len() > count {
            return Err(Broken::new("The listing does not end."));
        }
    }
    Ok(requests.into())
}
