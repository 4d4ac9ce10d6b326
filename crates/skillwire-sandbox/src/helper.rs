//! The way into the process that helpers are copies of; a copy becomes a script's parent.

use std::process::ExitCode;

/// The only argument of that process.
pub(crate) const HELPER_ARGUMENT: &str = "__skillwire-sandbox-helper";

/// Makes helpers if that is what this process was started for.
///
/// Called first thing in `main`, before any thread exists; `main` ends with the code.
pub fn enter() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != HELPER_ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(run())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn run() -> ExitCode {
    crate::linux::helper::run()
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn run() -> ExitCode {
    ExitCode::FAILURE
}
