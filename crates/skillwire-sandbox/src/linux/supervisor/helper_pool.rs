//! Helper processes: one for each run, made on demand or one ahead.

use std::{
    io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
    process::{Pid, Signal, kill_process, pidfd_send_signal},
};

use super::{
    super::{
        cgroup::{CgroupSource, RunCgroups},
        process_tree,
        scratch_folder::ScratchFolder,
    },
    fork_server::ForkServer,
    timespec,
};
use crate::isolation::IsolationTier;

/// A process that waits for its job at the other end of a socket. Dropping this value ends it.
#[derive(Debug)]
pub(super) struct HelperProcess {
    pid: u32,
    /// Refers to this process even after the kernel gave its id to another one. Signals go through
    /// it: a signal to the bare id could end an unrelated process.
    pidfd: OwnedFd,
    /// The control socket, until the run takes it.
    pub(super) control: Option<UnixStream>,
    tier: IsolationTier,
    /// Dropped after the process has ended, which removes what a killed helper could not.
    scratch: ScratchFolder,
    /// Makes the cgroup that this process can be moved to.
    cgroups: Arc<RunCgroups>,
}

impl HelperProcess {
    pub(super) fn new(
        pid: u32,
        pidfd: OwnedFd,
        control: UnixStream,
        tier: IsolationTier,
        scratch: ScratchFolder,
        cgroups: Arc<RunCgroups>,
    ) -> Self {
        Self { pid, pidfd, control: Some(control), tier, scratch, cgroups }
    }

    pub(super) fn cgroups(&self) -> &RunCgroups {
        &self.cgroups
    }

    pub(super) fn scratch(&self) -> &ScratchFolder {
        &self.scratch
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    fn has_ended(&self) -> bool {
        is_readable_within(self.pidfd.as_fd(), Some(Duration::ZERO))
    }

    /// Waits until the helper reports that it is ready, or that it failed.
    fn wait_until_ready(&self, timeout: Duration) {
        if let Some(control) = &self.control {
            // The run that takes a slow helper waits for it anyway.
            is_readable_within(control.as_fd(), Some(timeout));
        }
    }

    /// Waits until the process has ended, and kills it when that takes longer than the timeout.
    pub(super) fn end(&mut self, timeout: Duration) {
        if !is_readable_within(self.pidfd.as_fd(), Some(timeout)) {
            // The script, or the first process of its namespace, asked the kernel to be killed when
            // the helper ends, so nothing of the run survives this.
            if pidfd_send_signal(&self.pidfd, Signal::KILL).is_err() {
                // Some policies allow the older call alone. The process has not been waited for, or
                // the wait above would have ended, so that no other process has its id.
                let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
            }
            is_readable_within(self.pidfd.as_fd(), None);
        }
    }

    /// Ends what is left of a run whose helper could not end it.
    pub(super) fn end_orphans(&self) {
        if self.tier == IsolationTier::Restricted {
            process_tree::kill_orphaned_session(self.pid);
        }
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // The process still runs after a failure, or when it was made ahead and no run took it.
        self.end(Duration::ZERO);
    }
}

/// Waits until a descriptor is readable, has an error or was hung up; a pidfd is readable once its
/// process has ended. `None` waits for ever.
fn is_readable_within(descriptor: BorrowedFd<'_>, timeout: Option<Duration>) -> bool {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    // A signal to the caller's process must not cost the outcome of a run that is done.
    let readable = retry_on_intr(|| {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut events = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        poll(&mut events, left.map(timespec).as_ref())
    });
    readable.is_ok_and(|count| count > 0)
}

/// Makes helpers for runs.
///
/// Lock order: a thread never takes one of the two locks while it waits for the other, except in
/// [`prepare`](Self::prepare), which holds `standby` while it takes `fork_server`. No code takes
/// them in the opposite order, so they cannot deadlock.
#[derive(Debug)]
pub(crate) struct HelperPool {
    program: PathBuf,
    cgroups: CgroupSource,
    fork_server: Mutex<ForkServerSlot>,
    /// Whether another helper is made when a run takes one.
    keep_standby: bool,
    /// The helper that waits for the next run.
    standby: Mutex<Option<HelperProcess>>,
}

#[derive(Debug, Default)]
struct ForkServerSlot {
    /// Started with the first helper, or when the user's systemd manager is first asked for a cgroup.
    running: Option<ForkServer>,
    /// Set once that manager gave none. It is not asked again: each time could take seconds.
    refused: Option<Arc<RunCgroups>>,
}

impl ForkServerSlot {
    fn start(&mut self, program: &Path, source: &CgroupSource) -> io::Result<ForkServer> {
        let cgroups = match (source, &self.refused) {
            (CgroupSource::Known(cgroups), _) | (_, Some(cgroups)) => Arc::clone(cgroups),
            (CgroupSource::UserManager { manager, own }, None) => {
                match ForkServer::start_in_scope(program, manager) {
                    Ok(server) => return Ok(server),
                    Err(why) => {
                        let others = format!("the user's systemd manager gave none ({why})");
                        Arc::clone(self.refused.insert(RunCgroups::none(own, &others)))
                    }
                }
            }
        };
        ForkServer::start(program, cgroups)
    }
}

impl HelperPool {
    /// Makes helpers from this program; `keep_standby` keeps one ready for the next run.
    pub(crate) fn new(program: PathBuf, keep_standby: bool, cgroups: CgroupSource) -> Self {
        Self {
            program,
            cgroups,
            fork_server: Mutex::default(),
            keep_standby,
            standby: Mutex::default(),
        }
    }

