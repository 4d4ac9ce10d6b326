//! The cgroup of one run: created before its processes, removed after them.

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
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use super::delegated_cgroup::{CgroupVersion, DelegatedCgroup};
use crate::job::ScriptJob;

/// The beginning of a run's cgroup name. The id of the process that created it follows, so that a
/// later process can tell which cgroups are abandoned.
const NAME_PREFIX: &str = "skillwire-run-";

/// Memory that a run needs besides the script's: the helper, and what the kernel itself allocates.
const OVERHEAD_BYTES: u64 = 64 * 1024 * 1024;

/// Processes of a run besides the script's: the helper and the first process of the namespace.
const OTHER_PROCESSES: u64 = 2;

/// The percentage of all processors that one run may take at a time, so that the rest of the
/// machine goes on.
const MAX_PROCESSOR_PERCENT: u64 = 75;

/// How long the helper of a killed supervisor may take to remove the run's folder before another
/// run's sweep kills it. Without this time the folder of a helper that is at work would be left.
const HELPER_GRACE: Duration = Duration::from_secs(1);

/// How long killed processes may take to be gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// A cgroup with the bounds of a run. Dropping it kills every process that is still in it.
#[derive(Debug)]
pub(crate) struct RunCgroup {
    path: PathBuf,
    controllers: Vec<&'static str>,
    version: CgroupVersion,
    /// The file by which a process enters the cgroup by itself.
    entry: Option<File>,
}

impl RunCgroup {
    /// Creates a cgroup with the bounds of a job. All bounds are written before a process is added.
    pub(super) fn new(delegated: &DelegatedCgroup, job: &ScriptJob) -> io::Result<Self> {
        let cgroup = Self::unbounded(delegated)?;
        for (file, value) in bounds(&cgroup.controllers, cgroup.version, job) {
            fs::write(cgroup.path.join(file), value)?;
        }
        if cgroup.holds_memory() {
            // Without swap a run cannot move its memory out of the bound, and when it is out of
            // memory the kernel kills the whole run rather than one process of it. A kernel without
            // swap, or an old one, lacks these files; the bound itself holds without them.
            let more = match cgroup.version {
                CgroupVersion::One => vec![
                    ("memory.memsw.limit_in_bytes", memory_bound(job).to_string()),
                    ("memory.swappiness", "0".to_owned()),
                ],
                CgroupVersion::Two => {
                    vec![("memory.swap.max", "0".to_owned()), ("memory.oom.group", "1".to_owned())]
                }
            };
            for (file, value) in more {
                let _ = fs::write(cgroup.path.join(file), value);
            }
        }
        Ok(cgroup)
    }

