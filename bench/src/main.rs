//! One command that makes one table: how fast skillwire is, as ratios to references measured in the
//! same run.

use std::{
    collections::HashSet,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::{Args, Helper},
    broken::{Broken, Result},
    measure::{
        Bench, Part,
        host::{Inspector, memory},
    },
    plan::Plan,
    program::Program,
    report::Report,
};

mod args;
mod broken;
mod corpus;
mod faulty;
mod http;
mod listed;
mod measure;
mod peers;
mod plan;
mod proc;
mod program;
mod reference;
mod report;
mod server;
mod stats;
mod wire;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(broken) => {
            let _ = writeln!(std::io::stderr(), "error: {broken}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every target was reached.
fn run(mut args: Args) -> Result<bool> {
    if let Some(helper) = args.helper.take() {
        return help(helper).map(|()| true);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Dropping the measurement stops every server that it started.
    let report = runtime.block_on(async {
        tokio::select! {
            report = measure_all(&args) => report,
            () = stopped() => Err(Broken::new("Stopped.")),
        }
    })?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{report}")?;
    }
    if !report.broken.is_empty() {
        return Err(Broken::new("Not everything could be measured; see the end of the report."));
    }
    // A quick run is too short for its numbers to mean anything.
    Ok(args.quick || report.is_good())
}

/// Runs the helper that another process of this program started.
fn help(helper: Helper) -> Result<()> {
    match helper {
        Helper::Bare { kind, bodies } => {
            // As many threads as a server would have by default.
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            let served = runtime.block_on(http::bare::run(kind, &bodies));
            runtime.shutdown_background();
            served
        }
        Helper::Faulty { how } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let served = runtime.block_on(faulty::run(how));
            runtime.shutdown_background();
            served
        }
        Helper::Registry { url, count } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let resident = runtime.block_on(memory::resident(&url, count))?;
            Ok(writeln!(std::io::stdout(), "{resident}")?)
        }
    }
}

async fn measure_all(args: &Args) -> Result<Report> {
    let mut plan = if args.quick { Plan::quick() } else { Plan::full() };
    if let Some(rounds) = args.rounds {
        plan.rounds = usize::from(rounds);
        plan.long_rounds = plan.long_rounds.min(plan.rounds);
    }
    if args.no_huge {
        plan.huge = plan.large;
    }
    let scratch =
        args.scratch.clone().unwrap_or_else(|| std::env::temp_dir().join("skillwire-bench"));
    let (peers, missing) = if args.quick || args.no_peers {
        Default::default()
    } else {
        peers::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("peers"))
    };
    let inspector = if args.quick || args.no_peers {
        Err("The Inspector was left out.".to_owned())
    } else {
        Inspector::find()
    };
    let mut bench = Bench {
        plan,
        scratch,
        skillwire: Program::skillwire(&binary(args)?),
        peers,
        inspector,
        report: Report::default(),
        read: HashSet::new(),
    };
    bench.report.cores = std::thread::available_parallelism()?.get();
    bench.report.notes = missing;
    let parts = match args.only.as_slice() {
        _ if args.hub => &[Part::Hub],
        _ if args.gateway => &[Part::Gateway],
        [] => &Part::ALL[..],
        only => only,
    };
    for part in parts {
        bench.measure(*part).await;
    }
    Ok(bench.report)
}

/// Waits for a signal that ends the benchmark.
async fn stopped() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// The binary to measure: the one that is shipped, which lies beside the folder of this program.
fn binary(args: &Args) -> Result<PathBuf> {
    let binary = match &args.skillwire {
        Some(binary) => binary.clone(),
        None => std::env::current_exe()?.with_file_name("../dist/skillwire"),
    };
    if binary.is_file() {
        return Ok(binary);
    }
    Err(Broken::new(format!(
        "{} is not there. Build it with `cargo build --profile dist -p skillwire`.",
        binary.display()
    )))
}