    /// Makes the cgroups of runs. Starts the fork server where only that tells whether there are any.
    pub(super) fn cgroups(&self) -> Arc<RunCgroups> {
        if let CgroupSource::Known(cgroups) = &self.cgroups {
            return Arc::clone(cgroups);
        }
        let mut slot = self.fork_server.lock();
        if let Some(server) = &slot.running {
            return Arc::clone(server.cgroups());
        }
        match slot.start(&self.program, &self.cgroups) {
            Ok(server) => Arc::clone(slot.running.insert(server).cgroups()),
            Err(error) => {
                RunCgroups::none("no helper can be started", &format!("so none is asked ({error})"))
            }
        }
    }

    /// Whether a new standby helper is wanted after a run took one.
    pub(super) fn keeps_standby(&self) -> bool {
        self.keep_standby
    }

    /// Takes the standby helper, or makes one.
    pub(super) fn take(&self, tier: IsolationTier) -> io::Result<HelperProcess> {
        let standby = self.standby.lock().take();
        // An operator or the kernel may have ended it since it was made.
        match standby.filter(|helper| helper.tier == tier && !helper.has_ended()) {
            Some(helper) => Ok(helper),
            None => self.make(tier),
        }
    }

    /// Makes a standby helper, if there is none.
    pub(super) fn prepare(&self, tier: IsolationTier) {
        let mut standby = self.standby.lock();
        if standby.is_none() {
            // If the next run fails in the same way, it reports the error.
            *standby = self.make(tier).ok();
        }
    }

    /// Waits until the standby helper is ready, if there is one.
    pub(super) fn wait_until_ready(&self, timeout: Duration) {
        if let Some(standby) = self.standby.lock().as_ref() {
            standby.wait_until_ready(timeout);
        }
    }

