//! One file for each command.

mod check;
mod completions;
mod man;
mod manifest;
mod new;
mod serve;
mod watch;

use std::io::Write;

use clap::Parser;

use crate::{
    args::{Cli, Command},
    exit::Exit,
    failure::Failure,
};

/// Runs what was typed and says how it ended.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not errors; a closed pipe cannot be told anything.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok };
        }
    };
    let outcome = match cli.command {
        Command::New(args) => new::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Manifest(args) => manifest::run(&args),
        Command::Serve(args) => serve::run(*args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    outcome.unwrap_or_else(|failure| {
        if !failure.is_silent() {
            // Nothing can be done when standard error is closed as well.
            let _ = writeln!(anstream::stderr(), "{failure}");
        }
        failure.exit()
    })
}

/// What a command comes to.
type Outcome = Result<Exit, Failure>;
