//! A hub: reads against `serve`, starts, publications, and how soon other replicas follow.

mod engines;
mod following;
pub(super) mod place;
pub(super) mod publishing;
mod serving;
mod starting;

use self::{engines::Engines, place::HubPlace};
use super::Bench;
use crate::broken::Result;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let engines = Engines::start().await;
    if let Err(missing) = &engines {
        bench.report.broken.push(format!("**PostgreSQL and S3 were left out:** {missing}"));
    }
    let engines = engines.ok();
    serving::measure(bench).await?;
    let small = publish_small(bench, engines.as_ref()).await?;
    let large = HubPlace::kept(bench, bench.plan.huge).await?;
    starting::measure(bench, &large, "SQLite").await?;
    publishing::measure(bench, &large, small.embedded, publishing::SQLITE).await?;
    let Some(engines) = &engines else { return Ok(()) };
    following::measure(bench, engines).await?;
    let served = HubPlace::seeded(bench, bench.plan.huge, engines.tables(1)?).await?;
    starting::measure(bench, &served, "PostgreSQL").await?;
    if let Some(small) = small.served {
        publishing::measure(bench, &served, small, publishing::POSTGRES).await?;
    }
    Ok(())
}

/// The times of publications into small hubs, which those into large ones are compared with.
struct SmallHubs {
    embedded: publishing::Times,
    served: Option<publishing::Times>,
}

async fn publish_small(bench: &mut Bench, engines: Option<&Engines>) -> Result<SmallHubs> {
    let hub = HubPlace::seeded(bench, bench.plan.medium, place::EMBEDDED).await?;
    let embedded = publishing::small(bench, &hub, publishing::SQLITE).await?;
    let served = match engines {
        None => None,
        Some(engines) => {
            let hub = HubPlace::seeded(bench, bench.plan.medium, engines.tables(0)?).await?;
            Some(publishing::small(bench, &hub, publishing::POSTGRES).await?)
        }
    };
    Ok(SmallHubs { embedded, served })
}
