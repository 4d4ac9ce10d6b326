//! Runs without an outcome: which step failed, and what to do about it.

use std::io;

use super::super::protocol::{Broken, Step};

/// Why there is no outcome.
#[derive(Debug)]
pub(crate) enum Failed {
    /// A step of the isolation failed; the script did not run.
    Step { what: &'static str, why: String, hint: &'static str },
    /// The script could not be executed.
    Exec(io::Error),
    /// The supervisor itself could not go on.
    Supervisor(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Supervisor(error)
    }
}

impl From<Broken> for Failed {
    fn from(Broken { step, errno }: Broken) -> Self {
        let error = io::Error::from_raw_os_error(errno);
        let (what, hint) = match step {
            Step::Exec => return Self::Exec(error),
            Step::Descriptors | Step::Fork | Step::Wait => return Self::Supervisor(error),
            Step::DropRoot => (
                "a user id of its own for each run",
                "Run as an ordinary user, or let this container change user ids (`CAP_SETUID`, `CAP_SETGID`).",
            ),
            Step::Namespaces | Step::IdMaps => (
                "unprivileged user namespaces",
                "Allow them: `sysctl user.max_user_namespaces` above 0, \
                 `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu; in a container, a \
                 seccomp profile that allows `unshare`.",
            ),
            Step::Mounts => (
                "mounts in a user namespace",
                "Let the security policy of this machine or container allow `mount` and `pivot_root` in \
                 user namespaces; the kernel must be Linux 6.7 or later.",
            ),
            Step::Network => {
                ("a loopback device in a network namespace", "Run without a network grant.")
            }
            Step::Scratch => {
                ("a folder for the run in the system's temporary folder", "Make room in `/tmp`.")
            }
            Step::Limits => {
                ("resource limits", "Raise the hard limits that this process was started with.")
            }
            Step::Capabilities => (
                "capabilities that can be dropped",
                "Use a kernel that is not patched to forbid it.",
            ),
            Step::Landlock => (
                "Landlock with ABI 4",
                "Use Linux 6.7 or later with `landlock` in its `lsm=` list.",
            ),
            Step::Seccomp => ("seccomp filters", "Use a kernel with `CONFIG_SECCOMP_FILTER`."),
        };
        Self::Step { what, why: error.to_string(), hint }
    }
}
