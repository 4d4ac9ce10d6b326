//! Helper processes: one for each run, made on demand or one ahead.

use std::{
    io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
    process::{Pid, Signal, kill_process, pidfd_send_signal},
};

use super::{
    super::{process_tree, scratch_folder::ScratchFolder},
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
}

impl HelperProcess {
    pub(super) fn new(
        pid: u32,
        pidfd: OwnedFd,
        control: UnixStream,
        tier: IsolationTier,
        scratch: ScratchFolder,
    ) -> Self {
        Self { pid, pidfd, control: Some(control), tier, scratch }
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
    /// Started with the first helper.
    fork_server: Mutex<Option<ForkServer>>,
    /// Whether another helper is made when a run takes one.
    keep_standby: bool,
    /// Whether cgroups bound the memory of runs, which helpers prepare for.
    memory_is_held: bool,
    /// The helper that waits for the next run.
    standby: Mutex<Option<HelperProcess>>,
}

impl HelperPool {
    /// Makes helpers from this program; `keep_standby` keeps one ready for the next run.
    pub(crate) fn new(program: PathBuf, keep_standby: bool, memory_is_held: bool) -> Self {
        Self {
            program,
            fork_server: Mutex::default(),
            keep_standby,
            memory_is_held,
            standby: Mutex::default(),
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
        let mut fork_server = self.fork_server.lock();
        // A fork server that failed is not put back: after a timeout its late reply would be taken
        // for the answer to the next request, and a run would get the helper of another.
        if let Some(server) = fork_server.take() {
            match server.fork_helper(tier, self.memory_is_held) {
                Ok(helper) => {
                    *fork_server = Some(server);
                    return Ok(helper);
                }
                // It was ended from outside; a new one is started below.
                Err(error) if is_hung_up(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let server = ForkServer::start(&self.program)?;
        let helper = server.fork_helper(tier, self.memory_is_held)?;
        *fork_server = Some(server);
        Ok(helper)
    }
}

fn is_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}
