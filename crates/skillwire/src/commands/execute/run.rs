//! `skillwire run`: a script of an approved skill, isolated.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use serde_json::{Map, json};
use skillwire_core::{Digest, RelPath, Resources};
use skillwire_host::{Window, context::text::one_line};
use skillwire_sandbox::{
    AggregateEnforcement, AvailableIsolation, CancelHandle, JobFile, RunEnd, RunLimits, RunOutcome,
    ScriptArguments, ScriptJob, usage_record,
};
use skillwire_trust::{Reason, Refusal};

use super::Outcome;
use crate::{
    args::RunArgs,
    execution,
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, report,
    session::{self, NamedSkill},
    settings,
};

/// The most bytes of standard input that are passed on.
const MAX_STDIN: u64 = 1024 * 1024;

pub(in crate::commands) fn run(args: &RunArgs) -> Outcome {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        if let Some(folder) = &args.output {
            check_output(folder)?;
        }
        let named = session.find_now(&args.handle).await?;
        let window = session.host().load(session.host().approved(&named.listed)?).await?.window;
        let outcome = run_script(args, &named, &window).await;
        window.release();
        outcome
    })
}

async fn run_script(args: &RunArgs, named: &NamedSkill, window: &Window) -> Outcome {
    if let Err(refusal) = window.may_run_scripts() {
        window.log_run(Err(refusal.reason), &args.script);
        return Err(refusal.into());
    }
    let sandbox = execution::sandbox(args.isolation);
    let isolation = sandbox.isolation().map_err(|unavailable| {
        window.log_run(Err(Reason::NotGranted), &format!("{}: {unavailable}", args.script));
        execution::not_run(&unavailable.into())
    })?;
    // The helper starts while the files are fetched.
    sandbox.prestart_helper();
    let (job, digest) = job(args, window).await?;
    if !args.json {
        announce(args, named, window, &job, &isolation, &sandbox.aggregate_enforcement())?;
    }
    let cancel =
        CancelHandle::new().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    let (tx, rx) = tokio::sync::oneshot::channel();
    let stop = cancel.clone();
    // The run blocks until every process of the script is gone, and this thread has to wait for
    // Ctrl-C.
    let running = std::thread::spawn(move || {
        let ran = sandbox.run(&job, &stop, &mut |_| {});
        let _ = tx.send(());
        (job, ran, sandbox)
    });
    tokio::select! {
        _ = rx => {}
        _ = tokio::signal::ctrl_c() => cancel.cancel(),
    }
    // The sandbox is dropped at the end of this function: its cleanup must not delay the result.
    let (job, ran, _sandbox) = running
        .join()
        .map_err(|_| Failure::new(Exit::Internal, "The run could not be supervised."))?;
    let detail = execution::audit_detail("user", &args.script, &digest, &job, ran.as_ref());
    let logged = ran.as_ref().map(|_| ()).map_err(|_| Reason::NotGranted);
    window.log_run(logged, &detail);
    let ran = ran.map_err(|error| execution::not_run(&error))?;
    if let Some(folder) = &args.output {
        write_output(folder, &ran)?;
    }
    if args.json {
        print_json(named, args, &ran)?;
    } else {
        print(args, &ran)?;
    }
    Ok(match ran.end {
        RunEnd::Exited(0) => Exit::Ok,
        RunEnd::Exited(_) | RunEnd::Signalled(_) => Exit::Findings,
        RunEnd::Stopped(_) => Exit::Declined,
    })
}

/// Fetches every file through the window, each compared with the manifest, and puts a job together.
async fn job(args: &RunArgs, window: &Window) -> Result<(ScriptJob, Digest), Failure> {
    let Resources::Listed(listed) = &window.entry().resources else {
        // `may_run_scripts` has refused these before.
        return Err(Refusal::new(Reason::NotGranted).about(window.skill()).into());
    };
    let mut files = Vec::with_capacity(listed.len());
    for file in listed {
        let path = window.skill().uri.below(&file.uri).ok_or_else(|| {
            Refusal::new(Reason::PathOutsideSkill).about(window.skill()).file(&file.uri)
        })?;
        let content = window.read(path.as_str()).await?;
        files.push(JobFile { path, bytes: content.bytes().clone() });
    }
    let script = RelPath::parse(&args.script)
        .map_err(|error| Failure::usage(format!("The script's path {error}.")))?;
    let digest = files.iter().find(|file| file.path == script).map(|file| Digest::of(&file.bytes));
    let stdin = if args.stdin { read_stdin()? } else { Vec::new() };
    let arguments = ScriptArguments::from_words(args.words.clone(), stdin)
        .map_err(|error| Failure::usage(execution::sentence(&error.to_string())))?;
    let interpreters = execution::interpreters(&args.interpreter)?;
    let mut job = ScriptJob::new(files, script, arguments, &interpreters)
        .map_err(|error| execution::not_run(&error.into()))?;
    for name in &args.env {
        let value = settings::variable(name).ok_or_else(|| {
            Failure::usage(format!("The variable `{}` is not set.", name.escape_debug()))
                .hint("Set it, or leave `--env` out.")
        })?;
        job.grant_variable(name, value).map_err(|error| execution::not_run(&error.into()))?;
    }
    for destination in &args.network {
        job.grant_destination(execution::destination(destination)?);
    }
    if let Some(seconds) = args.timeout {
        let wall = Duration::from_secs(seconds.clamp(1, 24 * 60 * 60));
        job.set_limits(RunLimits::default().with_wall_time(wall).with_cpu_time(wall));
    }
    // `ScriptJob::new` found the script among the files.
    Ok((job, digest.unwrap_or_else(|| Digest::of(b""))))
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage("Standard input cannot be read.").because(error))?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(Failure::usage("Standard input is longer than a megabyte.")
            .hint("Give the script less, or put it into the skill."));
    }
    Ok(bytes)
}

