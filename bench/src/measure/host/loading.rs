//! Loading an approved skill from the cache, against reading and hashing its `SKILL.md`.

use std::{hint::black_box, path::Path, time::Instant};

use sha2::{Digest as _, Sha256};
use skillwire_host::{Host, HostBuilder};
use skillwire_state::{AuditLog, FileCache, FileRecords};
use skillwire_trust::{ApprovedSkill, Grants, MemoryCache, MemoryRecords, StoreError};

use super::{super::summary, Bench, host, url};
use crate::{
    broken::{Broken, Result},
    corpus::Corpus,
    measure::progress,
    report::{Check, Quantity, Row},
    server::HttpServer,
};

/// The loads in one measurement. A single load is too short to be measured.
const LOADS: usize = 1_000;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.small)?;
    let home = bench.new_home()?;
    progress("loads from the cache");
    let on_disk = || -> Result<HostBuilder> {
        let cache = FileCache::new(home.path().join("files"))
            .map_err(|error: StoreError| Broken::new(error.to_string()))?;
        let records = FileRecords::new(home.path().join("approvals"));
        Ok(Host::builder().cache(cache).records(records))
    };
    contest(bench, &corpus, "cache and approvals on disk", on_disk()?, Stores::OnDisk).await?;
    let in_memory = Host::builder().cache(MemoryCache::default()).records(MemoryRecords::default());
    contest(bench, &corpus, "cache and approvals in memory", in_memory, Stores::InMemory).await?;
    let logged = on_disk()?.audit(AuditLog::new(home.path().join("log")));
    contest(bench, &corpus, "on disk, with the log", logged, Stores::OnDiskWithLog).await
}

/// The store of the host, which decides what a load is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stores {
    InMemory,
    OnDisk,
    /// With an audit log, which gets a line for each load and each release.
    OnDiskWithLog,
}

/// Measures one kind of store; the reference reads from the same kind of disk.
async fn contest(
    bench: &mut Bench,
    corpus: &Corpus,
    what: &str,
    builder: HostBuilder,
    stores: Stores,
) -> Result<()> {
    let reads = stores != Stores::InMemory;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let (host, label) = host(builder, url(server.target))?;
    let listing = host.list(&label).await?;
    let listed = listing.skills.first().ok_or_else(|| Broken::new("Nothing is listed."))?;
    let listed = listed.certain()?;
    let approved = host.approve(listed, Grants::load_only())?;
    // The first load fills the cache. The server is gone afterwards, so that the other loads must
    // come from the cache.
    host.load(approved.clone()).await?.window.release();
    server.stop().await?;
    let file = corpus.folder.join(listed.entry().uri.as_str().trim_start_matches("skill://"));
    let content = std::fs::read(&file).map_err(Broken::at(&file))?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.rounds {
        let start = Instant::now();
        if reads {
            read_and_hash(&file)?;
        } else {
            hash(&content);
        }
        bare.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        load(&host, &approved).await?;
        ours.push(start.elapsed().as_secs_f64());
    }
    let reference = if reads { "reading and hashing `SKILL.md`" } else { "hashing `SKILL.md`" };
    let what = format!("host: {LOADS} loads of an approved skill, {what}");
    let row = Row::new(what, Quantity::Time, summary(ours)?).against(reference, summary(bare)?);
    bench.report.rows.push(match stores {
        Stores::OnDiskWithLog => row,
        Stores::InMemory | Stores::OnDisk => row.wants(Check::AtMostOfReference(2.0)),
    });
    Ok(())
}

async fn load(host: &Host, approved: &ApprovedSkill) -> Result<()> {
    for _ in 0..LOADS {
        let loaded = host.load(approved.clone()).await?;
        // An open window would be returned again without reading anything.
        loaded.window.release();
    }
    Ok(())
}

fn read_and_hash(file: &Path) -> Result<()> {
    for _ in 0..LOADS {
        black_box(Sha256::digest(std::fs::read(file).map_err(Broken::at(file))?));
    }
    Ok(())
}

fn hash(content: &[u8]) {
    for _ in 0..LOADS {
        black_box(Sha256::digest(black_box(content)));
    }
}
