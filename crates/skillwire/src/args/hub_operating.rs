//! The commands of an operator of a hub, as they were typed: its folder, keys, policies, log and copies.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{HubTarget, LogFormat};

#[derive(Debug, Subcommand)]
pub(crate) enum HubKeyCommand {
    /// Make the first key; from then on, the hub signs what it serves.
    New(HubKeyNewArgs),
    /// Add a key; the hub signs with the old ones, too, until they are retired.
    Rotate(HubKeyNewArgs),
    /// Show the keys that sign, the oldest first.
    List(HubKeyArgs),
    /// Stop signing with a key.
    Retire(HubKeyRetireArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubPolicyCommand {
    /// Print what a policy may ask about, as a schema of Cedar.
    Schema(HubPolicySchemaArgs),
    /// Check a file of policies.
    Check(HubPolicyCheckArgs),
    /// Compare a file of policies with what the hub decides now, for every skill and known caller.
    ///
    /// The exit code is 1 if something would change.
    Test(HubPolicyTestArgs),
    /// Say whether a caller sees a skill, and which rule decides.
    Explain(HubPolicyExplainArgs),
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
pub(crate) struct HubKeyNewArgs {
    /// The folder of the hub.
    pub(crate) dir: PathBuf,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
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
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubPolicySchemaArgs {
    /// Print the result as JSON, with the schema as a text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubPolicyCheckArgs {
    /// The file of policies.
    pub(crate) file: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
    /// Say what would be made, and make nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
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
pub(crate) struct HubAuditArgs {
    /// Only events about this content.
    #[arg(long, value_name = "sha256:HEX")]
    pub(crate) content: Option<String>,
    /// Only events about this skill and its versions, as `NAMESPACE/NAME`, or about one, as `NAMESPACE/NAME@VERSION`.
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
    /// Say what would be copied, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubRestoreArgs {
    /// The folder of the backup.
    pub(crate) from: PathBuf,
    /// The folder of the new hub. A `hub.toml` that is there counts; without one, that of the backup is taken.
    pub(crate) dir: PathBuf,
    /// Check the backup, say what would be restored, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubPurgeArgs {
    /// The version, as `NAMESPACE/NAME@VERSION`.
    #[arg(required_unless_present = "subject")]
    pub(crate) version: Option<String>,
    /// Erase the name of this person instead, as `hub token list` or the log shows it.
    #[arg(long, value_name = "NAME", conflicts_with = "version")]
    pub(crate) subject: Option<String>,
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
    /// The new database: a file, or such as `postgres://hub@db/hub`.
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// The new store of bytes, such as `s3://bucket/prefix` [default: the present one].
    #[arg(long, value_name = "URL")]
    pub(crate) blobs: Option<String>,
    /// Say what would be copied, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
