//! `skillwire hub`, `publish` and `login`: skills in versions, for a team.

mod change;
mod client;
mod fetched;
mod following;
mod hints;
mod import;
mod init;
mod keys;
pub(super) mod login;
mod namespaces;
mod operate;
#[cfg(feature = "policy")]
mod policy;
pub(super) mod publish;
mod read;
mod reload;
mod reviews;
mod scanned;
mod serve;
mod tokens;
mod upstream_variables;
mod upstreams;

use super::Outcome;
use crate::args::{
    HubCommand, HubKeyCommand, HubNamespaceCommand, HubPolicyCommand, HubReviewCommand,
    HubTokenCommand, HubUpstreamCommand,
};

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
        HubCommand::Upstream(HubUpstreamCommand::Add(args)) => upstreams::add(args),
        HubCommand::Upstream(HubUpstreamCommand::Set(args)) => upstreams::set(args),
        HubCommand::Upstream(HubUpstreamCommand::List(args)) => upstreams::list(args),
        HubCommand::Upstream(HubUpstreamCommand::Remove(args)) => upstreams::remove(args),
        HubCommand::Review(args) => match &args.command {
            None => reviews::list(&args.list),
            Some(HubReviewCommand::Show(args)) => reviews::show(args),
            Some(HubReviewCommand::Approve(args)) => reviews::decide(args, "approve"),
            Some(HubReviewCommand::Reject(args)) => reviews::decide(args, "reject"),
        },
        HubCommand::Token(HubTokenCommand::New(args)) => tokens::create(args),
        HubCommand::Token(HubTokenCommand::List(args)) => tokens::list(args),
        HubCommand::Token(HubTokenCommand::Revoke(args)) => tokens::revoke(args),
        HubCommand::Namespace(HubNamespaceCommand::New(args)) => namespaces::create(args),
        HubCommand::Namespace(HubNamespaceCommand::List(args)) => namespaces::list(args),
        HubCommand::Namespace(HubNamespaceCommand::Grant(args)) => namespaces::grant(args),
        HubCommand::Namespace(HubNamespaceCommand::Trust(args)) => namespaces::trust(args),
        HubCommand::Namespace(HubNamespaceCommand::Change(args)) => namespaces::change(args),
        HubCommand::Namespace(HubNamespaceCommand::Publishers(args)) => {
            namespaces::publishers(args)
        }
        HubCommand::Namespace(HubNamespaceCommand::Distrust(args)) => namespaces::distrust(args),
        HubCommand::Key(HubKeyCommand::New(args)) => keys::create(args, false),
        HubCommand::Key(HubKeyCommand::Rotate(args)) => keys::create(args, true),
        HubCommand::Key(HubKeyCommand::List(args)) => keys::list(args),
        HubCommand::Key(HubKeyCommand::Retire(args)) => keys::retire(args),
        HubCommand::Policy(command) => policy(command),
        HubCommand::Audit(args) => read::audit(args),
        HubCommand::Gc(args) => operate::collect(args),
        HubCommand::Backup(args) => operate::backup(args),
        HubCommand::Restore(args) => operate::restore(args),
        HubCommand::Purge(args) => operate::purge(args),
        HubCommand::Migrate(args) => operate::migrate(args),
        HubCommand::Import(args) => import::run(args),
        HubCommand::Publish(args) => publish::elsewhere(args),
    }
}

#[cfg(feature = "policy")]
fn policy(command: &HubPolicyCommand) -> Outcome {
    match command {
        HubPolicyCommand::Schema(args) => policy::schema(args),
        HubPolicyCommand::Check(args) => policy::check(args),
        HubPolicyCommand::Test(args) => policy::test(args),
        HubPolicyCommand::Explain(args) => policy::explain(args),
    }
}

#[cfg(not(feature = "policy"))]
fn policy(_: &HubPolicyCommand) -> Outcome {
    unreachable!("it was refused, as it is not built in")
}
