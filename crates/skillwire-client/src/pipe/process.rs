//! A server's process: started from the user's configuration, and ended with its client.

use std::{process::Stdio, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    time::timeout,
};

use super::stderr::StderrTail;
use crate::{endpoint::CommandEndpoint, error::ClientError, task::OwnedTask};

/// How long an error waits for the rest of a server's standard error. A server that exits closes
/// both of its outputs at once, and this one may be read a moment later.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A running server; dropping this value ends it and everything it started.
pub(crate) struct ServerProcess {
    child: Mutex<Option<Child>>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no process groups"))]
    group: Option<u32>,
    stderr: Arc<Mutex<StderrTail>>,
    /// Whether standard error has been read to its end.
    drained: watch::Receiver<bool>,
    _drain: Option<OwnedTask>,
}

impl ServerProcess {
    /// Starts a server with exactly the environment that is given.
    pub(crate) fn start(
        endpoint: &CommandEndpoint,
    ) -> Result<(Self, ChildStdout, ChildStdin), ClientError> {
        let CommandEndpoint { program, args, env, inherited, folder } = endpoint;
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(inherited.iter().map(|(name, value)| (name, value)));
        command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
        if let Some(folder) = folder {
            if !folder.is_dir() {
                let folder = folder.display();
                let problem =
                    format!("the folder `{folder}`, in which it is started, is not there");
                return Err(ClientError::unreachable(problem));
            }
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        // The server gets its own process group, so that its child processes end with it.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let problem = format!("`{program}` cannot be started: {error}");
            ClientError::unreachable(problem).caused_by(error)
        })?;
        let missing = || ClientError::unreachable("it has no standard streams");
        let input = child.stdout.take().ok_or_else(missing)?;
        let output = child.stdin.take().ok_or_else(missing)?;
        let stderr = Arc::new(Mutex::new(StderrTail::default()));
        let (ended, drained) = watch::channel(false);
        let drain = child.stderr.take().map(|from| {
            let tail = Arc::clone(&stderr);
            OwnedTask::spawn(async move {
                drain(from, &tail).await;
                ended.send_replace(true);
            })
        });
        let group = child.id();
        let child = Mutex::new(Some(child));
        let process = Self { child, group, stderr, drained, _drain: drain };
        Ok((process, input, output))
    }

    /// Returns the server's last output on standard error.
    pub(super) fn stderr(&self) -> String {
        self.stderr.lock().shown()
    }

    /// Returns the server's last lines on standard error, after its output has ended.
    pub(super) async fn last_words(&self) -> Option<String> {
        let mut drained = self.drained.clone();
        let _ = timeout(LAST_WORDS, drained.wait_for(|drained| *drained)).await;
        let lines = self.stderr.lock().last_lines();
        Some(lines).filter(|lines| !lines.is_empty())
    }

    /// Waits for the server to exit, then terminates it, then kills it.
    pub(super) async fn end(&self, grace: Duration) {
        let child = self.child.lock().take();
        let Some(mut child) = child else { return };
        if timeout(grace, child.wait()).await.is_err() {
            self.signal(GroupSignal::Terminate);
            if timeout(grace, child.wait()).await.is_err() {
                self.signal(GroupSignal::Kill);
                let _ = child.kill().await;
            }
        }
        // The server has exited, but processes it started may still run. They belong to its group,
        // and while one of them lives the system does not reuse the group's number.
        self.signal(GroupSignal::Kill);
    }

    #[cfg(unix)]
    fn signal(&self, signal: GroupSignal) {
        use rustix::process::{Pid, Signal as Unix, kill_process_group};
        let group = self.group.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            let signal = match signal {
                GroupSignal::Terminate => Unix::TERM,
                GroupSignal::Kill => Unix::KILL,
            };
            // An error means that the group is already gone.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "elsewhere the child itself is killed")]
    fn signal(&self, _signal: GroupSignal) {}
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        // If the child was taken, `end` has waited for it and signalled its group. Its number may
        // belong to another process by now.
        if child.is_some() {
            self.signal(GroupSignal::Kill);
        }
    }
}

#[derive(Clone, Copy)]
enum GroupSignal {
    Terminate,
    Kill,
}

/// Reads standard error to its end, so that a server never blocks on it, and keeps the tail.
async fn drain(mut from: ChildStderr, tail: &Mutex<StderrTail>) {
    let mut bytes = vec![0; 8 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        tail.lock().push(&bytes[..length]);
    }
}