    fn unbounded(delegated: &DelegatedCgroup) -> io::Result<Self> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        Self::numbered(delegated, &NEXT_NUMBER)
    }

    fn numbered(delegated: &DelegatedCgroup, next_number: &AtomicU64) -> io::Result<Self> {
        loop {
            let number = next_number.fetch_add(1, Ordering::Relaxed);
            let path = delegated.base.join(format!("{NAME_PREFIX}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // A killed process with the same id left it, as happens with the first process of a
                // container, which always has id 1.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let controllers = delegated.controllers.clone();
                    return Ok(Self { path, controllers, version: delegated.version, entry: None });
                }
            }
        }
    }

    /// Puts a process into the cgroup, or opens the file by which it enters the cgroup by itself.
    ///
    /// To move another process, the kernel waits until no processor uses an older list, which takes
    /// longer than a whole run. A single thread that moves itself does not wait; only version 1 has a
    /// file for that.
    pub(super) fn admit(&mut self, pid: u32) -> io::Result<()> {
        match self.version {
            CgroupVersion::One => {
                let entry = fs::OpenOptions::new().write(true).open(self.path.join("tasks"))?;
                self.entry = Some(entry);
                Ok(())
            }
            CgroupVersion::Two => self.add(pid),
        }
    }

    /// The file to which the helper has to write before it does anything else.
    pub(crate) fn take_entry(&mut self) -> Option<File> {
        self.entry.take()
    }

    /// Puts a process into the cgroup, and with it every process that it will start.
    fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// The processor time of all processes that ever were in the cgroup.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let micros = read_number(&self.path.join("cpu.stat"), "usage_usec")?;
        Some(Duration::from_micros(micros))
    }

    /// Whether the cgroup bounds memory.
    pub(crate) fn holds_memory(&self) -> bool {
        self.controllers.contains(&"memory")
    }

    /// Whether the kernel killed a process because the cgroup was out of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let events = match self.version {
            CgroupVersion::One => "memory.oom_control",
            CgroupVersion::Two => "memory.events",
        };
        read_number(&self.path.join(events), "oom_kill").is_some_and(|count| count > 0)
    }

    /// The memory that the cgroup holds, with everything that the kernel allocated for it, and without
    /// what lies in file systems of the run, which may hold `in_folders` bytes.
    pub(crate) fn memory(&self, in_folders: u64) -> Option<u64> {
        if !self.holds_memory() {
            return None;
        }
        let stat = fs::read_to_string(self.path.join("memory.stat")).ok()?;
        let (private, shared, kernel) = match self.version {
            CgroupVersion::One => {
                let kernel = fs::read_to_string(self.path.join("memory.kmem.usage_in_bytes"));
                let kernel = kernel.ok().and_then(|kernel| kernel.trim().parse().ok());
                ("total_rss", "total_shmem", kernel)
            }
            CgroupVersion::Two => ("anon", "shmem", find_number(&stat, "kernel")),
        };
        let shared = find_number(&stat, shared)?.saturating_sub(in_folders);
        Some(find_number(&stat, private)? + shared + kernel.unwrap_or(0))
    }
}

impl Drop for RunCgroup {
    fn drop(&mut self) {
        kill_and_remove(&self.path);
    }
}

/// Creates a cgroup and removes it.
pub(super) fn try_creating(delegated: &DelegatedCgroup) -> io::Result<()> {
    RunCgroup::unbounded(delegated).map(drop)
}

/// The bounds of a job's cgroup: files and their contents.
fn bounds(
    controllers: &[&str],
    version: CgroupVersion,
    job: &ScriptJob,
) -> Vec<(&'static str, String)> {
    let limits = job.limits();
    let memory_file = match version {
        CgroupVersion::One => "memory.limit_in_bytes",
        CgroupVersion::Two => "memory.max",
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let all = [
        ("memory", memory_file, memory_bound(job).to_string()),
        ("pids", "pids.max", limits.processes.saturating_add(OTHER_PROCESSES).to_string()),
        ("cpu", "cpu.max", format!("{} 100000", processors * MAX_PROCESSOR_PERCENT * 1000)),
    ];
    let available = all.into_iter().filter(|(controller, ..)| controllers.contains(controller));
    available.map(|(_, file, value)| (file, value)).collect()
}

/// In the full tier the folders of a run and the skill itself lie in memory, which counts for the
/// cgroup.
fn memory_bound(job: &ScriptJob) -> u64 {
    let memory = job.limits().memory_bytes.saturating_add(OVERHEAD_BYTES);
    memory.saturating_add(bytes_in_folders(job))
}

/// The most bytes of memory that the folders of a run and the skill take.
pub(crate) fn bytes_in_folders(job: &ScriptJob) -> u64 {
    let skill: usize = job.files.iter().map(|file| file.bytes.len().next_multiple_of(4096)).sum();
    job.limits_with_inputs().folder_bytes.saturating_mul(2).saturating_add(skill as u64)
}

/// Reads a number from a file of lines with a name and a number each.
fn read_number(file: &Path, name: &str) -> Option<u64> {
    find_number(&fs::read_to_string(file).ok()?, name)
}

fn find_number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name)?.1.parse().ok()
}

