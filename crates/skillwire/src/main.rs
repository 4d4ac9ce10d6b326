//! The `skillwire` binary: arguments become settings, settings become work.
#![cfg_attr(
    not(all(
        feature = "bridge",
        feature = "execute",
        feature = "host",
        feature = "oauth",
        feature = "search"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_mut,
        reason = "a build that leaves parts out still knows every command, option and exit code"
    )
)]

mod args;
mod commands;
#[cfg(feature = "execute")]
mod execution;
mod exit;
mod failure;
mod features;
mod logging;
mod output;
mod progress;
mod refusals;
mod remedies;
mod report;
#[cfg(feature = "host")]
mod session;
mod settings;
#[cfg(feature = "host")]
mod terminal;

use std::process::ExitCode;

/// Scanning makes and drops hundreds of small values for each skill on every core; the system's
/// allocator took 7% more of the processor for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A process that was started to become a script must not do anything else first.
    #[cfg(feature = "execute")]
    if let Some(code) = skillwire_sandbox::run_if_helper() {
        return code;
    }
    commands::run().into()
}
