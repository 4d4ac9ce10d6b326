//! Running a script in isolation: what that adds to the start of its interpreter, and many at once.

use std::{
    fs::{self, DirEntry},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use bytes::Bytes;
use skillwire_core::RelPath;
use skillwire_sandbox::{
    CancelHandle, InterpreterFinder, IsolationPolicy, IsolationTier, JobFile, Sandbox,
    ScriptArguments, ScriptJob, ScriptLanguage,
};

use super::{Bench, progress, summary};
use crate::{
    broken::{Broken, Result},
    report::{Check, Quantity, Row},
};

/// How many scripts run at once.
const AT_ONCE: usize = 50;

/// The most times that an isolated start may take as long as a bare one.
const MOST: f64 = 3.0;

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    for tier in [IsolationTier::Full, IsolationTier::Restricted] {
        let policy = IsolationPolicy::default().accept_restricted(true);
        // The helper is the program that users run, so that loading all of it is measured.
        let helper = bench.skillwire.path().to_owned();
        let known = bench.scratch.join(format!("isolation-{tier}.json"));
        let sandbox = || {
            Sandbox::with_helper(policy, helper.clone())
                .with_isolation_cache(known.clone())
                .only_tier(tier)
        };
        if let Err(unavailable) = sandbox().isolation() {
            let unmeasured = format!("**Scripts in {tier} isolation:** {unavailable}");
            bench.report.broken.push(unmeasured);
            continue;
        }
        // A helper that is started on request, and one that is ready, as a server has it.
        let (alone, served) = (sandbox(), sandbox().with_standby_helper());
        for (language, name) in [
            (ScriptLanguage::Python, "run.py"),
            (ScriptLanguage::Node, "run.js"),
            (ScriptLanguage::Bash, "run.bash"),
        ] {
            let Ok((program, _)) = InterpreterFinder::default().program(language) else {
                bench.report.notes.push(format!("{language} is not installed."));
                continue;
            };
            progress(&format!("{language} in {tier} isolation"));
            let trial = |sandbox| Trial::new(&bench.scratch, sandbox, program.clone(), name);
            let (alone, served) = (trial(&alone)?, trial(&served)?);
            start_up(bench, &alone, &format!("{language}, {tier} isolation"))?;
            start_up(bench, &served, &format!("{language}, {tier} isolation, by a server"))?;
            match language {
                ScriptLanguage::Python => at_once(bench, &served, tier)?,
                ScriptLanguage::Bash => first_runs(bench, &sandbox, &alone, tier)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Wraps the error of another library.
fn broken(error: impl std::fmt::Display) -> Broken {
    Broken::new(error.to_string())
}

/// A script without content, and what runs it.
#[derive(Clone)]
struct Trial<'a> {
    sandbox: &'a Sandbox,
    job: ScriptJob,
    program: PathBuf,
    script: PathBuf,
}

impl<'a> Trial<'a> {
    fn new(scratch: &Path, sandbox: &'a Sandbox, program: PathBuf, name: &str) -> Result<Self> {
        fs::create_dir_all(scratch).map_err(Broken::at(scratch))?;
        let script = scratch.join(name);
        fs::write(&script, "").map_err(Broken::at(&script))?;
        let path = RelPath::parse(name).map_err(broken)?;
        let file = JobFile { path: path.clone(), bytes: Bytes::new() };
        let arguments = ScriptArguments::from_words(Vec::new(), Vec::new()).map_err(broken)?;
        let job = ScriptJob::new(vec![file], path, arguments, &InterpreterFinder::default());
        Ok(Self { sandbox, job: job.map_err(broken)?, program, script })
    }

    /// The seconds of an isolated run.
    fn isolated(&self) -> Result<f64> {
        let start = Instant::now();
        let ran =
            self.sandbox.run(&self.job, &CancelHandle::new()?, &mut |_| {}).map_err(broken)?;
        let took = start.elapsed().as_secs_f64();
        if ran.end.is_success() { Ok(took) } else { Err(broken(ran.end)) }
    }

    /// The seconds of a run without any isolation.
    fn bare(&self) -> Result<f64> {
        let start = Instant::now();
        let mut command = Command::new(&self.program);
        command.arg(&self.script).stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status()?;
        let took = start.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(broken(status)) }
    }
}

/// Alternates both kinds of start, so that other load of the machine affects both.
fn start_up(bench: &mut Bench, trial: &Trial<'_>, what: &str) -> Result<()> {
    // The first run of each kind finds cold caches.
    trial.bare()?;
    trial.isolated()?;
    trial.sandbox.wait_for_cleanup();
    let (mut bare, mut isolated) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.rounds * 6 {
        bare.push(trial.bare()?);
        isolated.push(trial.isolated()?);
        // A bare start must not share the processors with the cleanup of the run before.
        trial.sandbox.wait_for_cleanup();
    }
    bench.report.rows.push(
        Row::new(format!("run an empty script: {what}"), Quantity::Time, summary(isolated)?)
            .against("bare start of the interpreter", summary(bare)?)
            .wants(Check::AtMostOfReference(MOST)),
    );
    Ok(())
}

/// Runs of which each is the first of its sandbox, so that the program that helpers are copies of
/// is loaded for it. Programs that know that they will run a script get ready earlier, so this has
/// no target.
fn first_runs(
    bench: &mut Bench,
    sandbox: &dyn Fn() -> Sandbox,
    other: &Trial<'_>,
    tier: IsolationTier,
) -> Result<()> {
    let (mut bare, mut isolated) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.rounds * 6 {
        let fresh = sandbox();
        // Only reads cached facts, and runs nothing.
        fresh.isolation().map_err(broken)?;
        let trial = Trial { sandbox: &fresh, ..other.clone() };
        bare.push(trial.bare()?);
        isolated.push(trial.isolated()?);
    }
    let what = format!("run an empty script: bash, {tier} isolation, nothing started before");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary(isolated)?)
            .against("bare start of the interpreter", summary(bare)?),
    );
    Ok(())
}

