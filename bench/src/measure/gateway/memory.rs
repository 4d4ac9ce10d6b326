//! The memory of a hub with many skills of upstreams.

use std::time::Instant;

use super::{
    super::{Bench, progress, summary},
    place::{GatewayHub, Upstream, listed},
};
use crate::{
    broken::{Broken, Result},
    proc,
    report::{Check, Quantity, Row},
    server::HttpServer,
};

/// How many upstreams the hub has.
const SERVERS: usize = 10;

const MOST_BYTES: f64 = 128.0 * 1_048_576.0;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.medium)?;
    let home = bench.new_home()?;
    // One process can stand for many servers, since clients cannot tell.
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let upstreams: Vec<Upstream> = (0..SERVERS)
        .map(|at| Upstream::passed_on(format!("server-{at}"), &server, corpus.count))
        .collect();
    let hub = GatewayHub::make(bench, &upstreams).await?;
    let behind = format!("{SERVERS} upstreams of {} skills behind a hub", corpus.count);
    let (mut times, mut resident, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.plan.long_rounds {
        progress(&behind);
        let start = Instant::now();
        let gateway = hub.serve(bench, &upstreams).await?;
        times.push(start.elapsed().as_secs_f64());
        let gateway = gateway.settled().await?;
        let count = listed(gateway.target, "/mcp", &hub.token).await?;
        if count != SERVERS * corpus.count {
            return Err(Broken::new(format!("{count} skills are listed.")));
        }
        let memory = proc::memory(gateway.target.pid)?;
        resident.push(memory.resident);
        peaks.push(memory.peak);
        gateway.stop().await?;
    }
    server.stop().await?;
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
