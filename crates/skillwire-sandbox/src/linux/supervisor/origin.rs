//! The process that helpers are copies of, as the supervisor sees it.

use std::{
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{
    super::{
        protocol::{Copied, Request, receive, send},
        scratch::Scratch,
    },
    helpers::Helper,
};
use crate::{helper::HELPER_ARGUMENT, isolation::Tier};

/// How long a copy may take, also on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for requests at the other end of a socket. It does not outlive this value; helpers do.
#[derive(Debug)]
pub(super) struct Origin {
    child: Child,
    requests: UnixStream,
}

impl Origin {
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(program)
            .arg0("skillwire-sandbox")
            .arg(HELPER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { child, requests: ours })
    }

    /// Makes a helper, which prepares what every job of a tier needs.
    pub(super) fn copy(&self, tier: Tier) -> io::Result<Helper> {
        let (ours, theirs) = UnixStream::pair()?;
        let scratch = Scratch::new(tier)?;
        let request = Request { tier, scratch: scratch.path() };
        send(&self.requests, &request, &[theirs.as_fd()])?;
        let (copied, mut along) = receive(&self.requests)?;
        match copied {
            Copied::Helper { pid } => {
                let handle = along.pop().ok_or(io::ErrorKind::InvalidData)?;
                Ok(Helper::new((pid, handle), ours, tier, scratch))
            }
            Copied::Failed { errno } => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
