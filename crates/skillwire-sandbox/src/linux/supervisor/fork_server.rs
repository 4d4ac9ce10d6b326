//! The supervisor's handle of the fork server, the process that helpers are copies of.

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
        helper_protocol::{HelperReply, HelperRequest, receive, send},
        scratch_folder::ScratchFolder,
    },
    helper_pool::HelperProcess,
};
use crate::{helper_entry::HELPER_ARGUMENT, isolation::IsolationTier};

/// How long the fork server may take to answer, also on a busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// A running fork server. It ends when this value is dropped; helpers that it made do not.
#[derive(Debug)]
pub(super) struct ForkServer {
    child: Child,
    requests: UnixStream,
}

impl ForkServer {
    /// Starts the program as a fork server.
    ///
    /// It gets an empty environment, so that no variable of the caller, such as a credential, can
    /// reach a script, and the request socket as its standard input. The fork server closes every
    /// other descriptor that it inherited, see `helper::process::take_requests`.
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
        ours.set_read_timeout(Some(REPLY_TIMEOUT))?;
        Ok(Self { child, requests: ours })
    }

    /// Asks for a helper, which starts to prepare what every job of the tier needs.
    pub(super) fn fork_helper(
        &self,
        tier: IsolationTier,
        memory_is_held: bool,
    ) -> io::Result<HelperProcess> {
        let (ours, theirs) = UnixStream::pair()?;
        let scratch = ScratchFolder::new(tier)?;
        let request = HelperRequest { tier, scratch: scratch.path(), memory_is_held };
        send(&self.requests, &request, &[theirs.as_fd()])?;
        let (reply, mut descriptors) = receive(&self.requests)?;
        match reply {
            HelperReply::Started { pid } => {
                let pidfd = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
                Ok(HelperProcess::new(pid, pidfd, ours, tier, scratch))
            }
            HelperReply::Failed { errno } => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
