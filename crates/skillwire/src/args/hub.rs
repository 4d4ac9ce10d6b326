//! The commands of a hub, as they were typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{
    HubAuditArgs, HubBackupArgs, HubGcArgs, HubInitArgs, HubKeyCommand, HubMigrateArgs,
    HubNamespaceCommand, HubPolicyCommand, HubPurgeArgs, HubRestoreArgs, HubReviewArgs,
    HubServeArgs, HubUpstreamCommand,
};
use crate::completion::paths_or_labels;

#[derive(Debug, Subcommand)]
pub(crate) enum HubCommand {
    /// Make a hub in a folder: its configuration, its database and a first token.
    ///
    /// The token may do everything and is shown once. A folder that holds a hub already stays as it
    /// is.
    Init(HubInitArgs),
    /// Serve a hub: skills over MCP, the API and the well-known address.
    Serve(HubServeArgs),
    /// Show the skills of a hub, with the versions of their channels.
    List(HubListArgs),
    /// Show the versions of a skill.
    Versions(HubVersionsArgs),
    /// Show what differs between two versions.
    Diff(HubDiffArgs),
    /// Point a channel of a skill to a version.
    Promote(HubPromoteArgs),
    /// Point a channel back to the version before.
    ///
    /// Versions that are yanked or revoked are skipped.
    Rollback(HubRollbackArgs),
    /// Let a version that waits be served.
    Approve(HubStateArgs),
    /// Refuse a version that waits.
    Reject(HubStateArgs),
    /// Tell users of a version to move on; it is still served.
    Deprecate(HubStateArgs),
    /// Take a version out of lists and channels; clients that name it still read it.
    Yank(HubStateArgs),
    /// Take a deprecation or a yank back.
    Reinstate(HubStateArgs),
    /// Refuse the bytes of a version, or of a content everywhere, from now on.
    Revoke(HubStateArgs),
    /// Pass on the skills of other servers, repositories, folders and web sites.
    #[command(subcommand)]
    Upstream(HubUpstreamCommand),
    /// Show what waits for your review, and decide.
    Review(HubReviewArgs),
    /// Make, show and revoke tokens.
    #[command(subcommand)]
    Token(HubTokenCommand),
    /// Make namespaces, and say who may do what in them.
    #[command(subcommand)]
    Namespace(HubNamespaceCommand),
    /// Make, show and retire the keys that the hub signs its decisions with.
    #[command(subcommand)]
    Key(HubKeyCommand),
    /// Check and try rules about who sees which skills.
    #[command(subcommand)]
    Policy(HubPolicyCommand),
    /// Show who did what, and who read what.
    ///
    /// `--content sha256:... --action read --since TIME --until TIME` answers who read a content between two
    /// moments, if `hub.toml` has reads recorded.
    Audit(HubAuditArgs),
    /// Remove bytes that no version names, after a grace time.
    Gc(HubGcArgs),
    /// Copy a hub's records and bytes into a folder, while it runs.
    Backup(HubBackupArgs),
    /// Make a hub from a backup, in a folder without one.
    Restore(HubRestoreArgs),
    /// Erase the bytes of a version, or the name of a person, for legal reasons.
    ///
    /// A version stays as a number without files, revoked; the name of its publisher stays, too. With `--subject`, a
    /// pseudonym takes the place of a person's name in versions, channels, roles, tokens and the log; the tokens are
    /// revoked. Reasons and files that name the person stay as they are.
    Purge(HubPurgeArgs),
    /// Copy a hub to another database or object store. Stop the hub first.
    ///
    /// A hub that still runs is copied, too, but what it takes after the copy is not in the new place.
    Migrate(HubMigrateArgs),
    /// Publish every skill of a folder, a git repository, an MCP server or a web origin.
    Import(HubImportArgs),
    /// Only says which command publishes.
    #[command(hide = true, disable_help_flag = true)]
    Publish(HubPublishArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HubPublishArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<std::ffi::OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubTokenCommand {
    /// Make a token; it is shown once.
    New(HubTokenNewArgs),
    /// Show the tokens, without the secrets.
    List(HubTokenListArgs),
    /// Refuse a token from now on.
    Revoke(HubTokenRevokeArgs),
}

/// Which hub, and how results are printed.
#[derive(Debug, Args)]
pub(crate) struct HubTarget {
    /// The hub: its URL, or its folder on this machine [default: the one you logged in to].
    #[arg(long, value_name = "URL|DIR", value_hint = ValueHint::DirPath)]
    pub(crate) hub: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubListArgs {
    /// Only this namespace.
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubVersionsArgs {
    /// The skill, as `NAMESPACE/NAME`.
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubDiffArgs {
    /// The skill, as `NAMESPACE/NAME`.
    pub(crate) skill: String,
    /// The earlier version.
    pub(crate) from: String,
    /// The later version.
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubPromoteArgs {
    /// The skill, as `NAMESPACE/NAME`.
    pub(crate) skill: String,
    /// The version.
    pub(crate) version: String,
    /// The channel, such as `stable`.
    pub(crate) channel: String,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubRollbackArgs {
    /// The skill, as `NAMESPACE/NAME`.
    pub(crate) skill: String,
    /// The channel, such as `stable`.
    pub(crate) channel: String,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubStateArgs {
    /// The version, as `NAMESPACE/NAME@VERSION`; for `revoke` also a content, as `sha256:...`.
    pub(crate) version: String,
    /// Why, for everyone who reads the log.
    #[arg(long)]
    pub(crate) reason: String,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubTokenNewArgs {
    /// Who acts with the token, such as `ana` or `ci-billing`.
    pub(crate) subject: String,
    /// What the token is called in lists [default: the subject].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Let the token do everything.
    #[arg(long)]
    pub(crate) admin: bool,
    /// What the token may be used for, at most; may be repeated [default: all but `admin`].
    #[arg(long, value_name = "read|publish|review|manage")]
    pub(crate) scope: Vec<String>,
    /// Limit the token to a namespace; may be repeated.
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: Vec<String>,
    /// The days after which the token is refused, at least 1.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: Option<u32>,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

/// Reads the number of a token or a workflow.
pub(super) fn record_number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "it is not a number as the list of them shows")
}

#[derive(Debug, Args)]
pub(crate) struct HubTokenListArgs {
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubTokenRevokeArgs {
    /// The number of the token, as `hub token list` shows it.
    #[arg(value_parser = record_number)]
    pub(crate) id: u64,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubImportArgs {
    /// A folder, the URL of a git repository, a configured server's label, or a web origin.
    #[arg(add = paths_or_labels())]
    pub(crate) from: String,
    /// The namespace to publish into.
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: String,
    /// The branch, tag or commit of a git repository.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Say what would be published, and publish nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Publish without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Publish skills although the scanner has findings at `high` or above.
    #[arg(long)]
    pub(crate) despite_findings: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The folder of the skill.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: String,
    /// The namespace to publish into.
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: String,
    /// The version [default: `metadata.version` of the skill, else the next patch].
    #[arg(long)]
    pub(crate) version: Option<String>,
    /// Say what would be published, and publish nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Publish without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Publish a skill although the scanner has findings at `high` or above.
    #[arg(long)]
    pub(crate) despite_findings: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The URL of the hub.
    pub(crate) url: String,
    /// A file that holds the token [default: it is asked for, or read from standard input].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Forget the login to this hub.
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) forget: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use crate::args::Cli;

    /// Commands that change nothing; `serve` runs until it is stopped.
    const READERS: [&str; 16] = [
        "serve",
        "list",
        "versions",
        "diff",
        "audit",
        "upstream list",
        "review",
        "review show",
        "token list",
        "namespace list",
        "namespace publishers",
        "key list",
        "policy schema",
        "policy check",
        "policy test",
        "policy explain",
    ];

    fn commands(command: &Command, before: &str, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|it| it.get_name() != "help") {
            let name = format!("{before} {}", inner.get_name()).trim_start().to_owned();
            let leads_on = inner.get_subcommands().any(|it| it.get_name() != "help");
            commands(inner, &name, found);
            if !leads_on || name == "review" {
                found.push((name, inner.clone()));
            }
        }
    }

    #[test]
    fn every_command_of_a_hub_has_json_and_what_changes_something_a_dry_run() {
        let mut cli = Cli::command();
        cli.build();
        let hub = cli.find_subcommand("hub").expect("the command `hub`");
        let mut found = Vec::new();
        commands(hub, "", &mut found);
        assert!(found.len() > 40, "{}", found.len());
        for (name, command) in found {
            // These print nothing of their own, or only which command to use.
            if name == "serve" || name == "publish" {
                continue;
            }
            let has = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
            assert!(has("json"), "`hub {name}` has no `--json`");
            let reads = READERS.contains(&name.as_str());
            assert_eq!(has("dry-run"), !reads, "`hub {name}`");
        }
    }
}
