//! Helper processes, each for one run: made when it is needed, or one ahead.

use std::{
    io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
    process::{Signal, pidfd_send_signal},
};

use super::{super::scratch::Scratch, origin::Origin, timespec};
use crate::isolation::Tier;

/// A process that waits for its job at the other end of a socket. It does not outlive this value.
#[derive(Debug)]
pub(super) struct Helper {
    pid: u32,
    /// Stands for this process even when its id is another one's.
    handle: OwnedFd,
    /// Until the run takes it.
    pub(super) control: Option<UnixStream>,
    tier: Tier,
    /// Removed when the helper is gone, if it did not do that.
    scratch: Scratch,
}

impl Helper {
    pub(super) fn new(
        (pid, handle): (u32, OwnedFd),
        control: UnixStream,
        tier: Tier,
        scratch: Scratch,
    ) -> Self {
        Self { pid, handle, control: Some(control), tier, scratch }
    }

    pub(super) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn is_gone(&self) -> bool {
        is_readable_within(self.handle.as_fd(), Some(Duration::ZERO))
    }

    /// Waits until it has done what it can do without a job, or cannot.
    fn wait_until_ready(&self, at_most: Duration) {
        if let Some(control) = &self.control {
            // One that takes longer is not waited for: the run that takes it will see.
            is_readable_within(control.as_fd(), Some(at_most));
        }
    }

    /// Waits until it is gone, and ends it when it takes too long.
    pub(super) fn end(&mut self, at_most: Duration) {
        if !is_readable_within(self.handle.as_fd(), Some(at_most)) {
            // Its own first process dies with it.
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
            is_readable_within(self.handle.as_fd(), None);
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It is still there after a failure, or when it was made ahead for nothing.
        self.end(Duration::ZERO);
    }
}

/// Whether there is something to read in time, or never will be.
fn is_readable_within(descriptor: BorrowedFd<'_>, at_most: Option<Duration>) -> bool {
    let deadline = at_most.map(|at_most| Instant::now() + at_most);
    // A signal must not cost the outcome of a run that is done.
    let readable = retry_on_intr(|| {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut events = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        poll(&mut events, left.map(timespec).as_ref())
    });
    readable.is_ok_and(|count| count > 0)
}

/// Where helpers come from.
#[derive(Debug)]
pub(crate) struct Helpers {
    program: PathBuf,
    /// Made with the first helper.
    origin: Mutex<Option<Origin>>,
    /// Whether another helper is made when one is taken.
    kept_ready: bool,
    /// The one that waits for the next run.
    ready: Mutex<Option<Helper>>,
}

impl Helpers {
    /// Processes of this program; `kept_ready` says whether there shall always be one ahead.
    pub(crate) fn new(program: PathBuf, kept_ready: bool) -> Self {
        Self { program, origin: Mutex::default(), kept_ready, ready: Mutex::default() }
    }

    /// A helper for a run. Says whether another one is wanted.
    pub(super) fn take(&self, tier: Tier) -> io::Result<(Helper, bool)> {
        let ready = lock(&self.ready).take();
        // Somebody may have ended it meanwhile.
        let ready = ready.filter(|ready| ready.tier == tier && !ready.is_gone());
        let helper = ready.map_or_else(|| self.make(tier), Ok)?;
        Ok((helper, self.kept_ready))
    }

    /// Makes the helper of the next run, if there is none.
    pub(super) fn prepare(&self, tier: Tier) {
        let mut ready = lock(&self.ready);
        if ready.is_none() {
            // The next run will say why, if it fails there, too.
            *ready = self.make(tier).ok();
        }
    }

    /// Waits until the helper of the next run waits for it, if there is one.
    pub(super) fn wait_until_ready(&self, at_most: Duration) {
        if let Some(ready) = lock(&self.ready).as_ref() {
            ready.wait_until_ready(at_most);
        }
    }

    fn make(&self, tier: Tier) -> io::Result<Helper> {
        let mut origin = lock(&self.origin);
        // One that failed is not asked again: what it says next may be an answer to this.
        match origin.take().map(|asked| asked.copy(tier).map(|helper| (helper, asked))) {
            Some(Ok((helper, asked))) => {
                *origin = Some(asked);
                return Ok(helper);
            }
            // Somebody ended it.
            Some(Err(error)) if !is_hung_up(&error) => return Err(error),
            Some(Err(_)) | None => {}
        }
        let fresh = Origin::start(&self.program)?;
        let helper = fresh.copy(tier)?;
        *origin = Some(fresh);
        Ok(helper)
    }
}

fn is_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
