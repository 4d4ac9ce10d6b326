//! The process that confines itself, starts a script, and waits for it.
//!
//! It has one thread and never runs code of the caller. Everything in this module runs in the fork
//! server or in copies of it, so nothing here logs or reads the environment.
//!
//! # The order of the layers
//!
//! Each layer takes away what the steps before it needed, so their order is fixed:
//!
//! 1. Descriptors and signals of the caller go first, in the fork server, before it makes any copy.
//! 2. A session and a user id of the run's own, while there is still root to change it.
//! 3. Namespaces, and mounts in them (full tier). They need capabilities in the new user namespace.
//! 4. Capabilities go, and `no_new_privs` is set. Landlock and seccomp need the latter, and `capset` is
//!    one of the calls that the filter forbids.
//! 5. Landlock. Its own system calls are forbidden by the filter, too.
//! 6. The system call filter.
//! 7. Limits, in the script's own process, because this one may already use more than a script may.
//! 8. The script is executed. Every descriptor but the standard streams is closed by that.
//!
//! A step that fails ends the run. No layer is optional within a tier.

mod fork_server;
mod full_tier;
mod landlock;
mod mounts;
mod output_collector;
pub(super) mod privileges;
mod process;
mod restricted_tier;
mod rlimits;
mod script_exec;
mod visible_paths;

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
    process::ExitCode,
};

use skillwire_syscalls::{CompiledFilter, FilterProfile, MemoryHold, ProcessRule};

use self::restricted_tier::RunFolders;
use super::helper_protocol::{
    AtStep as _, HelperReport, HelperRequest, IsolationStep, JobSpec, StepFailure, receive, send,
};
use crate::isolation::IsolationTier;

/// A job with the contents of its files.
struct ReceivedJob {
    spec: JobSpec,
    /// The contents of the skill's files, in the order of the spec.
    contents: Vec<Vec<u8>>,
    /// The contents of the inputs, in the order of the spec.
    inputs: Vec<Vec<u8>>,
}

/// Runs the fork server, which gets its requests over standard input.
pub(crate) fn run() -> ExitCode {
    match process::take_requests().and_then(fork_server::serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prepares a tier, does one job that arrives over the control socket, and exits.
fn serve_job(request: &HelperRequest, filter: &CompiledFilter, control: &UnixStream) -> ! {
    let result = prepare_and_run(request, filter, control);
    if let Err(failure) = result {
        report_failure(control, failure);
    }
    process::exit(result)
}

/// The filter that most jobs of a request need.
fn usual_profile(request: &HelperRequest) -> FilterProfile {
    let memory = MemoryHold::new(request.memory_is_held);
    match request.tier {
        IsolationTier::Full => FilterProfile::OwnNamespaces { tcp: false, memory },
        IsolationTier::Restricted => {
            FilterProfile::SharedNamespaces { processes: ProcessRule::Several, memory }
        }
    }
}

fn report_failure(control: &UnixStream, StepFailure { step, errno }: StepFailure) {
    // A supervisor that is gone needs no report.
    let _ = send(control, &HelperReport::StepFailed { step, errno }, &[]);
}

/// Does everything that is the same for every job of the tier, waits for a job, and runs it.
fn prepare_and_run(
    request: &HelperRequest,
    filter: &CompiledFilter,
    control: &UnixStream,
) -> Result<(), StepFailure> {
    // A session of its own has no terminal. Otherwise a script could push characters into the
    // user's terminal as if they were typed, or signal the caller through their common process
    // group.
    rustix::process::setsid().at(IsolationStep::Descriptors)?;
    // Whatever a run writes to a shared file system, such as credentials, is for its own user only.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // Before the namespaces: a user namespace that root makes maps to root outside, so that one
    // escape would be enough to own the machine.
    let user_is_own = rustix::process::geteuid().is_root();
    if user_is_own {
        privileges::drop_root().at(IsolationStep::DropRoot)?;
    }
    match request.tier {
        IsolationTier::Full => {
            full_tier::prepare()?;
            match next_job(control)? {
                Some(job) => full_tier::run(&job, filter, control),
                None => Ok(()),
            }
        }
        IsolationTier::Restricted => {
            let folders =
                RunFolders::create(&request.scratch, user_is_own).at(IsolationStep::Scratch)?;
            match next_job(control)? {
                Some(job) => restricted_tier::run(&job, filter, &folders, control),
                None => Ok(()),
            }
        }
    }
}

/// Reports that everything is ready and waits for a job. `None` where the supervisor hung up
/// instead.
fn next_job(control: &UnixStream) -> Result<Option<ReceivedJob>, StepFailure> {
    send(control, &HelperReport::Ready, &[]).at(IsolationStep::Descriptors)?;
    receive_job(control).at(IsolationStep::Descriptors)
}

fn receive_job(control: &UnixStream) -> io::Result<Option<ReceivedJob>> {
    let (spec, streams): (JobSpec, _) = match receive(control) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        received => received?,
    };
    let [stdin, stdout, stderr, cgroup_entry @ ..] = streams.as_slice() else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // First of all, so that everything that the run takes counts for its cgroup. A run that cannot
    // enter it does not begin: its limits would not hold.
    if let [entry] = cgroup_entry {
        rustix::io::write(entry, b"0")?;
    }
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)?;
    let mut socket = control;
    let mut content = |size: usize| {
        let mut bytes = vec![0; size];
        socket.read_exact(&mut bytes).map(|()| bytes)
    };
    let contents = spec.files.iter().map(|file| content(file.size)).collect::<Result<_, _>>()?;
    let inputs = spec.inputs.iter().map(|input| content(input.size)).collect::<Result<_, _>>()?;
    Ok(Some(ReceivedJob { spec, contents, inputs }))
}
