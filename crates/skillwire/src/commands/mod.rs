//! One file for each command.

mod approve;
mod audit;
mod bridge;
mod browse;
mod check;
mod completions;
mod convert;
mod doctor;
mod enable;
mod export;
mod list;
mod load;
mod lock;
mod man;
mod manifest;
mod new;
mod output_folder;
mod pack;
mod prompt;
mod revoke;
mod run;
mod serve;
mod server;
mod show;
mod unpack;
mod verify;
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
        Command::Bridge(args) => bridge::run(&args),
        Command::Server(command) => server::run(&command),
        Command::List(args) => list::run(&args),
        Command::Search(args) => list::search(&args),
        Command::Show(args) => show::run(&args),
        Command::Approve(args) => approve::run(&args),
        Command::Revoke(args) => revoke::run(&args),
        Command::Enable(args) => enable::run(&args, true),
        Command::Disable(args) => enable::run(&args, false),
        Command::Load(args) => load::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Prompt(args) => prompt::run(&args),
        Command::Lock(args) => lock::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Unpack(args) => unpack::run(&args),
        Command::Convert(args) => convert::run(&args),
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
pub(crate) type Outcome = Result<Exit, Failure>;
