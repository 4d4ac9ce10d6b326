//! Generates completions and manual pages from the definition of the command line.

use std::io::Write;

use clap::CommandFactory;

use super::Outcome;
use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    exit::Exit,
    failure::Failure,
};

/// `skillwire completions`: a script for a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "skillwire", &mut script);
    print(&script)
}

/// `skillwire man`: the manual page of the program, or those of all commands in a folder.
pub(super) fn manual(args: &ManArgs) -> Outcome {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        return print(&page);
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|error| {
            Failure::usage(format!("`{}` cannot be written.", dir.display())).because(error)
        })?;
    Ok(Exit::Ok)
}

fn print(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Exit::Ok)
}
