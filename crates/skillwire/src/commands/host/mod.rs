//! Using skills of servers and of folders on this machine.

mod approve;
pub(crate) mod audit;
mod browse;
mod export;
mod list;
mod load;
pub(super) mod lock;
mod prompt;
#[cfg(feature = "review")]
mod review;
#[cfg(feature = "search")]
mod search;
mod server;
mod show;
mod skill_arguments;
mod standing;
mod verify;
pub(crate) mod windows;

#[cfg(feature = "setup")]
use skillwire_trust::ServerLabel;

use super::{Outcome, output_folder};
use crate::args::HostCommand;
#[cfg(feature = "setup")]
use crate::{args::ServerAddArgs, failure::Failure, prose};

/// Configures a server, as `server add` does; what it says goes to standard error if standard output
/// is for JSON.
#[cfg(feature = "setup")]
pub(super) fn add_server(args: &ServerAddArgs, json: bool) -> Outcome {
    if json {
        server::add(args, &mut prose::stderr())
    } else {
        server::add(args, &mut prose::stdout())
    }
}

/// The label under which such a server is configured already.
#[cfg(feature = "setup")]
pub(super) fn configured_as(args: &ServerAddArgs) -> Result<Option<ServerLabel>, Failure> {
    server::configured_as(args)
}

pub(super) fn run(command: &HostCommand) -> Outcome {
    match command {
        HostCommand::Server(command) => server::run(command),
        HostCommand::List(args) => list::run(args),
        #[cfg(feature = "search")]
        HostCommand::Search(args) => search::run(args),
        HostCommand::Show(args) => show::run(args),
        HostCommand::Approve(args) => approve::run(args),
        #[cfg(feature = "review")]
        HostCommand::Review(args) => review::run(args),
        HostCommand::Revoke(args) => standing::revoke(args),
        HostCommand::Enable(args) => standing::set_enabled(args, true),
        HostCommand::Disable(args) => standing::set_enabled(args, false),
        HostCommand::Load(args) => load::run(args),
        HostCommand::Verify(args) => verify::run(args),
        HostCommand::Prompt(args) => prompt::run(args),
        HostCommand::Lock(args) => lock::run(args),
        HostCommand::Audit(args) => audit::run(args),
        HostCommand::Windows(args) => windows::run(args),
        HostCommand::Export(args) => export::run(args),
        #[cfg(not(all(feature = "review", feature = "search")))]
        missing => unreachable!("{missing:?} was refused, as it is not built in"),
    }
}
