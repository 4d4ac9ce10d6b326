//! The test driver: the smallest program that can be its own helper.
//!
//! It reads a request as JSON from standard input, runs one script, and writes the outcome as JSON
//! to standard output. The attack suite drives it, as root and as other users.

use std::{
    io::{self, Read as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skillwire_sandbox::{
    Bytes, CancelHandle, InterpreterFinder, IsolationPolicy, IsolationTier, JobFile,
    NetworkDestination, RelPath, RunError, RunLimits, Sandbox, ScriptArguments, ScriptJob,
    ScriptLanguage, run_if_helper,
};

/// What the test asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The only tier to use.
    tier: IsolationTier,
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
    /// Cancels the run after this many milliseconds.
    cancel_after_ms: Option<u64>,
    /// Runs the script this many times at once, and counts what is left afterwards.
    #[serde(default)]
    at_once: usize,
    /// Keeps a helper ready for the next run.
    #[serde(default)]
    standby_helper: bool,
    /// Answers with the length of each file in place of its content.
    #[serde(default)]
    lengths_only: bool,
    /// The interpreter of Python scripts, in place of the system's.
    python: Option<PathBuf>,
    /// System calls that fail, as if this machine lacked them.
    #[serde(default)]
    denied_calls: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LimitsRequest {
    wall_ms: Option<u64>,
    cpu_ms: Option<u64>,
    memory_bytes: Option<u64>,
    processes: Option<u64>,
    folder_bytes: Option<u64>,
    folder_files: Option<u64>,
    stream_bytes: Option<usize>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    if let Some(code) = run_if_helper() {
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
    deny_calls(&request.denied_calls)?;
    let accept_restricted = request.tier == IsolationTier::Restricted;
    let policy = IsolationPolicy::default().accept_restricted(accept_restricted);
    let mut sandbox = Sandbox::new(policy).only_tier(request.tier);
    if request.standby_helper {
        sandbox = sandbox.with_standby_helper();
    }
    let job = job(&request)?;
    if request.at_once > 0 {
        return Ok(run_at_once(&sandbox, &job, request.at_once));
    }
    let cancel = CancelHandle::new()?;
    let stop = cancel.clone();
    let cancel_after = request.cancel_after_ms.map(Duration::from_millis);
    let mut progress_reports = 0;
    let outcome = sandbox.run(&job, &cancel, &mut |progress| {
        progress_reports += 1;
        if cancel_after.is_some_and(|after| progress.elapsed > after) {
            stop.cancel();
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
        .map(|file| {
            let length = || Value::from(file.bytes.len());
            let content = || BASE64_STANDARD.encode(&file.bytes).into();
            let answer = if request.lengths_only { length() } else { content() };
            (file.path.as_str().to_owned(), answer)
        })
        .collect();
    Ok(json!({
        "tier": outcome.tier,
        "enforcement": outcome.enforcement,
        "limits": outcome.limits,
        "notes": sandbox.isolation().map(|isolation| isolation.notes).unwrap_or_default(),
        "end": outcome.end,
        "stdout": outcome.stdout.as_str(),
        "stderr": outcome.stderr.as_str(),
        "truncated": outcome.stdout.is_truncated() || outcome.stderr.is_truncated(),
        "files": files,
        "skipped_files": outcome.skipped_files,
        "cpu_ms": u64::try_from(outcome.usage.cpu_time.as_millis())?,
        "wall_ms": u64::try_from(outcome.usage.wall_time.as_millis())?,
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "progress_reports": progress_reports,
    }))
}

/// Runs a job several times at once, twice, and counts what this process holds after each round.
fn run_at_once(sandbox: &Sandbox, job: &ScriptJob, times: usize) -> Value {
    let round = || {
        let run = || -> Result<bool, Failure> {
            Ok(sandbox.run(job, &CancelHandle::new()?, &mut |_| {})?.end.is_success())
        };
        let ended: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..times).map(|_| scope.spawn(|| run().unwrap_or_default())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        sandbox.wait_for_cleanup();
        json!({
            "succeeded": ended.iter().filter(|ended| **ended).count(),
            "descriptors": std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            "mounts": std::fs::read_to_string("/proc/self/mounts").unwrap_or_default().lines().count(),
            "processes": descendants("self"),
        })
    };
    json!([round(), round()])
}

/// Counts the descendants of a process.
fn descendants(of: &str) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = threads
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.map(|list| list.split_whitespace().map(|pid| 1 + descendants(pid)).sum::<usize>()).sum()
}

/// Makes system calls of this process and its helpers fail, as a container or an old kernel would.
#[cfg(target_os = "linux")]
fn deny_calls(calls: &[String]) -> Result<(), Failure> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    if calls.is_empty() {
        return Ok(());
    }
    let number = |name: &String| {
        Some(match name.as_str() {
            "unshare" => libc::SYS_unshare,
            "open_tree" => libc::SYS_open_tree,
            "fsopen" => libc::SYS_fsopen,
            "fsmount" => libc::SYS_fsmount,
            "move_mount" => libc::SYS_move_mount,
            "mount_setattr" => libc::SYS_mount_setattr,
            "mount" => libc::SYS_mount,
            "pivot_root" => libc::SYS_pivot_root,
            "landlock_create_ruleset" => libc::SYS_landlock_create_ruleset,
            "landlock_restrict_self" => libc::SYS_landlock_restrict_self,
            "seccomp" => libc::SYS_seccomp,
            "prlimit64" => libc::SYS_prlimit64,
            "capset" => libc::SYS_capset,
            "setresuid" => libc::SYS_setresuid,
            "setresgid" => libc::SYS_setresgid,
            "setgroups" => libc::SYS_setgroups,
            "sethostname" => libc::SYS_sethostname,
            "prctl" => libc::SYS_prctl,
            "setsid" => libc::SYS_setsid,
            "pidfd_open" => libc::SYS_pidfd_open,
            "pidfd_send_signal" => libc::SYS_pidfd_send_signal,
            "close_range" => libc::SYS_close_range,
            _ => return None,
        })
    };
    let rules = calls
        .iter()
        .map(|name| number(name).map(|call| (call, Vec::new())).ok_or("an unknown system call"))
        .collect::<Result<_, _>>()?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    let program: BpfProgram = filter.try_into()?;
    apply_filter(&program)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn deny_calls(_: &[String]) -> Result<(), Failure> {
    Ok(())
}

fn job(request: &Request) -> Result<ScriptJob, Failure> {
    let files = request
        .files
        .iter()
        .map(|(path, bytes)| {
            let bytes = BASE64_STANDARD.decode(bytes.as_str().unwrap_or_default())?;
            Ok(JobFile { path: RelPath::parse(path)?, bytes: Bytes::from(bytes) })
        })
        .collect::<Result<_, Failure>>()?;
    let arguments = ScriptArguments::from_object(&request.arguments)?;
    let script = RelPath::parse(&request.script)?;
    let mut interpreters = InterpreterFinder::default();
    if let Some(python) = &request.python {
        interpreters.use_program(ScriptLanguage::Python, python)?;
    }
    let mut job = ScriptJob::new(files, script, arguments, &interpreters)?;
    for (name, value) in &request.environment {
        job.grant_variable(name, value.as_str().unwrap_or_default().to_owned())?;
    }
    for destination in &request.network {
        job.grant_destination(NetworkDestination::parse(destination)?);
    }
    let wanted = &request.limits;
    let default = RunLimits::default();
    let limits = RunLimits::default()
        .with_wall_time(wanted.wall_ms.map_or(default.wall_time, Duration::from_millis))
        .with_cpu_time(wanted.cpu_ms.map_or(default.cpu_time, Duration::from_millis))
        .with_memory_bytes(wanted.memory_bytes.unwrap_or(default.memory_bytes))
        .with_processes(wanted.processes.unwrap_or(default.processes))
        .with_folder_bytes(wanted.folder_bytes.unwrap_or(default.folder_bytes))
        .with_folder_files(wanted.folder_files.unwrap_or(default.folder_files))
        .with_stream_bytes(wanted.stream_bytes.unwrap_or(default.stream_bytes));
    job.set_limits(limits);
    Ok(job)
}
