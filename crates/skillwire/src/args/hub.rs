//! The commands of a hub, as they were typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{HubReviewArgs, HubUpstreamCommand, LogFormat};

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
    /// Erase the bytes of a version for good, for legal reasons.
    ///
    /// The version stays as a tombstone, and the name of its publisher becomes a pseudonym in the log.
    Purge(HubPurgeArgs),
    /// Copy a hub to another database or object store.
    Migrate(HubMigrateArgs),
    /// Publish every skill of a folder, a git repository, an MCP server or a web origin.
    Import(HubImportArgs),
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

#[derive(Debug, Subcommand)]
pub(crate) enum HubKeyCommand {
    /// Make the first key; from then on, the hub signs what it serves.
    New(HubKeyArgs),
    /// Add a key; the hub signs with the old ones, too, until they are retired.
    Rotate(HubKeyArgs),
    /// Show the keys that sign, the oldest first.
    List(HubKeyArgs),
    /// Stop signing with a key.
    Retire(HubKeyRetireArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubPolicyCommand {
    /// Print what a policy may ask about, as a schema of Cedar.
    Schema,
    /// Check a file of policies.
    Check(HubPolicyCheckArgs),
    /// Compare a file of policies with what the hub decides now, for every skill and known caller.
    ///
    /// The exit code is 1 if something would change.
    Test(HubPolicyTestArgs),
    /// Say whether a caller sees a skill, and which rule decides.
    Explain(HubPolicyExplainArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubNamespaceCommand {
    /// Make a namespace.
    New(HubNamespaceNewArgs),
    /// Show the namespaces that you may read.
    List(HubNamespaceListArgs),
    /// Change the rules and limits of a namespace.
    Change(HubNamespaceChangeArgs),
    /// Give a subject a role in a namespace, or take it away.
    Grant(HubNamespaceGrantArgs),
    /// Trust workflows of CI to publish into a namespace.
    Trust(HubNamespaceTrustArgs),
    /// Show the workflows that a namespace trusts.
    Publishers(HubNamespacePublishersArgs),
    /// Stop to trust a workflow.
    Distrust(HubNamespaceDistrustArgs),
}

/// Which hub, and how results are printed.
#[derive(Debug, Args)]
pub(crate) struct HubTarget {
    /// The hub: its URL, or its folder on this machine [default: the one you logged in to].
    #[arg(long, value_name = "URL|DIR")]
    pub(crate) hub: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubKeyArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubKeyRetireArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// The id of the key, or its beginning.
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct HubPolicyCheckArgs {
    /// The file of policies.
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HubPolicyTestArgs {
    /// The file of policies.
    pub(crate) file: PathBuf,
    /// The folder of the hub.
    #[arg(long, value_name = "DIR")]
    pub(crate) hub: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubPolicyExplainArgs {
    /// The skill, as `NAMESPACE/NAME`.
    pub(crate) skill: String,
    /// The caller: a subject, `group:NAME`, or `*` for callers without a token.
    #[arg(long = "as", value_name = "WHO")]
    pub(crate) caller: String,
    /// The folder of the hub.
    #[arg(long, value_name = "DIR")]
    pub(crate) hub: PathBuf,
    /// A file of policies in place of the hub's.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubInitArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubServeArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// The address to listen on [default: that of `hub.toml`].
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// A name under which clients reach the hub, besides those of this machine; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// The threads that serve connections [default: one for each processor].
    #[arg(long, value_name = "COUNT")]
    pub(crate) threads: Option<usize>,
    /// How lines of the log are written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
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
    /// The days after which the token is refused.
    #[arg(long)]
    pub(crate) days: Option<u32>,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubTokenListArgs {
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubTokenRevokeArgs {
    /// The number of the token, as lists show it.
    pub(crate) id: u64,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceNewArgs {
    /// Its name: 2 to 39 characters of `a-z`, `0-9` and `-`.
    pub(crate) name: String,
    /// Make names that look like those of its skills wait for a reviewer elsewhere.
    #[arg(long)]
    pub(crate) protected: bool,
    /// Make versions wait for a reviewer who did not publish them.
    #[arg(long)]
    pub(crate) review: bool,
    /// Let clients without a token read its skills.
    #[arg(long)]
    pub(crate) public: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceListArgs {
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceGrantArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// Who gets the role; `*` is everyone, with or without a token.
    pub(crate) subject: String,
    /// The role: `reader`, `publisher`, `reviewer` or `owner`.
    pub(crate) role: String,
    /// Take the role away instead.
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceTrustArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// The issuer of the tokens, such as `https://token.actions.githubusercontent.com`.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: String,
    /// What a claim must be, such as `repository=acme/skills`; may be repeated, and all must match.
    #[arg(long, value_name = "NAME=VALUE", required = true)]
    pub(crate) claim: Vec<String>,
    /// Who acts when such a workflow publishes; `ci@NAMESPACE` when not given.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespacePublishersArgs {
    /// The namespace.
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceDistrustArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// The number of the workflow, as `hub namespace publishers` shows it.
    pub(crate) id: u64,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
#[group(id = "changes", required = true, multiple = true)]
pub(crate) struct HubNamespaceChanges {
    /// Whether names that look like those of its skills wait for a reviewer elsewhere.
    #[arg(long, value_name = "true|false")]
    pub(crate) protected: Option<bool>,
    /// Whether versions wait for a reviewer who did not publish them.
    #[arg(long, value_name = "true|false")]
    pub(crate) review: Option<bool>,
    /// The most skills that it may have.
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_skills: Option<u64>,
    /// The most versions that one skill may have.
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_versions: Option<u64>,
    /// The most bytes that its versions may have together.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceChangeArgs {
    /// The namespace.
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) changes: HubNamespaceChanges,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubAuditArgs {
    /// Only events about this content.
    #[arg(long, value_name = "sha256:HEX")]
    pub(crate) content: Option<String>,
    /// Only events about this skill, as `NAMESPACE/NAME`.
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// Only what this subject did.
    #[arg(long)]
    pub(crate) actor: Option<String>,
    /// Only this action, such as `read` or `publish`.
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// Only events from this moment on, such as `2026-11-18T10:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only events before this moment.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// The most events that are shown.
    #[arg(long, default_value = "100")]
    pub(crate) limit: usize,
    /// Check the chain of hashes over the whole log instead.
    #[arg(long, conflicts_with_all = ["content", "skill", "actor", "action", "since", "until"])]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubGcArgs {
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubBackupArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// The folder to write the backup to; it must not exist.
    pub(crate) to: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubRestoreArgs {
    /// The folder of the backup.
    pub(crate) from: PathBuf,
    /// The folder of the new hub.
    pub(crate) dir: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubPurgeArgs {
    /// The version, as `NAMESPACE/NAME@VERSION`.
    pub(crate) version: String,
    /// Why, for everyone who reads the log.
    #[arg(long)]
    pub(crate) reason: String,
    /// Erase without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Say what would be erased, and erase nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubMigrateArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// The new database, such as `postgres://hub@db/hub`.
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// The new store of bytes, such as `s3://bucket/prefix` [default: the present one].
    #[arg(long, value_name = "URL")]
    pub(crate) blobs: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubImportArgs {
    /// A folder, the URL of a git repository, a configured server's label, or a web origin.
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
    #[arg(value_name = "DIR")]
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
