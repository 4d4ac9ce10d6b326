//! One line for each run, for people who look later.

use serde_json::json;
use skillwire_core::digest::Digest;
use skillwire_sandbox::{job::Job, outcome::Outcome};

use crate::scripts::NotRun;

/// Who asked for what.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) caller: String,
    pub(crate) skill: String,
    pub(crate) script: String,
    /// One digest over everything the skill is made of.
    pub(crate) content: Digest,
    pub(crate) digest: Digest,
}

/// Writes down that a run begins, for a server that does not live to see its end.
pub(crate) fn begins(asked: &Asked) {
    tracing::info!(
        target: "skillwire::audit",
        caller = asked.caller,
        skill = asked.skill,
        content = %asked.content,
        script = asked.script,
        script_digest = %asked.digest,
        "a script is started",
    );
}

/// Writes down a run that came to an end.
pub(crate) fn ran(asked: &Asked, job: &Job, outcome: &Outcome) {
    let grants = json!({
        "variables": job.variables().collect::<Vec<_>>(),
        "network": job.destinations().iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let limits = job.limits();
    let limits = json!({
        "wall_ms": millis(limits.wall), "cpu_ms": millis(limits.cpu), "memory": limits.memory,
        "processes": limits.processes, "scratch": limits.scratch, "output": limits.output,
    });
    tracing::info!(
        target: "skillwire::audit",
        caller = asked.caller,
        skill = asked.skill,
        content = %asked.content,
        script = asked.script,
        script_digest = %asked.digest,
        interpreter = %job.interpreter(),
        isolation = %outcome.tier,
        %grants,
        %limits,
        outcome = %outcome.end,
        output_files = outcome.files.len(),
        wall_ms = millis(outcome.usage.wall),
        cpu_ms = millis(outcome.usage.cpu),
        peak_memory = outcome.usage.peak_memory,
        "a script was run",
    );
}

/// Writes down a run that did not begin.
pub(crate) fn not_run(asked: &Asked, why: &NotRun) {
    tracing::info!(
        target: "skillwire::audit",
        caller = asked.caller,
        skill = asked.skill,
        content = %asked.content,
        script = asked.script,
        script_digest = %asked.digest,
        reason = %why,
        "a script was not run",
    );
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
