//! `skillwire hub`, `publish` and `login`: skills in versions, for a team.

mod change;
mod client;
mod fetched;
mod import;
mod init;
pub(super) mod login;
mod namespaces;
mod operate;
pub(super) mod publish;
mod read;
mod serve;
mod tokens;

use super::Outcome;
use crate::args::{HubCommand, HubNamespaceCommand, HubTokenCommand};

pub(super) fn run(command: &HubCommand) -> Outcome {
    use skillwire_hub::Transition;
    match command {
        HubCommand::Init(args) => init::run(args),
        HubCommand::Serve(args) => serve::run(args),
        HubCommand::List(args) => read::list(args),
        HubCommand::Versions(args) => read::versions(args),
        HubCommand::Diff(args) => read::diff(args),
        HubCommand::Promote(args) => change::promote(args),
        HubCommand::Rollback(args) => change::roll_back(args),
        HubCommand::Approve(args) => change::step(args, Transition::Approve),
        HubCommand::Reject(args) => change::step(args, Transition::Reject),
        HubCommand::Deprecate(args) => change::step(args, Transition::Deprecate),
        HubCommand::Yank(args) => change::step(args, Transition::Yank),
        HubCommand::Reinstate(args) => change::step(args, Transition::Restore),
        HubCommand::Revoke(args) => change::revoke(args),
        HubCommand::Token(HubTokenCommand::New(args)) => tokens::create(args),
        HubCommand::Token(HubTokenCommand::List(args)) => tokens::list(args),
        HubCommand::Token(HubTokenCommand::Revoke(args)) => tokens::revoke(args),
        HubCommand::Namespace(HubNamespaceCommand::New(args)) => namespaces::create(args),
        HubCommand::Namespace(HubNamespaceCommand::List(args)) => namespaces::list(args),
        HubCommand::Namespace(HubNamespaceCommand::Grant(args)) => namespaces::grant(args),
        HubCommand::Namespace(HubNamespaceCommand::Trust(args)) => namespaces::trust(args),
        HubCommand::Audit(args) => read::audit(args),
        HubCommand::Gc(args) => operate::collect(args),
        HubCommand::Backup(args) => operate::backup(args),
        HubCommand::Restore(args) => operate::restore(args),
        HubCommand::Purge(args) => operate::purge(args),
        HubCommand::Migrate(args) => operate::migrate(args),
        HubCommand::Import(args) => import::run(args),
    }
}
