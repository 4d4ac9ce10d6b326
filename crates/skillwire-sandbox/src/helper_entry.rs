//! The entry of the helper process into this program.

use std::process::ExitCode;

use crate::platform;

/// The only argument of the process that the sandbox starts to make helpers.
pub(crate) const HELPER_ARGUMENT: &str = "__skillwire-sandbox-helper";

/// Runs the sandbox's helper if this process was started as one, and returns the code to exit with.
///
/// A program that uses [`Sandbox::new`](crate::Sandbox::new) must call this first in `main`, before
/// it starts a thread or opens a file: the helper forks, and a forked copy of a process with
/// several threads may find locks held that no thread of it will ever release.
pub fn run_if_helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != HELPER_ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(platform::run_helper())
}
