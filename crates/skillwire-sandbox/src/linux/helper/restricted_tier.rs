//! Restricted isolation: confined processes in the namespaces of the caller.
//!
//! Other processes and files of the user are all around them. Landlock decides what they may open and
//! signal, and the filter what they may call. They cannot leave their session and process group, by
//! which all of them are ended.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{fs::DirBuilderExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::process::{DumpableBehavior, Pid, WaitOptions, WaitStatus};

use skillwire_syscalls::{CompiledFilter, FilterProfile, MemoryHold, ProcessRule};

use super::{
    super::{
        folder_removal,
        helper_protocol::{AtStep as _, HelperReport, IsolationStep, StepFailure, send},
    },
    ReceivedJob, landlock, mounts, output_collector, privileges,
    process::{die_with_parent, exit, fork, own_pidfd, wait_or_hang_up},
    report_failure, rlimits,
    script_exec::{PreparedScript, ScriptPaths},
    visible_paths,
};

/// What a script of this tier can find out in any case, as paths are not hidden.
const VISIBLE_NAMES: &str = "Restricted isolation hides no names: a script can tell which files and \
                             processes exist, but not what is in them.";

const ONE_PROCESS: &str = "Scripts cannot start other programs: this kernel cannot confine their \
                           signals to each other (Linux 6.12 can).";

/// The folders of a run, removed when this is dropped. The supervisor removes what a killed helper
/// leaves, and the next run what both leave.
pub(super) struct RunFolders {
    all: PathBuf,
    skill: PathBuf,
    output: PathBuf,
    temporary: PathBuf,
    /// Processes and threads that the user has besides the script's.
    other_tasks: u64,
    /// Tells other runs that the folder is in use.
    _lock: OwnedFd,
}

impl RunFolders {
    pub(super) fn create(folder: &Path, user_is_own: bool) -> io::Result<Self> {
        // Fails if the folder exists. `/tmp` is writable for every user: in a folder that another
        // user prepared, they could exchange the skill's files after they were verified.
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700);
        builder.create(folder)?;
        let folders = Self {
            all: folder.to_owned(),
            skill: folder.join("skill"),
            output: folder.join("output"),
            temporary: folder.join("tmp"),
            other_tasks: rlimits::others_of_user(user_is_own).ok_or(io::ErrorKind::Unsupported)?,
            _lock: folder_removal::lock(folder)?,
        };
        builder.create(&folders.output)?;
        builder.create(&folders.temporary)?;
        Ok(folders)
    }
}

impl Drop for RunFolders {
    fn drop(&mut self) {
        folder_removal::remove(&self.all);
    }
}

/// Copies the skill, starts the script, and waits until all of its processes are gone.
pub(super) fn run(
    job: &ReceivedJob,
    filter: &CompiledFilter,
    folders: &RunFolders,
    control: &UnixStream,
) -> Result<(), StepFailure> {
    let RunFolders { skill, output, temporary, .. } = folders;
    mounts::write_skill(job, skill).at(IsolationStep::Scratch)?;
    mounts::write_inputs(job, output).at(IsolationStep::Scratch)?;
    let paths = ScriptPaths { skill, output, temporary, proxy_port: None };
    let helper = own_pidfd().at(IsolationStep::Fork)?;
    // Processes of the script that lose their parent become children of this one, which waits for
    // them.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .at(IsolationStep::Wait)?;
    let Some(script) = fork().at(IsolationStep::Fork)? else {
        // The script is prepared first: the filter and the limits may not leave enough for that.
        let script = PreparedScript::new(&job.spec, &paths).at(IsolationStep::Exec);
        let confined = script.and_then(|script| {
            confine(job, filter, control, folders, &paths, &helper).map(|()| script)
        });
        let failure = confined.map_or_else(|failure| failure, |script| script.execute());
        report_failure(control, failure);
        exit(Err(failure))
    };
    // This process has the script's user id. Landlock keeps the script from tracing it; this stands
    // behind that.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(IsolationStep::Wait)?;
    let status = wait_or_hang_up(script, control, &reap_orphans)?;
    end_group(script).at(IsolationStep::Wait)?;
    let Some(status) = status else { return Ok(()) };
    output_collector::report_end(control, output, job, status, &[]).at(IsolationStep::Wait)
}

/// Waits for processes that have ended and are not the script itself.
fn reap_orphans(script: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((pid, ended))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == script {
            status = Some(ended);
        }
    }
    status
}

/// Kills what the script left running, and waits until it is gone.
///
/// A process that forks while its group is killed has no child afterwards: the kernel does not finish
/// a fork of a process that has a signal waiting.
fn end_group(group: Pid) -> io::Result<()> {
    loop {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Puts all layers in place, in the process that becomes the script. The module documentation of
/// `helper` says why in this order.
fn confine(
    job: &ReceivedJob,
    filter: &CompiledFilter,
    control: &UnixStream,
    folders: &RunFolders,
    paths: &ScriptPaths<'_>,
    helper: &OwnedFd,
) -> Result<(), StepFailure> {
    let spec = &job.spec;
    // The kernel kills the script when the helper dies. The filter below keeps the script from
    // undoing this: without a process namespace nothing else would end it.
    die_with_parent(helper).at(IsolationStep::Fork)?;
    // A group without the helper, so that the whole group can be killed at once.
    rustix::process::setpgid(None, None).at(IsolationStep::Descriptors)?;
    privileges::drop_capabilities().at(IsolationStep::Capabilities)?;
    landlock::confine(&path_rules(&spec.roots, paths, spec.memory_is_held))
        .at(IsolationStep::Landlock)?;
    let mut notes = vec![VISIBLE_NAMES.to_owned()];
    let processes = if landlock::confines_signals() {
        ProcessRule::Several
    } else {
        notes.push(ONE_PROCESS.to_owned());
        ProcessRule::One { pid: rustix::process::getpid().as_raw_nonzero().get().unsigned_abs() }
    };
    let memory = MemoryHold::new(spec.memory_is_held);
    filter
        .apply_for(FilterProfile::SharedNamespaces { processes, memory })
        .at(IsolationStep::Seccomp)?;
    // After the filter, which needs memory to be built: this process may already hold more than a
    // script may. The filter lets a process lower its own limits.
    rlimits::set(&spec.limits, folders.other_tasks, spec.limit_address_space)
        .at(IsolationStep::Limits)?;
    send(control, &HelperReport::Started { notes }, &[]).at(IsolationStep::Exec)
}

fn path_rules(
    roots: &[PathBuf],
    paths: &ScriptPaths<'_>,
    memory_is_held: bool,
) -> landlock::PathRules {
    let mut execute = visible_paths::real_system_directories();
    execute.extend(roots.iter().cloned());
    // Scripts call each other. All of them are content that was approved, and read-only.
    execute.push(paths.skill.to_owned());
    let read = visible_paths::CONFIGURATION.iter().map(PathBuf::from).collect();
    let devices = visible_paths::DEVICES.iter();
    // A mapping of this device is shared memory, which only a cgroup counts.
    let zero = memory_is_held.then_some(&visible_paths::ZERO_DEVICE);
    landlock::PathRules {
        execute,
        read,
        write: vec![paths.output.to_owned(), paths.temporary.to_owned()],
        devices: devices.chain(zero).map(PathBuf::from).collect(),
        port: None,
    }
}
