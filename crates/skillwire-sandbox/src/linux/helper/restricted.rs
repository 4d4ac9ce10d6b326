//! Restricted isolation: one process among everybody else's, which may open and call little.

use std::{
    fs, io,
    os::unix::{fs::DirBuilderExt as _, net::UnixStream, process::CommandExt as _},
    path::{Path, PathBuf},
};

use rustix::process::{DumpableBehavior, Signal};

use super::{
    super::{
        protocol::{At as _, Broken, Program, Report, Step, send},
        scratch,
    },
    Work, capabilities, collect,
    filter::{Around, Filter},
    fork, landlock, mounts,
    payload::{self, Places},
    rlimits, tell_broken, view, watch,
};
use crate::isolation::Tier;

/// Copies the skill, starts the script, and waits until it is gone. The supervisor removes the copy.
pub(super) fn run(work: &Work, control: &UnixStream) -> Result<(), Broken> {
    let folder = &work.spec.scratch;
    let (skill, output, temporary) =
        (folder.join("skill"), folder.join("output"), folder.join("tmp"));
    prepare(work, folder, &skill, [&output, &temporary]).at(Step::Scratch)?;
    let places = Places { skill: &skill, output: &output, temporary: &temporary, proxy: None };
    let Some(script) = fork().at(Step::Fork)? else {
        let confined = confine(work, control, &places);
        let broken = confined.err().unwrap_or_else(|| {
            let errno = payload::script(&work.spec, &places).exec().raw_os_error().unwrap_or(0);
            Broken { step: Step::Exec, errno }
        });
        tell_broken(control, broken);
        // SAFETY: ends the process without running what the parent has set up for its exit.
        unsafe { libc::_exit(127) }
    };
    // A process of the same user could otherwise look into this one.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Wait)?;
    let Some(status) = watch(script, control)? else {
        // The supervisor may be gone for good, and nobody else knows the folder.
        scratch::remove(folder);
        return Ok(());
    };
    let end = (status.exit_status(), status.terminating_signal());
    collect::tell_end(control, &output, &work.spec.limits, end).at(Step::Wait)
}

fn prepare(work: &Work, folder: &Path, skill: &Path, writable: [&Path; 2]) -> io::Result<()> {
    // The name must be new: what somebody else prepared is never used.
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder.create(folder)?;
    writable.into_iter().try_for_each(|path| builder.create(path))?;
    mounts::write_skill(work, skill)
}

fn confine(work: &Work, control: &UnixStream, places: &Places<'_>) -> Result<(), Broken> {
    let spec = &work.spec;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Step::Fork)?;
    rlimits::set(&spec.limits, Tier::Restricted, spec.bound_addresses).at(Step::Limits)?;
    capabilities::drop_all().at(Step::Capabilities)?;
    landlock::confine(&allowed(&spec.program, places)).at(Step::Landlock)?;
    let pid = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let filter = Filter::new(Around::Everybody { pid });
    filter.and_then(|filter| filter.apply()).at(Step::Seccomp)?;
    send(control, &Report::Started { notes: Vec::new() }, &[]).at(Step::Exec)
}

fn allowed(program: &Program, places: &Places<'_>) -> landlock::Allowed {
    let mut execute = view::system();
    match program {
        Program::Interpreter { root, .. } => execute.extend(root.clone()),
        Program::Script(script) => execute.push(places.skill.join(script)),
    }
    let mut read: Vec<PathBuf> = view::CONFIGURATION.iter().map(PathBuf::from).collect();
    read.push(places.skill.to_owned());
    landlock::Allowed {
        execute,
        read,
        write: vec![places.output.to_owned(), places.temporary.to_owned()],
        devices: view::DEVICES.map(PathBuf::from).to_vec(),
        port: None,
    }
}