/// Kills what is in a cgroup and removes it.
fn kill_and_remove(path: &Path) {
    // Usually every process has ended already.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    let deadline = Instant::now() + KILL_TIMEOUT;
    if fs::write(path.join("cgroup.kill"), "1").is_err() {
        kill_each_and_remove(path, deadline);
        return;
    }
    let Ok(mut events) = File::open(path.join("cgroup.events")) else { return };
    loop {
        // `poll` reports only changes after the last read, so the file is read before the cgroup is
        // looked at. The other way round a process that ends in between would not wake the poll.
        let _ = events.read_to_end(&mut Vec::new());
        let left = deadline.saturating_duration_since(Instant::now());
        if fs::remove_dir(path).is_ok() || left.is_zero() {
            return;
        }
        let Ok(timeout) = Timespec::try_from(left) else { return };
        let mut changed = [PollFd::new(&events, PollFlags::PRI)];
        let waited = poll(&mut changed, Some(&timeout));
        // A signal to this process is no reason to leave the cgroup behind.
        if waited.is_err_and(|error| error != Errno::INTR) || events.rewind().is_err() {
            return;
        }
    }
}

/// Kills what is in a cgroup of version 1, which cannot be killed or watched as a whole, and removes
/// it.
fn kill_each_and_remove(path: &Path, deadline: Instant) {
    while fs::remove_dir(path).is_err() && Instant::now() < deadline {
        let processes = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
        for pid in processes.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::yield_now();
    }
}

/// Removes the cgroups of processes that have ended without removing them.
pub(super) fn remove_abandoned(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let creator =
            name.to_str().and_then(|name| name.strip_prefix(NAME_PREFIX)?.split_once('-'));
        let creator = creator.and_then(|(pid, _)| pid.parse::<u32>().ok());
        if creator.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            wait_for_processes(&entry.path(), Instant::now() + HELPER_GRACE);
            kill_and_remove(&entry.path());
        }
    }
}

