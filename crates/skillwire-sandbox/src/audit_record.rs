//! What an audit log keeps of a run.

use serde_json::{Value, json};
use skillwire_core::Digest;

use crate::{
    enforced_limit::EnforcedLimit,
    job::ScriptJob,
    limits::RunLimits,
    outcome::{ResourceUsage, RunOutcome, millis},
};

/// Describes a run for an audit log: what the job was granted, its limits, and how it ended.
///
/// `Err` holds the reason why the script was not started. The record holds no value of a variable,
/// and nothing that the script wrote.
pub fn run_record(job: &ScriptJob, result: Result<&RunOutcome, &str>) -> Value {
    let mut record = json!({
        "interpreter": job.interpreter().to_string(),
        "variables": job.variables().collect::<Vec<_>>(),
        "network": job.destinations().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "inputs": inputs_record(job),
        "roots": job.readable_roots(),
        "limits": limits_record(job.limits()),
    });
    match result {
        Ok(outcome) => {
            record["isolation"] = json!(outcome.tier);
            record["bounded_by"] = json!(outcome.enforcement);
            record["held_by"] = held_by(&outcome.limits);
            record["outcome"] = outcome.end.to_string().into();
            record["output_files"] = outcome.files.len().into();
            record["used"] = usage_record(&outcome.usage);
        }
        Err(why) => record["outcome"] = format!("not run: {why}").into(),
    }
    record
}

/// The most inputs that a record names.
const MAX_RECORDED_INPUTS: usize = 32;

/// Names the inputs with the digests of their contents, so that a log tells which file a script saw.
fn inputs_record(job: &ScriptJob) -> Value {
    let named = job.inputs().iter().take(MAX_RECORDED_INPUTS).map(|input| {
        json!({
            "path": input.path.as_str(),
            "bytes": input.bytes.len(),
            "digest": Digest::of(&input.bytes),
            "writable": input.writable,
        })
    });
    json!({ "count": job.inputs().len(), "files": named.collect::<Vec<_>>() })
}

fn limits_record(limits: &RunLimits) -> Value {
    json!({
        "wall_ms": millis(limits.wall_time),
        "cpu_ms": millis(limits.cpu_time),
        "memory": limits.memory_bytes,
        "processes": limits.processes,
        "scratch": limits.folder_bytes,
        "files": limits.folder_files,
        "output": limits.stream_bytes,
    })
}

/// What held each limit, by the limit's name.
fn held_by(limits: &[EnforcedLimit]) -> Value {
    let held = limits.iter().map(|limit| (limit.limit.name().to_owned(), json!(limit.enforcement)));
    Value::Object(held.collect())
}

/// Describes what a run used, as JSON.
pub fn usage_record(usage: &ResourceUsage) -> Value {
    json!({
        "wall_ms": millis(usage.wall_time),
        "cpu_ms": millis(usage.cpu_time),
        "peak_memory": usage.peak_memory_bytes,
        "peak_processes": usage.peak_processes,
        "scratch": usage.folder_bytes,
        "files": usage.folder_files,
        "output": usage.output_bytes,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use skillwire_core::RelPath;
    use skillwire_egress::NetworkDestination;

    use super::*;
    use crate::{arguments::ScriptArguments, interpreter::InterpreterFinder, job::JobFile};

    #[test]
    fn a_record_names_granted_variables_without_their_values() {
        let script = RelPath::parse("run.sh").unwrap();
        let file = JobFile { path: script.clone(), bytes: bytes::Bytes::new() };
        let arguments = ScriptArguments::from_words(Vec::new(), Vec::new()).unwrap();
        let mut job =
            ScriptJob::new(vec![file], script, arguments, &InterpreterFinder::default()).unwrap();
        job.grant_variable("API_TOKEN", "secret".to_owned()).unwrap();
        job.grant_destination(NetworkDestination::parse("a.example:443").unwrap());
        let record = run_record(&job, Err("there is no room"));
        assert_eq!(record["variables"], json!(["API_TOKEN"]));
        assert_eq!(record["network"], json!(["a.example:443"]));
        assert_eq!(record["limits"]["wall_ms"], 30_000);
        assert_eq!(record["outcome"], "not run: there is no room");
        assert!(!record.to_string().contains("secret"), "{record}");
    }
}
