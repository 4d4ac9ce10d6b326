//! `skillwire completions`: a script for a shell.

use clap::CommandFactory;

use super::Outcome;
use crate::{
    args::{Cli, CompletionsArgs},
    exit::Exit,
};

pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "skillwire", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(Exit::Ok)
}