    fn make(&self, tier: IsolationTier) -> io::Result<HelperProcess> {
        let mut slot = self.fork_server.lock();
        // A fork server that failed is not put back: after a timeout its late reply would be taken
        // for the answer to the next request, and a run would get the helper of another.
        if let Some(server) = slot.running.take() {
            match server.fork_helper(tier) {
                Ok(helper) => {
                    slot.running = Some(server);
                    return Ok(helper);
                }
                // It was ended from outside; a new one is started below.
                Err(error) if is_hung_up(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let server = slot.start(&self.program, &self.cgroups)?;
        let helper = server.fork_helper(tier)?;
        slot.running = Some(server);
        Ok(helper)
    }
}

fn is_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, process::Command, process::Stdio};

    use super::{
        super::super::cgroup::{UserManager, own_cgroup},
        *,
    };
    use crate::{
        outcome::AggregateEnforcement,
        test_skip::{TestNeed, skip},
    };

    /// A stand-in for the fork server: it closes its standard error, and ends with its requests.
    const HELPER: &str = "exec 2>/dev/null\nread requests";

    /// What `systemd-run` does at last.
    const BECOME_THE_HELPER: &str = "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";

    /// A folder with a stand-in for `systemd-run`, which counts how often it was started, and one for the
    /// fork server.
    struct StandIns(tempfile::TempDir);

    impl StandIns {
        fn new(systemd_run: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let asked = folder.path().join("asked");
            let asked = asked.display();
            // `$start` is the number of this start, counted without a program of another file.
            let count = "start=0; while read line; do start=$((start + 1)); done";
            let systemd_run = format!("echo x >> {asked}\n{count} < {asked}\n{systemd_run}");
            for (name, text) in [("systemd-run", systemd_run.as_str()), ("helper", HELPER)] {
                // Written by another process: a file that this one has open for writing, also in a copy
                // that another test just made, cannot be executed.
                let file = folder.path().join(name);
                let mut writer = Command::new("/bin/sh")
                    .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
                    .arg(&file)
                    .stdin(Stdio::piped())
                    .spawn()
                    .unwrap();
                let script = format!("#!/bin/sh\n{text}\n");
                writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
                assert!(writer.wait().unwrap().success());
            }
            Self(folder)
        }

        /// Starts a fork server twice. Returns what bounds the runs of the second.
        fn start_twice(&self) -> AggregateEnforcement {
            let manager = UserManager::asked_by(self.0.path().join("systemd-run"));
            let source = CgroupSource::UserManager { manager, own: "this one has none".to_owned() };
            let mut slot = ForkServerSlot::default();
            let program = self.0.path().join("helper");
            drop(slot.start(&program, &source).unwrap());
            slot.start(&program, &source).unwrap().cgroups().enforcement()
        }

        fn times_asked(&self) -> usize {
            fs::read_to_string(self.0.path().join("asked")).unwrap().lines().count()
        }
    }

    fn reason(enforcement: AggregateEnforcement) -> String {
        let AggregateEnforcement::Sampled { why } = enforcement else { panic!("{enforcement:?}") };
        why
    }

    #[test]
    fn a_manager_that_refuses_is_quoted_and_not_asked_again() {
        let stand_ins = StandIns::new("echo 'Failed to start: no room' >&2; exit 1");
        let why = reason(stand_ins.start_twice());
        let said = "this one has none, and the user's systemd manager gave none (Failed to start: no room)";
        assert_eq!(why, said);
        assert_eq!(stand_ins.times_asked(), 1);
    }

    #[test]
    fn a_manager_that_is_not_there_and_one_that_moves_nothing_leave_runs_counted() {
        let absent = StandIns::new("");
        fs::remove_file(absent.0.path().join("systemd-run")).unwrap();
        assert!(reason(absent.start_twice()).contains("gave none (No such file"));
        let idle = StandIns::new(BECOME_THE_HELPER);
        assert!(reason(idle.start_twice()).contains("still in its old cgroup"));
        assert_eq!(idle.times_asked(), 1);
    }

    #[test]
    fn a_cgroup_that_the_manager_gave_is_used_if_it_bounds_anything() {
        let Some(own) = own_cgroup() else {
            return skip(TestNeed::Cgroups, "this process is in no version 2 cgroup");
        };
        // One for each start: once the first has divided its cgroup, no process may enter that one.
        let prefix = own.join(format!("skillwire-test-{}-", std::process::id()));
        let given = [1, 2].map(|start| PathBuf::from(format!("{}{start}.scope", prefix.display())));
        for folder in &given {
            if let Err(error) = fs::create_dir(folder) {
                return skip(TestNeed::Cgroups, &format!("`{}`: {error}", folder.display()));
            }
        }
        let stand_ins = StandIns::new(&format!(
            "echo $$ > {}$start.scope/cgroup.procs || exit 1\n{BECOME_THE_HELPER}",
            prefix.display()
        ));
        let enforcement = stand_ins.start_twice();
        let bounds = fs::read_to_string(given[0].join("cgroup.controllers")).unwrap();
        let has_controllers = bounds.contains("memory") || bounds.contains("pids");
        if has_controllers {
            assert!(matches!(enforcement, AggregateEnforcement::Cgroup { .. }), "{enforcement:?}");
            assert_eq!(stand_ins.times_asked(), 2, "each fork server has one of its own");
        } else {
            let why = reason(enforcement);
            assert!(why.contains("no `memory` and no `pids` controller"), "{why}");
            assert_eq!(stand_ins.times_asked(), 1);
        }
        // No fork server is left in them, or they could not be removed.
        for folder in &given {
            if has_controllers {
                fs::remove_dir(folder.join("skillwire-supervisor")).unwrap();
            }
            fs::remove_dir(folder).unwrap();
        }
    }
}
