//! `skillwire check` over a tree of skills, most of which have a flaw.

use std::time::Instant;

use super::{Bench, cost::Costs, progress};
use crate::{
    broken::{Broken, Result},
    corpus::{Corpus, Kind},
    proc, reference,
    report::{Check, Quantity, Row},
};

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let count = bench.plan.authored;
    let corpus = Corpus::at(&bench.scratch, count, Kind::Flawed)?;
    reference::warm_up(&corpus.folder)?;
    let (mut checks, mut hash) = (Costs::default(), Costs::default());
    for _ in 0..bench.plan.rounds {
        progress(&format!("check of {count}"));
        hash.measure(|| reference::hash_all(&corpus.folder))?;
        let before = proc::cpu_of_ended()?;
        let time = once(bench, &corpus).await?;
        checks.add(time, proc::cpu_of_ended()? - before);
    }
    let what = format!("`check` of {count} skills");
    checks.note(&mut bench.report, &what, "skillwire")?;
    hash.note(&mut bench.report, &what, "one thread reads and hashes")?;
    bench.report.rows.push(
        Row::new(what, Quantity::Time, checks.times()?)
            .against("one thread reads and hashes", hash.times()?)
            .wants(Check::AtMost(10.0, Quantity::Time)),
    );
    Ok(())
}

/// The seconds from the spawn to the end of the output, which must be about every skill.
async fn once(bench: &Bench, corpus: &Corpus) -> Result<f64> {
    let start = Instant::now();
    let output = bench.skillwire.check(&corpus.folder).output().await?;
    let took = start.elapsed().as_secs_f64();
    let summary = format!("\n{} skills checked: ", corpus.count);
    if output.status.code() == Some(1)
        && memchr::memmem::find(&output.stdout, summary.as_bytes()).is_some()
    {
        return Ok(took);
    }
    Err(Broken::new(format!("`check` ended with {}.", output.status)))
}
