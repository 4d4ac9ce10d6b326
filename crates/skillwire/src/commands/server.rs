//! `skillwire server`: the servers whose skills are used.

mod add;
mod allow_legacy;
mod import;
mod list;
#[cfg(feature = "oauth")]
mod login;
mod logout;
mod remove;

use skillwire_trust::{ServerLabel, StoreError};

use super::Outcome;
use crate::{args::ServerCommand, failure::Failure};

pub(super) fn run(command: &ServerCommand) -> Outcome {
    match command {
        ServerCommand::Add(args) => add::run(args),
        ServerCommand::AllowLegacy(args) => allow_legacy::run(args),
        ServerCommand::Import(args) => import::run(args),
        ServerCommand::List(args) => list::run(args),
        #[cfg(feature = "oauth")]
        ServerCommand::Login(args) => login::run(args),
        ServerCommand::Logout(args) => logout::run(args),
        ServerCommand::Remove(args) => remove::run(args),
    }
}

fn label(text: &str) -> Result<ServerLabel, Failure> {
    ServerLabel::parse(text).map_err(|error| {
        Failure::usage(format!("The label `{}` {error}.", text.escape_debug()))
            .hint("Use a label such as `acme` or `work.github`.")
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` passes")]
fn unusable(error: StoreError) -> Failure {
    Failure::usage(format!("{error}."))
}
