//! Publications over HTTP, one after the other, until each is acknowledged.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use skillwire_archive::{ArchiveFormat, pack};
use skillwire_core::RelPath;

use super::{
    super::{Bench, progress, summary},
    place::{HubPlace, NAMESPACE, broken, small_skill},
};
use crate::{
    broken::{Broken, Result},
    http::client::Connection,
    report::{Check, Quantity, Row},
    server::PATIENCE,
    stats::percentile,
    wire,
};

/// An engine, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    name: &'static str,
    most: f64,
}

pub(super) const SQLITE: Engine = Engine { name: "SQLite and a folder", most: 0.05 };
pub(super) const POSTGRES: Engine = Engine { name: "PostgreSQL and S3", most: 0.15 };

/// A large hub may take this many times as long as a small one.
pub(in crate::measure) const FLAT: f64 = 1.25;

/// What some publications took, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        let at = |per_mille| percentile(&all, per_mille).as_secs_f64();
        Self { p50: at(500), p99: at(990) }
    }
}

/// Publishes into a small hub.
pub(super) async fn small(bench: &mut Bench, hub: &HubPlace, engine: Engine) -> Result<Times> {
    let times = publish(bench, hub, engine).await?;
    row(bench, hub, engine, times)?;
    Ok(times)
}

/// Publishes into a large hub, and compares with a small one.
pub(super) async fn measure(
    bench: &mut Bench,
    hub: &HubPlace,
    small: Times,
    engine: Engine,
) -> Result<()> {
    let times = publish(bench, hub, engine).await?;
    row(bench, hub, engine, times)?;
    let what = format!("publish on {}, median, {} skills", engine.name, hub.skills);
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary([times.p50])?)
            .against(format!("the same at {}", bench.plan.medium), summary([small.p50])?)
            .wants(Check::AtMostOfReference(FLAT)),
    );
    Ok(())
}

fn row(bench: &mut Bench, hub: &HubPlace, engine: Engine, times: Times) -> Result<()> {
    let count = bench.plan.publications;
    let synced = write_and_sync(&hub.folder, count.min(200))?;
    let Engine { name, most } = engine;
    let what = format!("publish acknowledged, p99 of {count}, {name}, {} skills", hub.skills);
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary([times.p99])?)
            .against("writing and syncing the files, p99", summary([synced.p99])?)
            .wants(Check::AtMost(most, Quantity::Time)),
    );
    Ok(())
}

async fn publish(bench: &Bench, hub: &HubPlace, engine: Engine) -> Result<Times> {
    let count = bench.plan.publications;
    progress(&format!("{count} publications on {}, {} skills", engine.name, hub.skills));
    let server = hub.serve(bench).await?.settled().await?;
    let mut connection = Connection::open(server.target.address, PATIENCE).await?;
    let mut times = Vec::with_capacity(count);
    // Names that a hub of an earlier run does not have.
    let run = std::process::id() as usize * 10_000;
    for at in 0..count {
        let number = 1_000_000 + run + at;
        let request = publication(number, small_skill(number), &hub.token)?;
        let start = Instant::now();
        connection.exchange_within(&request, PATIENCE).await?;
        times.push(start.elapsed());
    }
    server.stop().await?;
    Ok(Times::of(times))
}

/// The request that publishes a skill.
pub(super) fn publication(
    number: usize,
    files: Vec<(String, String)>,
    token: &str,
) -> Result<Vec<u8>> {
    publication_in(NAMESPACE, number, files, token)
}

/// The same in another namespace.
pub(in crate::measure) fn publication_in(
    namespace: &str,
    number: usize,
    files: Vec<(String, String)>,
    token: &str,
) -> Result<Vec<u8>> {
    // Each file is its own, so that all of them are written.
    let files = files.into_iter().map(|(path, mut content)| {
        if path != "SKILL.md" {
            content.extend(["\n", &number.to_string(), "\n"]);
        }
        RelPath::parse(&path).map(|path| (path, content)).map_err(broken)
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let archive = pack(ArchiveFormat::TarGz, files.iter().map(|(path, it)| (path, it.as_bytes())));
    let archive = archive.map_err(broken)?;
    let path = format!("/api/v1/skills/{namespace}/skill-{number:06}/versions");
    let request = wire::api_request("POST", &path, "application/gzip", &archive);
    Ok(wire::authorized(&request, token))
}

/// What the disk alone takes for the files of a skill.
fn write_and_sync(folder: &Path, count: usize) -> Result<Times> {
    let folder = folder.join("reference");
    fs::create_dir_all(&folder).map_err(Broken::at(&folder))?;
    let mut times = Vec::new();
    for at in 0..count {
        let files = small_skill(at);
        let start = Instant::now();
        for (number, (_, content)) in files.iter().enumerate() {
            let path = folder.join(format!("{at}-{number}"));
            let mut file = File::create(&path).map_err(Broken::at(&path))?;
            file.write_all(content.as_bytes()).and_then(|()| file.sync_all())?;
        }
        times.push(start.elapsed());
    }
    fs::remove_dir_all(&folder).map_err(Broken::at(&folder))?;
    Ok(Times::of(times))
}
