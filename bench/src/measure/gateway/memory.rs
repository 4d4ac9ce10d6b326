//! The memory of a hub with many skills of upstreams.

use std::time::Instant;

use super::{
    super::{Bench, progress, summary},
    place::{GatewayHub, Upstream, listed},
};
use crate::{
    broken::{Broken, Result},
    corpus::Corpus,
    proc,
    report::{Check, Quantity, Row},
    server::HttpServer,
};

/// How many upstreams the hub has.
const SERVERS: usize = 10;

const MOST_BYTES: f64 = 128.0 * 1_048_576.0;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let each = bench.plan.medium;
    let (mut servers, mut upstreams, mut homes) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..SERVERS {
        // Each has skills of its own: the hub would otherwise keep a finding for each name that they share.
        let corpus = Corpus::part(&bench.scratch, at, each)?;
        let home = bench.new_home()?;
        let serve = bench.skillwire.over_http(&corpus.folder, home.path());
        let server = HttpServer::start(serve).await?;
        upstreams.push(Upstream::passed_on(format!("server-{at}"), &server, each));
        servers.push(server);
        homes.push(home);
    }
    let hub = GatewayHub::make(bench, &upstreams).await?;
    let behind = format!("{SERVERS} upstreams of {each} skills behind a hub");
    let (mut times, mut resident, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.plan.long_rounds {
        progress(&behind);
        let start = Instant::now();
        let gateway = hub.serve(bench, &upstreams).await?;
        times.push(start.elapsed().as_secs_f64());
        let gateway = gateway.settled().await?;
        let count = listed(gateway.target, "/mcp", &hub.token).await?;
        if count != SERVERS * each {
            return Err(Broken::new(format!("{count} skills are listed.")));
        }
        let memory = proc::memory(gateway.target.pid)?;
        resident.push(memory.resident);
        peaks.push(memory.peak);
        gateway.stop().await?;
    }
    for server in servers {
        server.stop().await?;
    }
    bench.report.rows.push(Row::new(
        format!("{behind}: start until all are listed"),
        Quantity::Time,
        summary(times)?,
    ));
    bench.report.rows.push(
        Row::new(format!("{behind}: resident memory"), Quantity::Memory, summary(resident)?)
            .against("its highest until then", summary(peaks)?)
            .wants(Check::AtMost(MOST_BYTES, Quantity::Memory)),
    );
    Ok(())
}
