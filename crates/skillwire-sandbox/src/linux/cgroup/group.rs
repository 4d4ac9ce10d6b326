//! The group of one run: made before its processes, gone after them.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::delegated::Delegated;
use crate::job::Job;

/// The names of groups begin so; the id of the process that made them follows.
const RUN: &str = "skillwire-run-";

/// What a run's own processes need besides the script: the helper, and memory of the kernel's.
const OVERHEAD: u64 = 64 * 1024 * 1024;

/// The helper and the first process of the namespace.
const OTHER_PROCESSES: u64 = 2;

/// The part of all processors that one run may take, in hundredths, so that others go on.
const MOST_OF_PROCESSORS: u64 = 75;

/// How long processes that were killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// A group with bounds. Whatever is in it when this is dropped is killed.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
    controllers: Vec<&'static str>,
}

impl Group {
    /// Makes a group for a job.
    pub(super) fn new(delegated: &Delegated, job: &Job) -> io::Result<Self> {
        let group = Self::empty(delegated)?;
        for (file, value) in bounds(&group.controllers, job) {
            fs::write(group.path.join(file), value)?;
        }
        for (file, value) in [("memory.swap.max", "0"), ("memory.oom.group", "1")] {
            if group.controllers.contains(&"memory") {
                // A kernel without swap or an old one lacks them; the bound itself holds without.
                let _ = fs::write(group.path.join(file), value);
            }
        }
        Ok(group)
    }

    fn empty(delegated: &Delegated) -> io::Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self::numbered(delegated, &MADE)
    }

    fn numbered(delegated: &Delegated, made: &AtomicU64) -> io::Result<Self> {
        loop {
            let number = made.fetch_add(1, Ordering::Relaxed);
            let path = delegated.base.join(format!("{RUN}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // A process that was killed had the same id, as the first of a container has.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Self { path, controllers: delegated.controllers.clone() }),
            }
        }
    }

    /// Puts a process into it, and with it whatever that will start.
    pub(super) fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// The processor time of all that ever was in it.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        let micros = number(&self.path.join("cpu.stat"), "usage_usec")?;
        Some(Duration::from_micros(micros))
    }

    /// Whether the kernel ended something because there was too little memory in it.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        number(&self.path.join("memory.events"), "oom_kill").is_some_and(|count| count > 0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Makes a group and removes it.
pub(super) fn try_making(delegated: &Delegated) -> io::Result<()> {
    Group::empty(delegated).map(drop)
}

/// The bounds of a job's group. Its folders lie in memory, and the skill with them.
fn bounds(controllers: &[&str], job: &Job) -> Vec<(&'static str, String)> {
    let limits = job.limits();
    let skill: usize = job.files.iter().map(|file| file.bytes.len().next_multiple_of(4096)).sum();
    let folders = limits.scratch.saturating_mul(2).saturating_add(skill as u64);
    let memory = limits.memory.saturating_add(folders).saturating_add(OVERHEAD);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let all = [
        ("memory", "memory.max", memory.to_string()),
        ("pids", "pids.max", limits.processes.saturating_add(OTHER_PROCESSES).to_string()),
        ("cpu", "cpu.max", format!("{} 100000", processors * MOST_OF_PROCESSORS * 1000)),
    ];
    let given = all.into_iter().filter(|(controller, ..)| controllers.contains(controller));
    given.map(|(_, file, value)| (file, value)).collect()
}

/// A number from a file of lines with a name and a number each.
fn number(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name)?.1.parse().ok()
}

/// Kills what is in a group and removes it.
fn remove(path: &Path) {
    // Most often nothing is left to be killed.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    let _ = fs::write(path.join("cgroup.kill"), "1");
    let deadline = Instant::now() + PATIENCE;
    let Ok(mut events) = File::open(path.join("cgroup.events")) else { return };
    loop {
        // Reading it makes the next change known.
        let _ = events.read_to_end(&mut Vec::new());
        let left = deadline.saturating_duration_since(Instant::now());
        if fs::remove_dir(path).is_ok() || left.is_zero() {
            return;
        }
        let Ok(wait) = Timespec::try_from(left) else { return };
        let mut changed = [PollFd::new(&events, PollFlags::PRI)];
        let waited = poll(&mut changed, Some(&wait));
        // A signal is no reason to leave the group behind.
        if waited.is_err_and(|error| error != Errno::INTR) || events.rewind().is_err() {
            return;
        }
    }
}

