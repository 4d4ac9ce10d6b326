//! `skillwire man`: manual pages.

use std::io::Write;

use clap::CommandFactory;

use super::Outcome;
use crate::{
    args::{Cli, ManArgs},
    exit::Exit,
    failure::Failure,
};

pub(super) fn run(args: &ManArgs) -> Outcome {
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            let mut out = std::io::stdout().lock();
            out.write_all(&page)?;
            out.flush()?;
        }
        Some(dir) => std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
            .map_err(|error| {
                Failure::usage(format!("`{}` cannot be written: {error}.", dir.display()))
            })?,
    }
    Ok(Exit::Ok)
}
