//! Why a run has no outcome: the step that failed, and what the user can do about it.

use std::io;

use super::super::helper_protocol::{IsolationStep, StepFailure};

/// Why a run has no outcome.
#[derive(Debug)]
pub(crate) enum RunFailure {
    /// A layer of isolation could not be put in place, so the script did not start.
    Isolation { what: &'static str, why: String, hint: &'static str },
    /// The kernel could not execute the script.
    Exec(io::Error),
    /// The supervisor or the helper could not go on.
    Supervision(io::Error),
}

impl From<io::Error> for RunFailure {
    fn from(error: io::Error) -> Self {
        Self::Supervision(error)
    }
}

impl From<StepFailure> for RunFailure {
    fn from(StepFailure { step, errno }: StepFailure) -> Self {
        let error = io::Error::from_raw_os_error(errno);
        let (what, hint) = match step {
            IsolationStep::Exec => return Self::Exec(error),
            IsolationStep::Descriptors | IsolationStep::Fork | IsolationStep::Wait => {
                return Self::Supervision(error);
            }
            IsolationStep::DropRoot => (
                "a separate user id for each run",
                "Run as an ordinary user, or let this container change user ids (`CAP_SETUID`, `CAP_SETGID`).",
            ),
            IsolationStep::Namespaces | IsolationStep::IdMaps => (
                "unprivileged user namespaces",
                "Allow them: `sysctl user.max_user_namespaces` above 0, \
                 `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu; in a container, a \
                 seccomp profile that allows `unshare`.",
            ),
            IsolationStep::Mounts => (
                "mounts in a user namespace",
                "Let the security policy of this machine or container allow `mount` and `pivot_root` in \
                 user namespaces. The kernel must be Linux 6.7 or later.",
            ),
            IsolationStep::Network => {
                ("a loopback device in a network namespace", "Run without a network grant.")
            }
            IsolationStep::Scratch => ("a folder for the run in `/tmp`", "Make room in `/tmp`."),
            IsolationStep::Limits => {
                ("resource limits", "Raise the hard limits that this process was started with.")
            }
            IsolationStep::Capabilities => (
                "capabilities that can be dropped",
                "Use a kernel whose security policy allows that.",
            ),
            IsolationStep::Landlock => (
                "Landlock with ABI 4",
                "Use Linux 6.7 or later with `landlock` in its `lsm=` list.",
            ),
            IsolationStep::Seccomp => {
                ("seccomp filters", "Use a kernel with `CONFIG_SECCOMP_FILTER`.")
            }
        };
        Self::Isolation { what, why: error.to_string(), hint }
    }
}
