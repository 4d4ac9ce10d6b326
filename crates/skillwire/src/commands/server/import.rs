//! `skillwire server import`: the servers of another MCP client.

use std::io::Write as _;

use super::{Outcome, unusable};
use crate::{
    args::ServerImportArgs, exit::Exit, failure::Failure, session::warn, settings::HostSettings,
};

pub(super) fn run(args: &ServerImportArgs) -> Outcome {
    let file = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::usage(format!("`{file}` cannot be read: {error}.")))?;
    let imported = skillwire_state::import(&text).map_err(|error| {
        Failure::usage(format!("`{file}` cannot be imported: it {error}."))
            .hint("The file must look like `{\"mcpServers\": {\"acme\": {\"url\": \"...\"}}}`.")
    })?;
    for problem in &imported.problems {
        warn(&problem.to_string())?;
    }
    let servers = HostSettings::resolve()?.servers();
    let mut added = 0;
    for (label, config) in &imported.servers {
        if servers.add(label, config).map_err(unusable)? {
            added += 1;
            writeln!(anstream::stdout(), "Added the server `{label}`.")?;
        } else {
            warn(&format!("There is a server `{label}` already; it stays as it is."))?;
        }
    }
    if added == 0 {
        return Err(Failure::new(Exit::Findings, format!("No server of `{file}` was added.")));
    }
    Ok(Exit::Ok)
}
