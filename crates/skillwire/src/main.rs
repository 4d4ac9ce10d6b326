//! The `skillwire` binary: arguments become settings, settings become work.

mod args;
mod commands;
mod exit;
mod failure;
mod logging;
mod output;
mod report;
mod settings;
mod waiting;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run().into()
}
