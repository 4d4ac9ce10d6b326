//! Runs one script in isolation: the smallest program that is its own helper.
//!
//! Reads a request as JSON from standard input and writes the outcome as JSON to standard output.
//! The attack suite drives it, as root and as other users.

use std::{
    io::{self, Read as _},
    process::ExitCode,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skillwire_core::path::RelPath;
use skillwire_sandbox::{
    arguments::Arguments,
    helper,
    interpreter::Interpreters,
    isolation::{Policy, Tier},
    job::{Destination, Job, JobFile},
    limits::Limits,
    sandbox::{Cancel, RunError, Sandbox},
};

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The only tier that will do.
    tier: Tier,
    /// The skill's files, in base64.
    files: Map<String, Value>,
    script: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    environment: Map<String, Value>,
    #[serde(default)]
    network: Vec<String>,
    #[serde(default)]
    limits: LimitsRequest,
    /// Cancels the run after so many milliseconds.
    cancel_after_ms: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LimitsRequest {
    wall_ms: Option<u64>,
    cpu_ms: Option<u64>,
    memory: Option<u64>,
    processes: Option<u64>,
    scratch: Option<u64>,
    output: Option<usize>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    if let Some(code) = helper::enter() {
        return code;
    }
    let answer = match run() {
        Ok(answer) => answer,
        Err(error) => json!({ "invalid": error.to_string() }),
    };
    match serde_json::to_writer(io::stdout().lock(), &answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> Result<Value, Failure> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    let request: Request = serde_json::from_str(&text)?;
    let policy =
        Policy { accept_restricted: request.tier == Tier::Restricted, ..Policy::default() };
    let sandbox = Sandbox::new(policy).only(request.tier);
    let job = job(&request)?;
    let cancel = Cancel::new()?;
    let ended = cancel.clone();
    let mut ticks = 0;
    let outcome = sandbox.run(&job, &cancel, &mut |tick| {
        ticks += 1;
        if request.cancel_after_ms.is_some_and(|after| tick.elapsed > Duration::from_millis(after))
        {
            ended.cancel();
        }
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(RunError::Unavailable(unavailable)) => {
            return Ok(json!({ "unavailable": unavailable }));
        }
        Err(error) => return Ok(json!({ "failed": error.to_string() })),
    };
    let files: Map<_, _> = outcome
        .files
        .iter()
        .map(|file| (file.path.as_str().to_owned(), BASE64_STANDARD.encode(&file.bytes).into()))
        .collect();
    Ok(json!({
        "tier": outcome.tier,
        "end": outcome.end,
        "stdout": outcome.stdout.as_str(),
        "stderr": outcome.stderr.as_str(),
        "truncated": outcome.stdout.is_truncated() || outcome.stderr.is_truncated(),
        "files": files,
        "left_out": outcome.left_out,
        "cpu_ms": u64::try_from(outcome.usage.cpu.as_millis())?,
        "wall_ms": u64::try_from(outcome.usage.wall.as_millis())?,
        "peak_memory": outcome.usage.peak_memory,
        "ticks": ticks,
    }))
}

fn job(request: &Request) -> Result<Job, Failure> {
    let files = request
        .files
        .iter()
        .map(|(path, bytes)| {
            let bytes = BASE64_STANDARD.decode(bytes.as_str().unwrap_or_default())?;
            Ok(JobFile { path: RelPath::parse(path)?, bytes: Bytes::from(bytes) })
        })
        .collect::<Result<_, Failure>>()?;
    let arguments = Arguments::of(&request.arguments)?;
    let script = RelPath::parse(&request.script)?;
    let mut job = Job::new(files, script, arguments, &Interpreters::default())?;
    for (name, value) in &request.environment {
        job.grant_variable(name, value.as_str().unwrap_or_default().to_owned())?;
    }
    for destination in &request.network {
        job.grant_destination(Destination::parse(destination)?);
    }
    let wanted = &request.limits;
    let standard = Limits::default();
    job.limit(Limits {
        wall: wanted.wall_ms.map_or(standard.wall, Duration::from_millis),
        cpu: wanted.cpu_ms.map_or(standard.cpu, Duration::from_millis),
        memory: wanted.memory.unwrap_or(standard.memory),
        processes: wanted.processes.unwrap_or(standard.processes),
        scratch: wanted.scratch.unwrap_or(standard.scratch),
        output: wanted.output.unwrap_or(standard.output),
        ..standard
    });
    Ok(job)
}
