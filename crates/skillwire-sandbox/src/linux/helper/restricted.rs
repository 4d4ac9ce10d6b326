//! Restricted isolation: one process among everybody else's, which may open and call little.

use std::{
    fs, io,
    os::unix::{fs::DirBuilderExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

use rustix::process::{DumpableBehavior, Signal};

use super::{
    super::{
        protocol::{At as _, Broken, Program, Report, Step, send},
        scratch,
    },
    Work, capabilities, collect, end,
    filter::{Around, Filter},
    fork, landlock, mounts,
    payload::{Places, Script},
    rlimits, tell_broken, view, watch,
};
use crate::isolation::Tier;

/// The folders of a run, removed when this is dropped. The supervisor removes what a helper that was
/// killed leaves.
pub(super) struct Folders {
    all: PathBuf,
    skill: PathBuf,
    output: PathBuf,
    temporary: PathBuf,
}

impl Folders {
    pub(super) fn make(folder: &Path) -> io::Result<Self> {
        // The name must be new: what somebody else prepared is never used.
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

impl Drop for Folders {
    fn drop(&mut self) {
        scratch::remove(&self.all);
    }
}

/// Copies the skill, starts the script, and waits until it is gone.
pub(super) fn run(work: &Work, folders: &Folders, control: &UnixStream) -> Result<(), Broken> {
    let Folders { skill, output, temporary, .. } = folders;
    mounts::write_skill(work, skill).at(Step::Scratch)?;
    let places = Places { skill, output, temporary, proxy: None };
    let Some(script) = fork().at(Step::Fork)? else {
        let script = Script::new(&work.spec, &places).at(Step::Exec);
        let confined = script.and_then(|script| confine(work, control, &places).map(|()| script));
        let broken = confined.map_or_else(|broken| broken, |script| script.execute());
        tell_broken(control, broken);
        end(Err(broken))
    };
    // A process of the same user could otherwise look into this one.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Wait)?;
    let Some(status) = watch(script, control)? else { return Ok(()) };
    let ended = (status.exit_status(), status.terminating_signal());
    collect::tell_end(control, output, &work.spec.limits, ended).at(Step::Wait)
}

fn confine(work: &Work, control: &UnixStream, places: &Places<'_>) -> Result<(), Broken> {
    let spec = &work.spec;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Step::Fork)?;
    capabilities::drop_all().at(Step::Capabilities)?;
    landlock::confine(&allowed(&spec.program, places)).at(Step::Landlock)?;
    let pid = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let filter = Filter::new(Around::Everybody { pid });
    filter.and_then(|filter| filter.apply()).at(Step::Seccomp)?;
    // Last, since what this process itself holds may already be more than a script may.
    rlimits::set(&spec.limits, Tier::Restricted, spec.bound_addresses).at(Step::Limits)?;
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
