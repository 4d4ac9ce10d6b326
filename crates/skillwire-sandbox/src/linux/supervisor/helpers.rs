//! Helper processes, each for one run: started when it is needed, or one ahead.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
    process::{Pid, PidfdFlags, pidfd_open},
};

use super::{super::protocol::send, timespec};
use crate::{helper::HELPER_ARGUMENT, isolation::Tier};

/// A process that waits for its job at the other end of a socket. It does not outlive this value.
#[derive(Debug)]
pub(super) struct Helper {
    pub(super) child: Child,
    /// Until the run takes it.
    pub(super) control: Option<UnixStream>,
    tier: Tier,
}

impl Helper {
    /// Starts one, which prepares what every job of a tier needs.
    fn start(program: &Path, tier: Tier) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        send(&ours, &tier, None)?;
        let child = Command::new(program)
            .arg0("skillwire-sandbox")
            .arg(HELPER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self { child, control: Some(ours), tier })
    }

    /// Waits until it has done what it can do without a job, or cannot.
    fn wait_until_ready(&self, deadline: Instant) {
        if let Some(control) = &self.control {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut events = [PollFd::new(control, PollFlags::IN)];
            // One that takes longer is not waited for: the run that takes it will see.
            let _ = retry_on_intr(|| poll(&mut events, Some(&timespec(left))));
        }
    }

    /// Waits until it is gone, and ends it when it takes too long.
    pub(super) fn end(&mut self, deadline: Instant) -> io::Result<()> {
        if let Ok(handle) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let mut events = [PollFd::new(&handle, PollFlags::IN)];
            // A signal must not cost the outcome of a run that is done.
            let ended = retry_on_intr(|| {
                let left = deadline.saturating_duration_since(Instant::now());
                poll(&mut events, Some(&timespec(left)))
            })?;
            if ended == 0 {
                self.child.kill()?;
            }
        }
        self.child.wait().map(drop)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It is still there after a failure, or when it was started ahead for nothing. Its own first
        // process dies with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where helpers come from.
#[derive(Debug)]
pub(crate) struct Helpers {
    program: PathBuf,
    /// Whether another one is started when one is taken.
    kept_ready: bool,
    /// The one that waits for the next run.
    ready: Mutex<Option<Helper>>,
}

impl Helpers {
    /// Processes of this program; `kept_ready` says whether there shall always be one ahead.
    pub(crate) fn new(program: PathBuf, kept_ready: bool) -> Self {
        Self { program, kept_ready, ready: Mutex::default() }
    }

    /// A helper for a run. Says whether another one is wanted.
    pub(super) fn take(&self, tier: Tier) -> io::Result<(Helper, bool)> {
        let ready = lock(&self.ready).take();
        if let Some(mut ready) = ready
            // Somebody may have ended it meanwhile.
            && ready.child.try_wait()?.is_none()
            && ready.tier == tier
        {
            return Ok((ready, self.kept_ready));
        }
        Ok((Helper::start(&self.program, tier)?, self.kept_ready))
    }

    /// Waits until the helper of the next run waits for it, if there is one.
    pub(super) fn wait_until_ready(&self, deadline: Instant) {
        if let Some(ready) = lock(&self.ready).as_ref() {
            ready.wait_until_ready(deadline);
        }
    }

    /// Starts the helper of the next run, if there is none.
    pub(super) fn prepare(&self, tier: Tier) {
        let mut ready = lock(&self.ready);
        if ready.is_none() {
            // The next run will say why, if it fails there, too.
            *ready = Helper::start(&self.program, tier).ok();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