/// Waits until the processes that are in a cgroup now have ended by themselves.
fn wait_for_processes(path: &Path, deadline: Instant) {
    let processes = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    for pid in processes.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else { return };
        let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout));
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use bytes::Bytes;
    use skillwire_core::RelPath;

    use super::{
        super::{RunCgroups, delegated_cgroup::OwnCgroup},
        *,
    };
    use crate::{
        arguments::ScriptArguments,
        interpreter::InterpreterFinder,
        job::JobFile,
        outcome::AggregateEnforcement,
        test_skip::{TestNeed, skip},
    };

    fn job() -> ScriptJob {
        let script = RelPath::parse("run.sh").unwrap();
        let file = JobFile { path: script.clone(), bytes: Bytes::from_static(b"exit") };
        let arguments = ScriptArguments::from_words(Vec::new(), Vec::new()).unwrap();
        ScriptJob::new(vec![file], script, arguments, &InterpreterFinder::default()).unwrap()
    }

    #[test]
    fn what_is_written_bounds_all_processes_of_a_job_together() {
        let base = tempfile::tempdir().unwrap();
        let controllers = vec!["memory", "pids", "cpu"];
        let delegated = DelegatedCgroup {
            base: base.path().to_owned(),
            controllers,
            version: CgroupVersion::Two,
        };
        let cgroup = RunCgroup::new(&delegated, &job()).unwrap();
        let read = |name: &str| fs::read_to_string(cgroup.path.join(name)).unwrap();
        let limits = job().limits().clone();
        assert_eq!(read("pids.max"), (limits.processes + 2).to_string());
        let memory: u64 = read("memory.max").parse().unwrap();
        assert_eq!(memory, limits.memory_bytes + 2 * limits.folder_bytes + 4096 + OVERHEAD_BYTES);
        assert_eq!(read("memory.swap.max"), "0");
        assert_eq!(read("memory.oom.group"), "1");
        let cpu = read("cpu.max");
        let (quota, period) = cpu.split_once(' ').unwrap();
        let processors = std::thread::available_parallelism().unwrap().get();
        let quota: usize = quota.parse().unwrap();
        let period: usize = period.parse().unwrap();
        assert!(quota < processors * period && quota * 2 > processors * period, "{cpu}");
    }

    #[test]
    fn without_a_controller_its_bound_is_not_written() {
        assert_eq!(bounds(&["pids"], CgroupVersion::Two, &job()), [("pids.max", "34".to_owned())]);
    }

    #[test]
    fn an_end_for_lack_of_memory_and_used_time_are_read() {
        let base = tempfile::tempdir().unwrap();
        let delegated = DelegatedCgroup {
            base: base.path().to_owned(),
            controllers: vec!["memory"],
            version: CgroupVersion::Two,
        };
        let cgroup = RunCgroup::new(&delegated, &job()).unwrap();
        assert!(!cgroup.ran_out_of_memory());
        assert_eq!(cgroup.cpu_time(), None);
        let write = |name: &str, text: &str| fs::write(cgroup.path.join(name), text).unwrap();
        write("memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n");
        assert!(!cgroup.ran_out_of_memory());
        write("memory.events", "low 0\noom 1\noom_kill 3\noom_group_kill 1\n");
        assert!(cgroup.ran_out_of_memory());
        write("cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
        assert_eq!(cgroup.cpu_time(), Some(Duration::from_micros(1500)));
    }

    #[test]
    fn groups_that_a_killed_process_of_the_same_id_left_are_passed_over() {
        let base = tempfile::tempdir().unwrap();
        let delegated = DelegatedCgroup {
            base: base.path().to_owned(),
            controllers: Vec::new(),
            version: CgroupVersion::Two,
        };
        let path =
            |number: u64| base.path().join(format!("{NAME_PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(path(0)).unwrap();
        fs::create_dir(path(1)).unwrap();
        let made = AtomicU64::new(0);
        let cgroups = [(); 2].map(|()| RunCgroup::numbered(&delegated, &made).unwrap());
        assert_eq!(cgroups.each_ref().map(|cgroup| cgroup.path.clone()), [path(2), path(3)]);
        drop(cgroups);
        assert!(path(0).exists() && !path(2).exists(), "only what was made is removed");
        let gone = DelegatedCgroup { base: path(9), ..delegated };
        assert_eq!(RunCgroup::numbered(&gone, &made).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// The cgroup of this process, without bounds. Reports a skip where no cgroup can be made in
    /// it.
    fn real() -> Option<DelegatedCgroup> {
        let Some(own) = OwnCgroup::of_this_process() else {
            skip(TestNeed::Cgroups, "this process is in no version 2 cgroup");
            return None;
        };
        let delegated = DelegatedCgroup {
            base: own.path,
            controllers: Vec::new(),
            version: CgroupVersion::Two,
        };
        match try_creating(&delegated) {
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
        let cgroup = RunCgroup::unbounded(&delegated).unwrap();
        let child = waiting();
        cgroup.add(child.id()).unwrap();
        let held = fs::read_to_string(cgroup.path.join("cgroup.procs")).unwrap();
        assert_eq!(held.trim(), child.id().to_string());
        assert!(cgroup.cpu_time().is_some());
        let path = cgroup.path.clone();
        drop(cgroup);
        assert!(was_killed(child));
        assert!(!path.exists());
    }

    #[test]
    fn a_run_that_cannot_be_put_into_a_real_group_is_counted_and_leaves_none() {
        let Some(delegated) = real() else { return };
        // A cgroup of the test's own, so that those of others are not taken for left ones.
        let base = RunCgroup::unbounded(&delegated).unwrap();
        let cgroups = RunCgroups(Ok(DelegatedCgroup {
            base: base.path.clone(),
            controllers: delegated.controllers,
            version: delegated.version,
        }));
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let (cgroup, enforcement) = cgroups.create(&job(), gone.id());
        assert!(cgroup.is_none());
        let AggregateEnforcement::Sampled { why } = enforcement else { panic!("{enforcement:?}") };
        assert!(why.starts_with("this run could not be put into its cgroup ("), "{why}");
        let inside = fs::read_dir(&base.path).unwrap().flatten();
        assert_eq!(inside.filter(|entry| entry.path().is_dir()).count(), 0);
    }

    #[test]
    fn real_groups_of_processes_that_are_gone_are_swept_and_others_are_not() {
        let Some(delegated) = real() else { return };
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = delegated.base.join(format!("{NAME_PREFIX}{}-0", gone.id()));
        fs::create_dir(&left).unwrap();
        let child = waiting();
        fs::write(left.join("cgroup.procs"), child.id().to_string()).unwrap();
        let ours = RunCgroup::unbounded(&delegated).unwrap();
        remove_abandoned(&delegated.base);
        assert!(was_killed(child));
        assert!(!left.exists() && ours.path.exists());
    }
}
