//! Spawn to a complete `skills/list` over stdio, with and without an index, and the memory after
//! it.

use std::{path::Path, time::Instant};

use super::{Bench, cost::Costs, peer, progress, summary};
use crate::{
    broken::Result,
    corpus::Corpus,
    listed::Listed,
    program::Program,
    reference,
    report::{Check, Peer, Quantity, Row},
};

const MIB: f64 = 1_048_576.0;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let (large, huge) = (bench.plan.large, bench.plan.huge);
    let rounds = Rounds::run(bench, large, bench.plan.rounds).await?;
    let peers = ask_peers(bench, large).await?;
    rounds.report(bench, large, 64.0 * MIB, Some(peers))?;
    if huge > large {
        let rounds = Rounds::run(bench, huge, bench.plan.long_rounds).await?;
        rounds.report(bench, huge, 400.0 * MIB, None)?;
    }
    Ok(())
}

/// One start after another: references and server in turn.
#[derive(Default)]
struct Rounds {
    hash: Costs,
    cold: Costs,
    walk: Costs,
    again: Costs,
    resident: Vec<f64>,
    resident_again: Vec<f64>,
    peak: Vec<f64>,
}

impl Rounds {
    async fn run(bench: &mut Bench, count: usize, rounds: usize) -> Result<Self> {
        let corpus = bench.corpus(count)?;
        let mut all = Self::default();
        for _ in 0..rounds {
            progress(&format!("listing of {count}"));
            let home = bench.new_home()?;
            all.hash.measure(|| reference::hash_all(&corpus.folder))?;
            let first = Listed::by(&bench.skillwire, &corpus, home.path()).await?;
            all.cold.add(first.time, first.cpu);
            all.resident.push(first.resident);
            all.peak.push(first.peak);
            all.walk.measure(|| {
                reference::stat_all(&corpus.folder)?;
                reference::write_pages(&first.pages)
            })?;
            let second = Listed::by(&bench.skillwire, &corpus, home.path()).await?;
            all.again.add(second.time, second.cpu);
            all.resident_again.push(second.resident);
        }
        Ok(all)
    }

    /// Adds the rows; the targets for peers hold where there are any to compare with.
    fn report(
        self,
        bench: &mut Bench,
        count: usize,
        memory: f64,
        peers: Option<Peers>,
    ) -> Result<()> {
        let report = &mut bench.report;
        let cold = format!("spawn to complete `skills/list` of {count} over stdio, no index");
        let again = format!("the same of {count}, second start");
        self.cold.note(report, &cold, "skillwire")?;
        self.hash.note(report, &cold, "one thread reads and hashes")?;
        self.again.note(report, &again, "skillwire")?;
        self.walk.note(report, &again, "stat walk and writing the listing")?;
        let mut row = Row::new(cold, Quantity::Time, self.cold.times()?)
            .against("one thread reads and hashes", self.hash.times()?)
            .wants(Check::AtMostOfReference(1.0));
        let mut resident = Row::new(
            format!("resident memory after listing {count}"),
            Quantity::Memory,
            summary(self.resident)?,
        )
        .wants(Check::AtMost(memory, Quantity::Memory));
        if let Some(peers) = peers {
            row = row.among(peers.times).wants(Check::TimesBestPeer(6.0));
            resident = resident.among(peers.memories);
        }
        report.rows.push(row);
        report.rows.push(
            Row::new(again, Quantity::Time, self.again.times()?)
                .against("stat walk and writing the listing", self.walk.times()?)
                .wants(Check::AtMostOfReference(1.5)),
        );
        report.rows.push(resident);
        for (what, values) in [
            (format!("the same after {count}, second start"), self.resident_again),
            (format!("highest memory until {count} are listed, no index"), self.peak),
        ] {
            report.rows.push(Row::new(what, Quantity::Memory, summary(values)?));
        }
        Ok(())
    }
}

/// The time and the memory of each peer.
#[derive(Default)]
struct Peers {
    times: Vec<Peer>,
    memories: Vec<Peer>,
}

async fn ask_peers(bench: &mut Bench, count: usize) -> Result<Peers> {
    let corpus = bench.corpus(count)?;
    let mut peers = Peers::default();
    for program in &bench.peers {
        let (times, memories) = match ask_peer(bench, program, &corpus).await {
            Ok(runs) => {
                let (times, memories): (Vec<_>, Vec<_>) =
                    runs.iter().map(|run| (run.time, run.resident)).unzip();
                (Ok(times), Ok(memories))
            }
            Err(broken) => (Err(broken.clone()), Err(broken)),
        };
        peers.times.push(peer(program.name, times));
        peers.memories.push(peer(program.name, memories));
    }
    Ok(peers)
}

async fn ask_peer(bench: &Bench, program: &Program, corpus: &Corpus) -> Result<Vec<Listed>> {
    let start = Instant::now();
    let mut runs = Vec::new();
    while runs.len() < bench.plan.long_rounds && start.elapsed() < bench.plan.peer_time {
        progress(&format!("listing of {} by {}", corpus.count, program.name));
        // Peers keep nothing, so any folder will do.
        runs.push(Listed::by(program, corpus, Path::new(".")).await?);
    }
    Ok(runs)
}
