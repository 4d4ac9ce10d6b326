//! `skillwire completions`: a script for a shell.

use std::io::Write;

use clap::CommandFactory;

use super::Outcome;
use crate::{
    args::{Cli, CompletionsArgs},
    exit::Exit,
};

pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "skillwire", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Ok)
}
