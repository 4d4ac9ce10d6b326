//! The `skillwire` binary: arguments become settings, settings become work.

mod args;
mod commands;
mod execution;
mod exit;
mod failure;
mod logging;
mod output;
mod refused;
mod report;
mod session;
mod settings;
mod skill;
mod terminal;
mod waiting;

use std::process::ExitCode;

/// Scanning makes and drops hundreds of small values for each skill on every core; the system's
/// allocator took 7% more of the processor for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A process that was started to become a script must not do anything else first.
    if let Some(code) = skillwire_sandbox::run_if_helper() {
        return code;
    }
    commands::run().into()
}
