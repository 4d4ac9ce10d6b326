//! The `skillwire` binary: arguments become settings, settings become work.

mod args;
mod commands;
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

fn main() -> ExitCode {
    commands::run().into()
}
