//! What a log keeps of a run.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    job::Job,
    limits::Limits,
    outcome::{Outcome, Usage},
};

/// What a job was granted and how it was bounded, and what became of it; `Err` holds why it did not
/// begin.
///
/// No values of variables, and nothing that the script wrote.
pub fn of(job: &Job, became: Result<&Outcome, &str>) -> Value {
    let mut record = json!({
        "interpreter": job.interpreter().to_string(),
        "variables": job.variables().collect::<Vec<_>>(),
        "network": job.destinations().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "limits": limits(job.limits()),
    });
    match became {
        Ok(outcome) => {
            record["isolation"] = json!(outcome.tier);
            record["bounded_by"] = json!(outcome.together);
            record["outcome"] = outcome.end.to_string().into();
            record["output_files"] = outcome.files.len().into();
            record["used"] = used(&outcome.usage);
        }
        Err(why) => record["outcome"] = format!("not run: {why}").into(),
    }
    record
}

fn limits(limits: &Limits) -> Value {
    json!({
        "wall_ms": millis(limits.wall),
        "cpu_ms": millis(limits.cpu),
        "memory": limits.memory,
        "processes": limits.processes,
        "scratch": limits.scratch,
        "output": limits.output,
    })
}

/// What a run used, for programs.
pub fn used(usage: &Usage) -> Value {
    json!({
        "wall_ms": millis(usage.wall),
        "cpu_ms": millis(usage.cpu),
        "peak_memory": usage.peak_memory,
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
