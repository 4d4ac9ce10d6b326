//! What an operation costs, in time and in processor time.

use std::time::Instant;

use super::summary;
use crate::{
    broken::Result,
    proc,
    report::{Report, Start},
    stats::Summary,
};

/// The costs of several runs of one operation.
#[derive(Debug, Default)]
pub(super) struct Costs {
    times: Vec<f64>,
    cpu: Vec<f64>,
}

impl Costs {
    pub(super) fn add(&mut self, time: f64, cpu: f64) {
        self.times.push(time);
        self.cpu.push(cpu);
    }

    /// Runs an operation in this process and adds its cost.
    pub(super) fn measure<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (start, before) = (Instant::now(), proc::cpu(std::process::id())?);
        let done = work()?;
        let time = start.elapsed().as_secs_f64();
        self.add(time, proc::cpu(std::process::id())? - before);
        Ok(done)
    }

    pub(super) fn times(&self) -> Result<Summary> {
        summary(self.times.iter().copied())
    }

    /// Notes the medians.
    pub(super) fn note(&self, report: &mut Report, what: &str, who: &'static str) -> Result<()> {
        let (seconds, cpu) = (self.times()?.median, summary(self.cpu.iter().copied())?.median);
        report.starts.push(Start { what: what.to_owned(), who, seconds, cpu });
        Ok(())
    }
}