/// Runs many scripts at once, and checks that nothing is left of them.
fn at_once(bench: &mut Bench, trial: &Trial<'_>, tier: IsolationTier) -> Result<()> {
    let (mut bare, mut isolated) = (Vec::new(), Vec::new());
    // The cleanup after the last result counts here, since it slows the next runs down.
    let all_isolated = || all_at_once(|| trial.isolated(), || trial.sandbox.wait_for_cleanup());
    // What the first round keeps for good, such as the memory of threads, is not a leak.
    all_isolated()?;
    let before = Held::now()?;
    for _ in 0..bench.plan.long_rounds {
        bare.push(all_at_once(|| trial.bare(), || {})?);
        isolated.push(all_isolated()?);
    }
    let after = Held::now()?;
    if before != after {
        return Err(Broken::new(format!("Runs leave something behind: {before:?}, {after:?}.")));
    }
    let Held { processes, mounts, descriptors, groups } = after;
    bench.report.notes.push(format!(
        "After {AT_ONCE} runs at once in {tier} isolation as before them: {processes} \
         processes, {mounts} mounts, {descriptors} descriptors, {groups} cgroups and folders of runs."
    ));
    bench.report.rows.push(
        Row::new(
            format!("{AT_ONCE} Python scripts at once, {tier} isolation"),
            Quantity::Time,
            summary(isolated)?,
        )
        .against("as many bare starts", summary(bare)?)
        .wants(Check::AtMostOfReference(MOST)),
    );
    Ok(())
}

/// The seconds until all runs are done, including `then`.
fn all_at_once(run: impl Fn() -> Result<f64> + Sync, then: impl FnOnce()) -> Result<f64> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(&run)).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(ran) => ran.map(drop),
            Err(_) => Err(Broken::new("A run panicked.")),
        })
    })?;
    then();
    Ok(start.elapsed().as_secs_f64())
}

/// Resources of this process and the machine that a run could leak.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    processes: usize,
    mounts: usize,
    descriptors: usize,
    groups: usize,
}

impl Held {
    fn now() -> Result<Self> {
        let folders = entries(Path::new("/tmp"));
        let folders = folders.filter(|entry| is_named(entry, "skillwire-run-")).count();
        Ok(Self {
            processes: descendants("self"),
            mounts: fs::read_to_string("/proc/self/mounts")?.lines().count(),
            descriptors: entries(Path::new("/proc/self/fd")).count(),
            groups: folders + groups_below(Path::new("/sys/fs/cgroup")),
        })
    }
}

/// The processes that a process started, or that those did.
fn descendants(of: &str) -> usize {
    entries(&Path::new("/proc").join(of).join("task"))
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .map(|list| list.split_whitespace().map(|pid| 1 + descendants(pid)).sum::<usize>())
        .sum()
}

/// The cgroups of runs of this process, which lie somewhere below the one that it was started in.
fn groups_below(folder: &Path) -> usize {
    let ours = format!("skillwire-run-{}-", std::process::id());
    entries(folder)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| usize::from(is_named(&entry, &ours)) + groups_below(&entry.path()))
        .sum()
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_named(entry: &DirEntry, prefix: &str) -> bool {
    entry.file_name().to_string_lossy().starts_with(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_this_process_are_counted_wherever_they_lie() {
        let top = tempfile::tempdir().unwrap();
        let own = std::process::id();
        for group in [
            format!("skillwire-run-{own}-0"),
            format!("user.slice/a.scope/skillwire-run-{own}-1"),
            "user.slice/a.scope/skillwire-supervisor".to_owned(),
            format!("user.slice/b.scope/skillwire-run-{}-0", own + 1),
        ] {
            fs::create_dir_all(top.path().join(group)).unwrap();
        }
        assert_eq!(groups_below(top.path()), 2);
    }
}
