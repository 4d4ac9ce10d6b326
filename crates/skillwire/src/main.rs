//! The `skillwire` binary: arguments become settings, settings become work.
#![cfg_attr(
    not(all(
        feature = "bridge",
        feature = "execute",
        feature = "host",
        feature = "oauth",
        feature = "search",
        feature = "sign"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_mut,
        reason = "a build that leaves parts out still knows every command, option and exit code"
    )
)]

mod access_log;
mod args;
#[cfg(all(feature = "bridge", feature = "scan"))]
mod bridge_scan;
#[cfg(all(feature = "bridge", feature = "execute"))]
mod bridge_scripts;
mod commands;
mod completion;
#[cfg(feature = "execute")]
mod execution;
mod exit;
mod failure;
mod features;
mod logging;
mod nearest;
mod operating;
mod output;
#[cfg(feature = "page")]
mod page;
mod progress;
mod prose;
mod refusals;
#[cfg(any(feature = "host", feature = "sign"))]
mod regular_file;
mod remedies;
mod report;
#[cfg(feature = "host")]
mod session;
mod settings;
#[cfg(feature = "sign")]
mod signatures;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(feature = "host")]
mod terminal;
mod version;

use std::process::ExitCode;

/// The allocator of the program. A scan allocates hundreds of small values for each skill on every
/// core; with the system's allocator it took 7% more processor time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // This comes first: a helper of the sandbox forks, so it must not start a thread or open a file
    // before.
    #[cfg(feature = "execute")]
    if let Some(code) = skillwire_sandbox::run_if_helper() {
        return code;
    }
    commands::run().into()
}
