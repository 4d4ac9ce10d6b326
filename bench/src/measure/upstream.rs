//! Servers behind a server: the time until all their skills are listed, and the memory it takes.

use std::time::Instant;

use super::{Bench, progress, summary};
use crate::{
    broken::{Broken, Result},
    proc,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE, PipeServer},
    wire,
};

/// How many servers are passed on.
const SERVERS: usize = 10;

const MIB: f64 = 1_048_576.0;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.medium)?;
    let count = SERVERS * corpus.count;
    let (home, other) = (bench.new_home()?, bench.new_home()?);
    // One process can stand for many servers, since clients cannot tell.
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, other.path())).await?;
    let url = format!("http://{}/mcp", server.target.address);
    let labels: Vec<String> = (0..SERVERS).map(|number| format!("server-{number}")).collect();
    for label in &labels {
        let ended = bench.skillwire.add_server(label, &url, home.path()).output().await?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            return Err(Broken::new(format!("{label} cannot be configured: {said}")));
        }
    }
    let (mut times, mut resident) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.long_rounds {
        progress(&format!("{SERVERS} servers of {} behind one", corpus.count));
        let start = Instant::now();
        let mut front = PipeServer::start(bench.skillwire.passing_on(&labels, home.path()))?;
        while listed(&mut front).await? < count {
            if start.elapsed() > PATIENCE {
                return Err(Broken::new(format!("{count} skills were never listed.")));
            }
        }
        times.push(start.elapsed().as_secs_f64());
        resident.push(proc::memory(front.pid)?.resident);
        front.stop().await?;
    }
    server.stop().await?;
    let behind = format!("{SERVERS} servers of {} skills behind one", corpus.count);
    bench.report.rows.push(Row::new(
        format!("{behind}: spawn to a complete `skills/list` over stdio"),
        Quantity::Time,
        summary(times)?,
    ));
    bench.report.rows.push(
        Row::new(format!("{behind}: resident memory"), Quantity::Memory, summary(resident)?)
            .wants(Check::AtMost(128.0 * MIB, Quantity::Memory)),
    );
    Ok(())
}

/// The number of skills that are listed now.
async fn listed(server: &mut PipeServer) -> Result<usize> {
    let (mut count, mut cursor) = (0, None::<String>);
    loop {
        let params = wire::page_params(cursor.as_deref());
        let page = server.ask(&wire::message(1, "skills/list", params)).await?;
        count += memchr::memmem::find_iter(&page, b"\"frontmatter\":").count();
        cursor = wire::next_cursor(&page);
        if cursor.is_none() {
            return Ok(count);
        }
    }
}