/// Prints what will run and how it is isolated, before it runs.
fn announce(
    args: &RunArgs,
    named: &NamedSkill,
    window: &Window,
    job: &ScriptJob,
    isolation: &AvailableIsolation,
    enforcement: &AggregateEnforcement,
) -> io::Result<()> {
    let mut err = prose::stderr();
    let content = window.fingerprint().map(|digest| digest.to_string()).unwrap_or_default();
    writeln!(
        err,
        "Running `{}` of {} ({content})",
        one_line(&args.script),
        one_line(&named.handle)
    )?;
    let limits = job.limits();
    writeln!(
        err,
        "  with {}, {} isolation, at most {} s and {} MiB",
        job.interpreter(),
        isolation.tier,
        limits.wall_time.as_secs(),
        limits.memory_bytes / (1024 * 1024)
    )?;
    let variables: Vec<_> = job.variables().collect();
    let variables = if variables.is_empty() { "none".to_owned() } else { variables.join(", ") };
    let network: Vec<_> = job.destinations().iter().map(ToString::to_string).collect();
    let network = if network.is_empty() { "none".to_owned() } else { network.join(", ") };
    writeln!(err, "  your variables: {variables}; network: {network}")?;
    writeln!(err, "  memory and processor time of its processes are {enforcement}")?;
    isolation.notes.iter().try_for_each(|note| writeln!(err, "  {note}"))
}

fn print(args: &RunArgs, ran: &RunOutcome) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(ran.stdout.as_str().as_bytes())?;
    out.flush()?;
    let mut err = prose::stderr();
    err.write_all(ran.stderr.as_str().as_bytes())?;
    if ran.stdout.is_truncated() || ran.stderr.is_truncated() {
        writeln!(err, "It wrote more than is shown.")?;
    }
    if !ran.end.is_success() {
        writeln!(err, "The script {}.", ran.end)?;
    }
    match (&args.output, ran.files.len()) {
        (_, 0) => {}
        (None, count) => {
            writeln!(
                err,
                "It left {}, now gone. `--output DIR` keeps them.",
                counted(count, "file")
            )?;
        }
        (Some(folder), count) => {
            writeln!(err, "It left {} in `{}`.", counted(count, "file"), folder.display())?;
        }
    }
    Ok(())
}

fn print_json(named: &NamedSkill, args: &RunArgs, ran: &RunOutcome) -> Result<(), Failure> {
    let files: Map<_, _> = ran
        .files
        .iter()
        .map(|file| (file.path.as_str().to_owned(), file.bytes.len().into()))
        .collect();
    let outcome = json!({
        "handle": named.handle,
        "script": args.script,
        "isolation": ran.tier,
        "bounded_by": ran.enforcement,
        "end": ran.end,
        "stdout": ran.stdout.as_str(),
        "stderr": ran.stderr.as_str(),
        "truncated": ran.stdout.is_truncated() || ran.stderr.is_truncated(),
        "files": files,
        "left_out": ran.skipped_files,
        "used": usage_record(&ran.usage),
    });
    report::json(&mut io::stdout().lock(), &outcome)?;
    Ok(())
}

fn check_output(folder: &Path) -> Result<(), Failure> {
    let empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if empty {
        return Ok(());
    }
    Err(Failure::usage(format!("`{}` is not a new or empty folder.", folder.display()))
        .hint("Name another one."))
}

/// Writes the files that the script left. The folder was empty, and their paths cannot leave it.
fn write_output(folder: &Path, ran: &RunOutcome) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for file in &ran.files {
            let path = folder.join(file.path.as_str());
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)?
                .write_all(&file.bytes)?;
        }
        Ok(())
    };
    write().map_err(|error| {
        Failure::usage(format!("`{}` cannot be written to.", folder.display())).because(error)
    })
}
