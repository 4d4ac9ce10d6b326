//! A replica of a large hub, from its start until it serves.

use std::time::Instant;

use skillwire_hub::{ChannelName, PageRequest};
use skillwire_hub_store::HubStore;

use super::{
    super::{Bench, progress, summary},
    place::{HubPlace, broken},
};
use crate::{
    broken::{Broken, Result},
    http::client::Connection,
    proc,
    report::{Check, Quantity, Row},
    server::PATIENCE,
    wire,
};

const MOST_SECONDS: f64 = 10.0;
const MOST_BYTES: f64 = 500.0 * 1024.0 * 1024.0;

pub(super) async fn measure(bench: &mut Bench, hub: &HubPlace, engine: &str) -> Result<()> {
    let count = hub.skills;
    progress(&format!("starts of a replica with {count} skills on {engine}"));
    let (mut times, mut resident, mut peaks, mut rows) = (vec![], vec![], vec![], vec![]);
    // The first start has the database read from the disk, and does not count.
    for round in 0..=bench.plan.long_rounds {
        let read = read_rows(hub).await?;
        let start = Instant::now();
        let server = hub.serve(bench).await?;
        let mut connection = Connection::open(server.target.address, PATIENCE).await?;
        let request = wire::http_request("skills/list", wire::page_params(None));
        let request = wire::authorized(&request, &hub.token);
        let page = connection.exchange_within(&request, PATIENCE).await?;
        let took = start.elapsed().as_secs_f64();
        if wire::next_cursor(page).is_none() {
            return Err(Broken::new("The replica does not serve everything."));
        }
        let memory = proc::memory(server.target.pid)?;
        if round > 0 {
            times.push(took);
            rows.push(read);
            resident.push(memory.resident);
            peaks.push(memory.peak);
        }
        server.stop().await?;
    }
    let what = format!("start of a replica until it serves, {count} skills on {engine}");
    bench.report.rows.push(
        Row::new(&what, Quantity::Time, summary(times)?)
            .against("reading the rows alone", summary(rows)?)
            .wants(Check::AtMost(MOST_SECONDS, Quantity::Time)),
    );
    bench.report.rows.push(
        Row::new(format!("memory after the {what}"), Quantity::Memory, summary(resident)?)
            .against("its highest until then", summary(peaks)?)
            .wants(Check::AtMost(MOST_BYTES, Quantity::Memory)),
    );
    Ok(())
}

/// Reads what a replica reads, and does nothing with it.
async fn read_rows(hub: &HubPlace) -> Result<f64> {
    let store = HubStore::open(hub.store()?).await.map_err(broken)?;
    let start = Instant::now();
    let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
    loop {
        let page = store.served_page(&ChannelName::latest(), &request).await.map_err(broken)?;
        match page.next {
            Some(next) => request = request.after(Some(next)),
            None => break,
        }
    }
    let took = start.elapsed().as_secs_f64();
    store.close().await;
    Ok(took)
}
