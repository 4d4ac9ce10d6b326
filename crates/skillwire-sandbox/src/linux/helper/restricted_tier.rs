//! Restricted isolation: one confined process in the namespaces of the caller.
//!
//! Other processes and files of the user are all around it. Landlock decides what it may open, and
//! the filter what it may call: among others it makes no second process and signals only itself.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{fs::DirBuilderExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::process::DumpableBehavior;

use super::{
    super::{
        helper_protocol::{AtStep as _, HelperReport, IsolationStep, StepFailure, send},
        scratch_folder,
    },
    ReceivedJob, landlock, mounts, output_collector, privileges,
    process::{die_with_parent, exit, fork, own_pidfd, wait_or_hang_up},
    report_failure, rlimits,
    script_exec::{PreparedScript, ScriptPaths},
    seccomp::{FilterProfile, SyscallFilter},
    visible_paths,
};
use crate::isolation::IsolationTier;

/// The folders of a run, removed when this is dropped. The supervisor removes what a killed helper
/// leaves.
pub(super) struct RunFolders {
    all: PathBuf,
    skill: PathBuf,
    output: PathBuf,
    temporary: PathBuf,
}

impl RunFolders {
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
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
        };
        builder.create(&folders.output)?;
        builder.create(&folders.temporary)?;
        Ok(folders)
    }
}

impl Drop for RunFolders {
    fn drop(&mut self) {
        scratch_folder::remove(&self.all);
    }
}

/// Copies the skill, starts the script, and waits until it is gone.
pub(super) fn run(
    job: &ReceivedJob,
    folders: &RunFolders,
    control: &UnixStream,
) -> Result<(), StepFailure> {
    let RunFolders { skill, output, temporary, .. } = folders;
    mounts::write_skill(job, skill).at(IsolationStep::Scratch)?;
    mounts::write_inputs(job, output).at(IsolationStep::Scratch)?;
    let paths = ScriptPaths { skill, output, temporary, proxy_port: None };
    let helper = own_pidfd().at(IsolationStep::Fork)?;
    let Some(script) = fork().at(IsolationStep::Fork)? else {
        // The script is prepared first: the filter and the limits may not leave enough for that.
        let script = PreparedScript::new(&job.spec, &paths).at(IsolationStep::Exec);
        let confined =
            script.and_then(|script| confine(job, control, &paths, &helper).map(|()| script));
        let failure = confined.map_or_else(|failure| failure, |script| script.execute());
        report_failure(control, failure);
        exit(Err(failure))
    };
    // This process has the script's user id. Landlock keeps the script from tracing it; this stands
    // behind that.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(IsolationStep::Wait)?;
    let Some(status) = wait_or_hang_up(script, control)? else { return Ok(()) };
    output_collector::report_end(control, output, job, status).at(IsolationStep::Wait)
}

/// Puts all layers in place, in the process that becomes the script. The module documentation of
/// `helper` says why in this order.
fn confine(
    job: &ReceivedJob,
    control: &UnixStream,
    paths: &ScriptPaths<'_>,
    helper: &OwnedFd,
) -> Result<(), StepFailure> {
    let spec = &job.spec;
    // The kernel kills the script when the helper dies. The filter below keeps the script from
    // undoing this: without a process namespace nothing else would end it.
    die_with_parent(helper).at(IsolationStep::Fork)?;
    privileges::drop_capabilities().at(IsolationStep::Capabilities)?;
    landlock::confine(&path_rules(&spec.roots, paths)).at(IsolationStep::Landlock)?;
    let pid = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let filter = SyscallFilter::new(FilterProfile::SharedNamespaces { pid });
    filter.and_then(|filter| filter.apply()).at(IsolationStep::Seccomp)?;
    // After the filter, which needs memory to be built: this process may already hold more than a
    // script may. The filter lets a process lower its own limits.
    rlimits::set(&spec.limits, IsolationTier::Restricted, spec.limit_address_space)
        .at(IsolationStep::Limits)?;
    send(control, &HelperReport::Started { notes: Vec::new() }, &[]).at(IsolationStep::Exec)
}

fn path_rules(roots: &[PathBuf], paths: &ScriptPaths<'_>) -> landlock::PathRules {
    let mut execute = visible_paths::real_system_directories();
    execute.extend(roots.iter().cloned());
    // Scripts call each other. All of them are content that was approved, and read-only.
    execute.push(paths.skill.to_owned());
    let mut read: Vec<PathBuf> = visible_paths::CONFIGURATION.iter().map(PathBuf::from).collect();
    read.push(paths.skill.to_owned());
    landlock::PathRules {
        execute,
        read,
        write: vec![paths.output.to_owned(), paths.temporary.to_owned()],
        devices: visible_paths::DEVICES.map(PathBuf::from).to_vec(),
        port: None,
    }
}
