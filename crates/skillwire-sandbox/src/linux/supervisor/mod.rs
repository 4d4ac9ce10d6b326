//! Starts helpers, gives them jobs, enforces limits, and takes what they report.

mod active_run;
mod fork_server;
mod helper_pool;
mod maintenance;
mod report_reader;
mod run_failure;
mod script_streams;

use std::{
    fs::File,
    io::{self, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::Timespec;

use self::{active_run::ActiveRun, maintenance::MaintenanceThread, script_streams::ScriptStreams};
pub(crate) use self::{helper_pool::HelperPool, run_failure::RunFailure};
use super::{
    cgroup::RunCgroup,
    helper_protocol::{FileSpec, InputSpec, JobSpec, ScriptProgram, send},
    process_tree,
    run_meter::RunMeter,
};
use crate::{
    cancel::CancelHandle,
    enforced_limit::{LimitEnforcement, LimitHolders},
    interpreter::{ScriptInterpreter, ScriptLanguage},
    isolation::IsolationTier,
    job::ScriptJob,
    outcome::{AggregateEnforcement, RunOutcome},
    sandbox::RunObserver,
};

/// How long a helper that was told to end the run may take before it is killed itself.
const HELPER_TIMEOUT: Duration = Duration::from_secs(5);

/// A cgroup counts the folders of a run and its helper as well, so its bound has room for them. The
/// supervisor ends a run at the limit itself.
const MEMORY_CGROUP: &str = "a cgroup, with 64 MiB and room for the folders on top";

/// The outcome of a run, and sentences about what the machine did not give it.
pub(crate) struct FinishedRun {
    pub(crate) outcome: RunOutcome,
    pub(crate) notes: Vec<String>,
}

/// Runs jobs, and holds what all runs of a sandbox share.
#[derive(Debug)]
pub(crate) struct RunSupervisor {
    helpers: Arc<HelperPool>,
    maintenance: MaintenanceThread,
}

impl RunSupervisor {
    pub(crate) fn new(helpers: HelperPool) -> Self {
        let helpers = Arc::new(helpers);
        let maintenance = MaintenanceThread::new(Arc::clone(&helpers));
        Self { helpers, maintenance }
    }

    /// Starts the helper of the next run in the background.
    pub(crate) fn prestart_helper(&self, tier: IsolationTier) {
        self.maintenance.start_helper(tier);
    }

    /// Waits until nothing of earlier runs is left.
    pub(crate) fn wait_for_cleanup(&self) {
        self.maintenance.wait_until_done();
    }

    /// How limits on all processes of a run together are enforced.
    pub(crate) fn aggregate_enforcement(&self) -> AggregateEnforcement {
        self.helpers.cgroups().enforcement()
    }

    /// What holds the limits of a run, as far as that is known before one.
    pub(crate) fn limit_holders(&self, tier: IsolationTier) -> LimitHolders {
        limit_holders(&self.aggregate_enforcement(), tier)
    }

    /// Runs a job in a tier, from start to end.
    pub(crate) fn run(
        &self,
        job: &ScriptJob,
        tier: IsolationTier,
        cancel: &CancelHandle,
        observer: &mut dyn RunObserver,
    ) -> Result<FinishedRun, RunFailure> {
        // Without a list of children nothing adds up what a run uses, so it must not begin.
        if let Err(why) = process_tree::check() {
            return Err(RunFailure::Isolation {
                what: "a list of a process's children in `/proc`",
                why,
                hint: "Mount `/proc` for this process namespace, and use a kernel with `CONFIG_PROC_CHILDREN`.",
            });
        }
        let started = Instant::now();
        let mut helper = self.helpers.take(tier)?;
        // The helper is put into its cgroup before it gets its job. It starts no process until
        // then, so no process of the run can ever be outside of the cgroup, where its limits would
        // not hold.
        let (mut cgroup, enforcement) = helper.cgroups().create(job, helper.pid());
        let entry = cgroup.as_mut().and_then(RunCgroup::take_entry);
        let memory_is_held = cgroup.as_ref().is_some_and(RunCgroup::holds_memory);
        let (script_ends, streams) = ScriptStreams::new(job, observer.wants_output())?;
        let control =
            helper.control.take().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        // A helper that failed may close the socket before it has read the job. It reported why,
        // and that report is read below, so an error here is only used where there is none.
        let send_error =
            send_job(&control, job, entry.as_ref(), memory_is_held, &script_ends).err();
        // Otherwise the supervisor itself would keep the script's streams open, and never see their
        // end.
        drop(script_ends);
        if self.helpers.keeps_standby() {
            self.maintenance.replace_taken_helper(tier);
        }
        let meter = RunMeter::new(helper.pid(), tier, memory_is_held);
        let mut run = ActiveRun::new(meter, control, streams, job, started, cgroup)?;
        let supervised = run.supervise(cancel, observer, helper.scratch());
        // Also after a failure: closing the control socket makes the helper end every process.
        run.hang_up(helper, &self.maintenance);
        run.pass_on_output(observer);
        supervised?;
        run.finish(tier, enforcement, send_error)
    }
}

/// What holds the limits of a run, given what holds those on all of its processes together.
fn limit_holders(enforcement: &AggregateEnforcement, tier: IsolationTier) -> LimitHolders {
    let by_cgroup = |controller: &str, by: &str| match enforcement {
        AggregateEnforcement::Cgroup { controllers }
            if controllers.iter().any(|name| name == controller) =>
        {
            Some(LimitEnforcement::kernel(by))
        }
        _ => None,
    };
    // The kernel counts the processes of a user: in a user namespace, or where the user is one that
    // only this run has, those are the script's.
    let user_is_own = tier == IsolationTier::Full || rustix::process::geteuid().is_root();
    let by_user = user_is_own.then(|| LimitEnforcement::kernel("RLIMIT_NPROC"));
    LimitHolders {
        memory: by_cgroup("memory", MEMORY_CGROUP).unwrap_or(LimitEnforcement::Counted),
        processes: by_user
            .or_else(|| by_cgroup("pids", "cgroup"))
            .unwrap_or(LimitEnforcement::Counted),
        folders: match tier {
            IsolationTier::Full => LimitEnforcement::kernel("tmpfs"),
            IsolationTier::Restricted => LimitEnforcement::Counted,
        },
    }
}

fn job_spec(job: &ScriptJob, memory_is_held: bool) -> JobSpec {
    let script = job.script.as_str().to_owned();
    let is_node = matches!(
        &job.interpreter,
        ScriptInterpreter::Program { language: ScriptLanguage::Node, .. }
    );
    JobSpec {
        files: job
            .files
            .iter()
            .map(|file| FileSpec { path: file.path.as_str().to_owned(), size: file.bytes.len() })
            .collect(),
        inputs: job
            .inputs
            .iter()
            .map(|input| InputSpec {
                path: input.path.as_str().to_owned(),
                size: input.bytes.len(),
                writable: input.writable,
            })
            .collect(),
        packages: job
            .packages
            .iter()
            .map(|packages| (packages.at.as_str().to_owned(), packages.folder.clone()))
            .collect(),
        roots: job.readable_roots(),
        program: match &job.interpreter {
            ScriptInterpreter::Static => ScriptProgram::Static(script),
            ScriptInterpreter::Program { program, options, .. } => ScriptProgram::Interpreter {
                path: program.clone(),
                options: options.clone(),
                script,
            },
        },
        words: job.arguments.words().to_vec(),
        environment: job.environment.clone().into_iter().collect(),
        network: !job.destinations.is_empty(),
        limits: job.limits_with_inputs(),
        memory_is_held,
        limit_address_space: !is_node,
    }
}

fn send_job(
    control: &UnixStream,
    job: &ScriptJob,
    cgroup_entry: Option<&File>,
    memory_is_held: bool,
    [stdin, stdout, stderr]: &[OwnedFd; 3],
) -> io::Result<()> {
    control.set_write_timeout(Some(HELPER_TIMEOUT))?;
    let mut descriptors = vec![stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    descriptors.extend(cgroup_entry.map(|entry| entry.as_fd()));
    send(control, &job_spec(job, memory_is_held), &descriptors)?;
    let mut control = control;
    let files = job.files.iter().map(|file| &file.bytes);
    let inputs = job.inputs.iter().map(|input| &input.bytes);
    files.chain(inputs).try_for_each(|bytes| control.write_all(bytes))
}

fn timespec(duration: Duration) -> Timespec {
    // A limit of centuries does not fit, and is as good as none.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 })
}
