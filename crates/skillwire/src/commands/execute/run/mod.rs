//! `skillwire run`: a script of an approved skill, isolated.

mod announce;
mod choosing;
mod environment;
mod finish;
mod on_server;
mod prepare;
mod stream;

use skillwire_host::Window;
use skillwire_sandbox::{CancelHandle, RunEnd, RunOutcome, Sandbox, ScriptJob, StopReason};
use skillwire_trust::Reason;
use tokio::signal;

use self::prepare::PreparedRun;
use crate::{
    args::RunArgs,
    execution,
    exit::{Exit, ExitStatus},
    failure::Failure,
    session::{self, NamedSkill},
};

/// The exit code of a program that an interrupt ended.
const INTERRUPTED: u8 = 128 + 2;

pub(in crate::commands) fn run(args: &RunArgs) -> Result<ExitStatus, Failure> {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    let mut status = ExitStatus::from(Exit::Ok);
    session::with(args.json, options, async |session| {
        if args.script().starts_with('-') {
            return Err(Failure::usage(format!("`{}` is not an option.", args.script()))
                .hint("`skillwire run --help` lists the options; they come before the script."));
        }
        if let Some(folder) = &args.output {
            finish::check_output(folder)?;
        }
        let named = session.find_now(&args.handle).await?;
        if args.script().is_empty() {
            return Err(choosing::unnamed(&named));
        }
        let approved = session.host().approved_unasked(&named.listed).await?;
        let window = session.host().load(approved).await?.window;
        let ended = if args.remote {
            on_server::run(args, &named, &window).await
        } else {
            run_script(args, &named, &window).await.map(exit_status)
        };
        window.release();
        status = ended?;
        Ok(Exit::Ok)
    })?;
    Ok(status)
}

async fn run_script(
    args: &RunArgs,
    named: &NamedSkill,
    window: &Window,
) -> Result<RunEnd, Failure> {
    if let Err(refusal) = window.may_run_scripts() {
        window.log_run(Err(refusal.reason), args.script());
        return Err(refusal.into());
    }
    let sandbox = execution::sandbox(args.isolation);
    let isolation = sandbox.isolation().map_err(|unavailable| {
        window.log_run(Err(Reason::NotGranted), &format!("{}: {unavailable}", args.script()));
        execution::not_run(&unavailable.into())
    })?;
    // The helper starts while the files are fetched.
    sandbox.prestart_helper();
    let prepared = prepare::prepare(args, window).await.inspect_err(|failure| {
        // A request for a file that is not there, or that leads out of the skill, is worth knowing.
        window.log_run(Err(Reason::NotGranted), &execution::refused_detail(args.script(), failure));
    })?;
    if !args.json && !args.quiet {
        announce::write(args, named, window, &prepared, &isolation, &sandbox)?;
    }
    let PreparedRun { job, digest, inputs, edits, .. } = prepared;
    // Written before the script starts, so that the log names it even if this process is killed.
    window.log_run(Ok(()), &execution::started_detail(args.script(), &digest, &job));
    let (job, ran) = supervise(args, sandbox, job).await?;
    let detail = execution::audit_detail("user", args.script(), &digest, &job, ran.as_ref());
    let logged = ran.as_ref().map(|_| ()).map_err(|_| Reason::NotGranted);
    window.log_run(logged, &detail);
    let ran = ran.map_err(|error| execution::not_run(&error))?;
    let kept = finish::keep_files(args, &edits, &ran)?;
    if args.json {
        finish::print_json(named, args, &inputs, &kept, &ran)?;
    } else {
        finish::print_end(named, window, args, &kept, &ran)?;
    }
    Ok(ran.end)
}

type Ran = Result<RunOutcome, skillwire_sandbox::RunError>;

/// Runs the job, and stops it when the user or the system wants this program to end.
async fn supervise(
    args: &RunArgs,
    sandbox: Sandbox,
    job: ScriptJob,
) -> Result<(ScriptJob, Ran), Failure> {
    let cancel =
        CancelHandle::new().map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    let mut observer = stream::TerminalStream::new(!args.json, cancel.clone());
    let (tx, rx) = tokio::sync::oneshot::channel();
    let stop = cancel.clone();
    // The run blocks until every process of the script is gone, and this thread has to wait for
    // signals.
    let running = std::thread::spawn(move || {
        let ran = sandbox.run_observed(&job, &stop, &mut observer);
        let _ = tx.send(());
        (job, ran, sandbox)
    });
    tokio::select! {
        _ = rx => {}
        () = wanted_to_end() => cancel.cancel(),
    }
    // The sandbox is dropped with this value: its cleanup must not delay the script's end.
    let (job, ran, _sandbox) = running
        .join()
        .map_err(|_| Failure::new(Exit::Internal, "The run could not be supervised."))?;
    Ok((job, ran))
}

/// Waits for a signal that ends programs.
async fn wanted_to_end() {
    #[cfg(unix)]
    {
        use signal::unix::{SignalKind, signal};
        let terminate = signal(SignalKind::terminate());
        let hang_up = signal(SignalKind::hangup());
        if let (Ok(mut terminate), Ok(mut hang_up)) = (terminate, hang_up) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
                _ = signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = signal::ctrl_c().await;
}

fn exit_status(end: RunEnd) -> ExitStatus {
    let byte = |code: i32| u8::try_from(code & 0xff).unwrap_or(u8::MAX);
    match end {
        RunEnd::Exited(code) => ExitStatus::of_script(byte(code)),
        RunEnd::Signalled(signal) => ExitStatus::of_script(byte(128 + signal)),
        RunEnd::Stopped(StopReason::Cancelled) => ExitStatus::of_script(INTERRUPTED),
        RunEnd::Stopped(_) => ExitStatus::beside_scripts(Exit::Declined),
    }
}
