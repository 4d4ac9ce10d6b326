//! One file changed while the server runs: the time until clients see the new digest, and its cost.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Bench, progress, summary};
use crate::{
    broken::{Broken, Result},
    corpus::{self, Corpus},
    http::{client::Connection, load::Target},
    proc::Meter,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::Summary,
    wire,
};

/// A folder with more directories than the system can watch is partly polled. A change must be seen
/// within this time all the same.
const UNWATCHED: Duration = Duration::from_mins(3);
/// The time between two requests for the entry.
const LOOK: Duration = Duration::from_millis(5);
/// Time enough for a change to be served. No request is sent meanwhile, since requests cost
/// processor time, too.
const QUIET: Duration = Duration::from_millis(200);

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let (small, big) = (bench.plan.medium, bench.plan.huge);
    let (seen_small, cpu_small) = size(bench, small).await?;
    let (seen_big, cpu_big) = size(bench, big).await?;
    let what = format!("one file changed at {big}: rename-save to new digest in `skills/get`");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, seen_big)
            .against(format!("the same at {small}"), seen_small)
            .wants(Check::AtMost(0.25, Quantity::Time)),
    );
    let what = format!("one file changed at {big}: server's CPU");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, cpu_big)
            .against(format!("the same at {small}"), cpu_small)
            .wants(Check::AtMostOfReference(3.0)),
    );
    Ok(())
}

/// The time until changes are seen, and the processor time of one.
async fn size(bench: &mut Bench, count: usize) -> Result<(Summary, Summary)> {
    let corpus = bench.corpus(count)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let mut watcher = Watcher::new(server.target).await?;
    let start = Instant::now();
    let (mut seen, mut costs) = (Vec::new(), Vec::new());
    let patience = UNWATCHED;
    while seen.len() < bench.plan.changes && start.elapsed() < bench.plan.change_time {
        progress(&format!("change {} at {count}", seen.len() + 1));
        let (waited, cost) = change(&corpus, seen.len(), &mut watcher, patience).await?;
        costs.push(cost);
        if waited >= patience {
            bench.report.notes.push(format!(
                "At {count} skills a change was not seen within {} s; its row counts just that.",
                patience.as_secs()
            ));
        }
        seen.push(waited.as_secs_f64());
    }
    server.stop().await?;
    Ok((summary(seen)?, summary(costs)?))
}

/// Changes one file, waits until it is seen, and restores the old content, as a change whose cost
/// is measured.
async fn change(
    corpus: &Corpus,
    turn: usize,
    watcher: &mut Watcher,
    patience: Duration,
) -> Result<(Duration, f64)> {
    let skill = corpus::skill((turn * 7_919 + 13) % corpus.count);
    let root = corpus.folder.join(&skill.path);
    let (file, old) = &skill.files[1];
    let new = format!("{old}\nChanged in turn {turn}.\n");
    let seen = watcher.waits(&skill.path, &root.join(file), &new, patience).await;
    // Other measurements use the corpus, so the content is restored in any case.
    if seen.is_err() {
        save(&root.join(file), old)?;
    }
    Ok((seen?, watcher.pays(&skill.path, &root.join(file), old, patience).await?))
}

/// Writes beside a file and renames over it, as editors do.
fn save(path: &Path, content: &str) -> Result<()> {
    let name = path.file_name().unwrap_or_default().display();
    let beside = path.with_file_name(format!(".{name}.swp"));
    fs::write(&beside, content).map_err(Broken::at(&beside))?;
    fs::rename(&beside, path).map_err(Broken::at(path))
}

/// Requests an entry again and again.
struct Watcher {
    connection: Connection,
    meter: Meter,
}

impl Watcher {
    async fn new(target: Target) -> Result<Self> {
        let connection = Connection::open(target.address, PATIENCE).await?;
        Ok(Self { connection, meter: Meter::new(target.pid)? })
    }

    /// The processor time a save costs the server until its new content is served.
    async fn pays(
        &mut self,
        skill: &str,
        file: &Path,
        content: &str,
        patience: Duration,
    ) -> Result<f64> {
        // Work that the previous change left behind is not counted.
        tokio::time::sleep(QUIET).await;
        let before = self.meter.used()?;
        save(file, content)?;
        let start = Instant::now();
        while start.elapsed() < patience {
            tokio::time::sleep(QUIET).await;
            let used = self.meter.used()? - before;
            if self.has(&get(skill), &hex_digest(content)).await? {
                return Ok(used);
            }
        }
        Err(Broken::new("A change was not seen."))
    }

    async fn has(&mut self, request: &[u8], digest: &str) -> Result<bool> {
        let entry = self.connection.exchange_within(request, PATIENCE).await?;
        Ok(memchr::memmem::find(entry, digest.as_bytes()).is_some())
    }

    /// The time from a save until the entry has the new content's digest, or all of `patience`.
    async fn waits(
        &mut self,
        skill: &str,
        file: &Path,
        content: &str,
        patience: Duration,
    ) -> Result<Duration> {
        let (request, digest) = (get(skill), hex_digest(content));
        save(file, content)?;
        let start = Instant::now();
        while start.elapsed() < patience && !self.has(&request, &digest).await? {
            tokio::time::sleep(LOOK).await;
        }
        Ok(start.elapsed())
    }
}

fn get(skill: &str) -> Vec<u8> {
    wire::http_request("skills/get", json!({ "uri": format!("skill://{skill}/SKILL.md") }))
}

fn hex_digest(content: &str) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
