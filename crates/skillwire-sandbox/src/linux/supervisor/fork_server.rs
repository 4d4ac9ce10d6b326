//! The supervisor's handle of the fork server, the process that helpers are copies of.

use std::{
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use super::{
    super::{
        cgroup::{RunCgroups, UserManager},
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
    /// The cgroups of runs whose helpers it makes. Helpers begin in its own cgroup, and can only be
    /// moved within what the user may divide.
    cgroups: Arc<RunCgroups>,
}

impl ForkServer {
    /// Starts the program as a fork server.
    ///
    /// It gets an empty environment, so that no variable of the caller, such as a credential, can
    /// reach a script, and the request socket as its standard input. The fork server closes every
    /// other descriptor that it inherited, see `helper::process::take_requests`.
    pub(super) fn start(program: &Path, cgroups: Arc<RunCgroups>) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg0("skillwire-sandbox").env_clear().stderr(Stdio::null());
        Self::spawn(command, cgroups)
    }

    /// Starts the program as a fork server in a cgroup that the user's systemd manager gives to it. The
    /// error says why it gave none.
    #[tracing::instrument(level = "debug", skip_all, err(level = "debug"))]
    pub(super) fn start_in_scope(program: &Path, manager: &UserManager) -> Result<Self, String> {
        let mut command = manager.command(program);
        command.stderr(Stdio::piped());
        let none = RunCgroups::none("the helper is being started", "it has none yet");
        let mut server = Self::spawn(command, none).map_err(|error| error.to_string())?;
        let stderr = server.child.stderr.take().ok_or("its answer cannot be read")?;
        manager.wait_until_started(stderr)?;
        server.cgroups = RunCgroups::given_to(server.child.id())?;
        Ok(server)
    }

    fn spawn(mut command: Command, cgroups: Arc<RunCgroups>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = command
            .arg(HELPER_ARGUMENT)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        ours.set_read_timeout(Some(REPLY_TIMEOUT))?;
        Ok(Self { child, requests: ours, cgroups })
    }

    pub(super) fn cgroups(&self) -> &Arc<RunCgroups> {
        &self.cgroups
    }

    /// Asks for a helper, which starts to prepare what every job of the tier needs.
    pub(super) fn fork_helper(&self, tier: IsolationTier) -> io::Result<HelperProcess> {
        let (ours, theirs) = UnixStream::pair()?;
        let scratch = ScratchFolder::new(tier)?;
        let memory_is_held = self.cgroups.hold_memory();
        let request = HelperRequest { tier, scratch: scratch.path(), memory_is_held };
        send(&self.requests, &request, &[theirs.as_fd()])?;
        let (reply, mut descriptors) = receive(&self.requests)?;
        match reply {
            HelperReply::Started { pid } => {
                let pidfd = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
                let cgroups = Arc::clone(&self.cgroups);
                Ok(HelperProcess::new(pid, pidfd, ours, tier, scratch, cgroups))
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
