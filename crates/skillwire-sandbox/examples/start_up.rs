//! Measures what isolation adds to the start of an interpreter.
//!
//! `cargo run --release -p skillwire-sandbox --example start_up` starts each interpreter bare and
//! isolated in turns, and compares the medians. Exits with 1 when isolation costs more than three
//! times a bare start.

use std::{
    io::Write as _,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use bytes::Bytes;
use skillwire_core::path::RelPath;
use skillwire_sandbox::{
    arguments::Arguments,
    helper,
    interpreter::{Interpreters, Language},
    isolation::{Policy, Tier},
    job::{Job, JobFile},
    sandbox::{Cancel, Sandbox},
};

const TIMES: usize = 41;
const MOST: f64 = 3.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    if let Some(code) = helper::enter() {
        return code;
    }
    match measure() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

fn measure() -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| interpreter | tier | bare | isolated | times |\n|---|---|---|---|---|")?;
    let mut within = true;
    for (language, name) in
        [(Language::Python, "run.py"), (Language::Bash, "run.bash"), (Language::Node, "run.js")]
    {
        let Ok((program, _)) = Interpreters::default().program(language) else { continue };
        for tier in [Tier::Full, Tier::Restricted] {
            let policy = Policy { accept_restricted: true, ..Policy::default() };
            let sandbox = Sandbox::new(policy).only(tier);
            let job = job(name)?;
            let run = || -> Result<(), Failure> {
                let ran = sandbox.run(&job, &Cancel::new()?, &mut |_| {})?;
                if ran.end.is_success() { Ok(()) } else { Err(ran.end.to_string().into()) }
            };
            let script =
                std::env::temp_dir().join(format!("start-up-{}-{name}", std::process::id()));
            std::fs::write(&script, "")?;
            let start = || -> Result<(), Failure> {
                let mut command = Command::new(&program);
                command.arg(&script).stdin(Stdio::null()).stdout(Stdio::null());
                if command.status()?.success() {
                    Ok(())
                } else {
                    Err("the interpreter failed".into())
                }
            };
            // The first of each finds nothing in memory.
            (start()?, run()?);
            let (mut bare, mut isolated) = (Vec::new(), Vec::new());
            for _ in 0..TIMES {
                bare.push(time(start)?);
                isolated.push(time(run)?);
            }
            std::fs::remove_file(&script)?;
            let (bare, isolated) = (median(bare), median(isolated));
            let times = isolated.as_secs_f64() / bare.as_secs_f64();
            // A shell is ready before most programs are loaded; the bound is for interpreters.
            within &= times <= MOST || language == Language::Bash;
            writeln!(out, "| {language} | {tier} | {bare:.1?} | {isolated:.1?} | {times:.2} |")?;
        }
    }
    Ok(within)
}

fn job(name: &str) -> Result<Job, Failure> {
    let script = RelPath::parse(name)?;
    let file = JobFile { path: script.clone(), bytes: Bytes::new() };
    let arguments = Arguments::typed(Vec::new(), Vec::new())?;
    Ok(Job::new(vec![file], script, arguments, &Interpreters::default())?)
}

fn time(work: impl Fn() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = Instant::now();
    work().map(|()| start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