/// Removes the groups that were made by processes which are gone.
pub(super) fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(RUN)?.split_once('-'));
        let maker = maker.and_then(|(pid, _)| pid.parse::<u32>().ok());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use bytes::Bytes;
    use skillwire_core::path::RelPath;

    use super::{
        super::{Groups, delegated::Own},
        *,
    };
    use crate::{
        arguments::Arguments,
        interpreter::Interpreters,
        job::JobFile,
        outcome::Together,
        test_skip::{TestNeed, skip},
    };

    fn job() -> Job {
        let script = RelPath::parse("run.sh").unwrap();
        let file = JobFile { path: script.clone(), bytes: Bytes::from_static(b"exit") };
        let arguments = Arguments::typed(Vec::new(), Vec::new()).unwrap();
        Job::new(vec![file], script, arguments, &Interpreters::default()).unwrap()
    }

    #[test]
    fn what_is_written_bounds_all_processes_of_a_job_together() {
        let base = tempfile::tempdir().unwrap();
        let controllers = vec!["memory", "pids", "cpu"];
        let delegated = Delegated { base: base.path().to_owned(), controllers };
        let group = Group::new(&delegated, &job()).unwrap();
        let read = |name: &str| fs::read_to_string(group.path.join(name)).unwrap();
        let limits = job().limits().clone();
        assert_eq!(read("pids.max"), (limits.processes + 2).to_string());
        let memory: u64 = read("memory.max").parse().unwrap();
        assert_eq!(memory, limits.memory + 2 * limits.scratch + 4096 + OVERHEAD);
        assert_eq!((read("memory.swap.max"), read("memory.oom.group")), ("0".into(), "1".into()));
        let cpu = read("cpu.max");
        let (quota, period) = cpu.split_once(' ').unwrap();
        let processors = std::thread::available_parallelism().unwrap().get();
        let (quota, period): (usize, usize) = (quota.parse().unwrap(), period.parse().unwrap());
        assert!(quota < processors * period && quota * 2 > processors * period, "{cpu}");
    }

    #[test]
    fn without_a_controller_its_bound_is_not_written() {
        assert_eq!(bounds(&["pids"], &job()), [("pids.max", "34".to_owned())]);
    }

    #[test]
    fn an_end_for_lack_of_memory_and_used_time_are_read() {
        let base = tempfile::tempdir().unwrap();
        let delegated = Delegated { base: base.path().to_owned(), controllers: vec!["memory"] };
        let group = Group::new(&delegated, &job()).unwrap();
        assert!(!group.ran_out_of_memory());
        assert_eq!(group.cpu(), None);
        let write = |name: &str, text: &str| fs::write(group.path.join(name), text).unwrap();
        write("memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n");
        assert!(!group.ran_out_of_memory());
        write("memory.events", "low 0\noom 1\noom_kill 3\noom_group_kill 1\n");
        assert!(group.ran_out_of_memory());
        write("cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
        assert_eq!(group.cpu(), Some(Duration::from_micros(1500)));
    }

    #[test]
    fn groups_that_a_killed_process_of_the_same_id_left_are_passed_over() {
        let base = tempfile::tempdir().unwrap();
        let delegated = Delegated { base: base.path().to_owned(), controllers: Vec::new() };
        let path = |number: u64| base.path().join(format!("{RUN}{}-{number}", std::process::id()));
        fs::create_dir(path(0)).unwrap();
        fs::create_dir(path(1)).unwrap();
        let made = AtomicU64::new(0);
        let groups = [(); 2].map(|()| Group::numbered(&delegated, &made).unwrap());
        assert_eq!(groups.each_ref().map(|group| group.path.clone()), [path(2), path(3)]);
        drop(groups);
        assert!(path(0).exists() && !path(2).exists(), "only what was made is removed");
        let gone = Delegated { base: path(9), ..delegated };
        assert_eq!(Group::numbered(&gone, &made).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// The group of this process, without bounds. Reports a skip where no group can be made in it.
    fn real() -> Option<Delegated> {
        let Some(own) = Own::here() else {
            skip(TestNeed::Cgroups, "this process is in no version 2 cgroup");
            return None;
        };
        let delegated = Delegated { base: own.path, controllers: Vec::new() };
        match try_making(&delegated) {
            Ok(()) => Some(delegated),
            Err(error) => {
                use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
                let kind = error.kind();
                let refused = matches!(kind, NotFound | PermissionDenied | ReadOnlyFilesystem);
                assert!(refused, "{error}");
                let why =
                    format!("no cgroup can be made in `{}`: {error}", delegated.base.display());
                skip(TestNeed::Cgroups, &why);
                None
            }
        }
    }

    /// A process that waits until it is ended.
    fn waiting() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn was_killed(mut child: Child) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        child.wait().unwrap().signal() == Some(libc::SIGKILL)
    }

    #[test]
    fn in_a_real_group_processes_are_held_and_end_with_it() {
        let Some(delegated) = real() else { return };
        let (group, child) = (Group::empty(&delegated).unwrap(), waiting());
        group.add(child.id()).unwrap();
        let held = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
        assert_eq!(held.trim(), child.id().to_string());
        assert!(group.cpu().is_some());
        let path = group.path.clone();
        drop(group);
        assert!(was_killed(child));
        assert!(!path.exists());
    }

    #[test]
    fn a_run_that_cannot_be_put_into_a_real_group_is_counted_and_leaves_none() {
        let Some(delegated) = real() else { return };
        // A group of the test's own, so that those of others are not taken for left ones.
        let base = Group::empty(&delegated).unwrap();
        let groups =
            Groups(Ok(Delegated { base: base.path.clone(), controllers: delegated.controllers }));
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let (group, together) = groups.make(&job(), gone.id());
        assert!(group.is_none());
        let Together::Counted { why } = together else { panic!("{together:?}") };
        assert!(why.starts_with("this run could not be put into its cgroup ("), "{why}");
        let inside = fs::read_dir(&base.path).unwrap().flatten();
        assert_eq!(inside.filter(|entry| entry.path().is_dir()).count(), 0);
    }

    #[test]
    fn real_groups_of_processes_that_are_gone_are_swept_and_others_are_not() {
        let Some(delegated) = real() else { return };
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = delegated.base.join(format!("{RUN}{}-0", gone.id()));
        fs::create_dir(&left).unwrap();
        let child = waiting();
        fs::write(left.join("cgroup.procs"), child.id().to_string()).unwrap();
        let ours = Group::empty(&delegated).unwrap();
        sweep(&delegated.base);
        assert!(was_killed(child));
        assert!(!left.exists() && ours.path.exists());
    }
}
