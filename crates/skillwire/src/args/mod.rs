//! The command line as it was typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use serde::Deserialize;

pub(crate) use self::{
    archive::{ConvertArgs, PackArgs, UnpackArgs},
    bridge::BridgeArgs,
    execution::{DoctorArgs, IsolationArgs, RunArgs, ScriptRule},
    host::{
        ApproveArgs, AuditArgs, ExportArgs, GrantArgs, HandleArgs, HostCommand, ListArgs, LoadArgs,
        LockArgs, OriginArgs, PromptArgs, PromptFormat, ReviewArgs, SearchArgs, ServerAddArgs,
        ServerAllowLegacyArgs, ServerCommand, ServerImportArgs, ServerKind, ServerListArgs,
        ServerLoginArgs, ServerLogoutArgs, ServerRemoveArgs, ServerSetArgs, ServerTrustArgs,
        ShowArgs, VerifyArgs, WindowsArgs,
    },
    hub::{
        HubCommand, HubDiffArgs, HubImportArgs, HubListArgs, HubPromoteArgs, HubPublishArgs,
        HubRollbackArgs, HubStateArgs, HubTarget, HubTokenCommand, HubTokenListArgs,
        HubTokenNewArgs, HubTokenRevokeArgs, HubVersionsArgs, LoginArgs, PublishArgs,
    },
    hub_namespaces::{
        HubNamespaceChangeArgs, HubNamespaceChanges, HubNamespaceCommand, HubNamespaceDistrustArgs,
        HubNamespaceGrantArgs, HubNamespaceListArgs, HubNamespaceNewArgs,
        HubNamespacePublishersArgs, HubNamespaceTrustArgs,
    },
    hub_operating::{
        HubAuditArgs, HubBackupArgs, HubGcArgs, HubInitArgs, HubKeyArgs, HubKeyCommand,
        HubKeyNewArgs, HubKeyRetireArgs, HubMigrateArgs, HubPolicyCheckArgs, HubPolicyCommand,
        HubPolicyExplainArgs, HubPolicySchemaArgs, HubPolicyTestArgs, HubPurgeArgs, HubRestoreArgs,
        HubServeArgs,
    },
    hub_review::{
        HubReviewArgs, HubReviewCommand, HubReviewDecideArgs, HubReviewListArgs, HubReviewShowArgs,
        HubUpstreamAddArgs, HubUpstreamCommand, HubUpstreamListArgs, HubUpstreamRemoveArgs,
        HubUpstreamSetArgs, HubUpstreamSource, HubUpstreamTerms,
    },
    install::{AddArgs, RemoveArgs, ScopeArgs, SyncArgs, UpdateArgs},
    scan::{ScanArgs, SeverityArg},
    serve::{CacheScopeArg, HttpAddress, IdentityArgs, LogFormat, ServeArgs},
    setup::SetupArgs,
    sign::{KeyCommand, KeyNewArgs, SignArgs, TrustedSignerArgs, VerifySignatureArgs},
    ui::UiArgs,
};
use crate::{
    completion::{codes, folders_after_prefix},
    exit::EXIT_CODES,
};

mod archive;
mod bridge;
mod execution;
mod host;
mod hub;
mod hub_namespaces;
mod hub_operating;
mod hub_review;
mod install;
mod scan;
mod serve;
mod setup;
mod sign;
mod ui;

/// The commands to begin with.
const START: &str = "\
Begin with:
  skillwire setup                   give all your skills to the agents on this machine
  skillwire add OWNER/REPO          install skills of a repository for these agents
  skillwire server add LABEL URL    use the skills of a server
  skillwire check DIR               say what is wrong with your own skills
  skillwire serve DIR               serve them to an MCP client";

/// Checks, serves and uses Agent Skills over MCP.
#[derive(Debug, Parser)]
#[command(
    name = "skillwire",
    version = crate::version::short(),
    long_version = crate::version::long(),
    after_help = START,
    after_long_help = format!("{START}\n\n{EXIT_CODES}"),
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the beginning of a skill, for you to fill in.
    #[command(alias = "init")]
    New(NewArgs),
    /// Say everything that is wrong with skills, and how to fix it.
    Check(CheckArgs),
    /// Say what skills would do, and what they reach out to.
    ///
    /// A finding shows the text that it rests on and says how sure the scanner is. It does not claim to
    /// find every attack: instructions in plain prose are for a reviewer to read.
    Scan(ScanArgs),
    /// Check skills each time they change, and show them as a client would receive them.
    Watch(WatchArgs),
    /// Help an editor with skills: findings, fixes and links while you type.
    ///
    /// The editor starts this command and speaks the Language Server Protocol over standard input and
    /// output. docs/editor.md has the settings of editors.
    Lsp(LspArgs),
    /// Show the entries that would be served, and what is skipped and why.
    Manifest(ManifestArgs),
    /// Serve folders of skills over MCP.
    Serve(Box<ServeArgs>),
    /// Give any MCP client the skills of your servers and folders, as tools and prompts.
    ///
    /// Put this command into the client's configuration. A skill of a server is loaded only after
    /// you approved it: in the client if it can ask you, else with `skillwire approve`. What the
    /// client does with a skill's text, and what its own tools may do, is for the client to control.
    Bridge(BridgeArgs),
    /// Add the bridge to the agents on this machine.
    ///
    /// Finds the agents, shows what would change in the configuration of each, and changes it once
    /// you agree. Comments, order and other servers stay as they are, and the old file is kept beside
    /// the new one. The bridge is then started once as each agent would start it.
    Setup(SetupArgs),
    /// Install skills of a repository or another source for your agents.
    ///
    /// The skills are fetched, checked and shown before anything is written. All files of a skill are
    /// installed, or none. What was installed, from which commit and with which content, is recorded:
    /// `update` shows what changed since, and `remove` leaves nothing behind.
    ///
    /// A skill of a server (`LABEL:NAME`) is approved instead, as `approve` does: no copy of it is made.
    #[command(alias = "install")]
    Add(AddArgs),
    /// Show what changed in installed skills since they were installed, and install it.
    #[command(alias = "upgrade")]
    Update(UpdateArgs),
    /// Remove installed skills, with everything that was made for them.
    #[command(alias = "rm", alias = "uninstall")]
    Remove(RemoveArgs),
    /// Install and approve the skills that this project names in its `skillwire.toml`.
    ///
    /// `skillwire.lock` pins the contents, so that everyone who works on the project gets the same. You
    /// are asked once whether you trust the files of the project as they are.
    Sync(SyncArgs),
    /// Look at your skills, decide, and see what happened, in a browser.
    ///
    /// The page is served on this machine alone, until you end this command. The address that it prints
    /// signs in one browser, once.
    Ui(UiArgs),
    #[command(flatten)]
    Host(HostCommand),
    /// Run a script of an approved skill in isolation.
    ///
    /// The skill must be approved with `--exec`. The script runs in a private copy of the skill's
    /// verified files, without network, with only those of your files and variables that you name, and
    /// with bounded time, memory and space. Where this machine cannot isolate it, it does not run.
    ///
    /// The script's exit code is the exit code of this command. If the script was not run, or was
    /// stopped, the exit code is 100 plus the code of the reason in `skillwire --help`.
    #[command(override_usage = "skillwire run [OPTIONS] <HANDLE> <SCRIPT> [ARGS]...")]
    Run(Box<RunArgs>),
    /// Show how scripts can be isolated on this machine, and what is missing.
    Doctor(DoctorArgs),
    /// Make keys to sign skills with.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Sign the files of a skill with your key.
    ///
    /// The signature is an in-toto statement in a DSSE envelope: each file with its path, size and
    /// SHA-256 digest. The same skill and key always give the same signature.
    Sign(SignArgs),
    /// Verify who signed a skill, and that nothing was added, removed or changed since.
    ///
    /// No signer is trusted unless you name it. Keys, roots and logs are read from files of yours, and
    /// no signing service is asked. The exit code is 3 if a skill is not verified.
    VerifySignature(VerifySignatureArgs),
    /// Run a hub: skills in versions, for a team.
    #[command(subcommand)]
    Hub(HubCommand),
    /// Publish a skill to a hub, as its next version.
    ///
    /// The skill is checked, and what changed since the last version is shown. Publishing the same
    /// bytes again changes nothing and succeeds.
    Publish(PublishArgs),
    /// Log in to a hub with a token; later commands use it.
    Login(LoginArgs),
    /// Pack a skill into one archive, with the same bytes every time.
    Pack(PackArgs),
    /// Unpack an archive of a skill, all of it or nothing.
    ///
    /// Everything is checked before anything is written: no path and no link may lead outside, no
    /// two names may collide on any file system, and number and size of files are limited. The exit
    /// code is 3 if the archive is refused.
    Unpack(UnpackArgs),
    /// Convert a document that lists skills from one dialect to another.
    ///
    /// The documents are those of `D1` (a page of `skills/list`), `D2` and `D3`
    /// (`skill://index.json`), `D7` (`_manifest`) and `D11` (`/.well-known/`). The exit code is 1 if the
    /// document lacks what the other dialect needs.
    Convert(ConvertArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for every command.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The skill's name: 1 to 64 characters of `a-z`, `0-9` and `-`.
    pub(crate) name: String,
    /// The folder to put it in.
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Skills, folders of skills, or `SKILL.md` files.
    #[arg(default_value = ".", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    /// How findings are printed [default: human].
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Make the fixes that change nothing a reader sees.
    #[arg(long)]
    pub(crate) fix: bool,
    /// With `--fix` or `--diff`: write the directory's name where `name` is missing or invalid.
    #[arg(long)]
    pub(crate) fix_names: bool,
    /// With `--fix` or `--diff`: fix skills that are signed, too, which breaks their signatures.
    #[arg(long)]
    pub(crate) fix_signed: bool,
    /// Show the fixes as a diff; without `--fix` none is made.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Say which findings another validator would raise and which it would miss.
    #[arg(long, value_enum, value_name = "VALIDATOR")]
    pub(crate) compare: Option<OtherValidator>,
    /// Also scan for what the skills would do, as `skillwire scan` does.
    #[arg(long)]
    pub(crate) scan: bool,
    /// Print the page of a reason code.
    #[arg(long, value_name = "CODE", exclusive = true, add = codes())]
    pub(crate) explain: Option<String>,
    /// Print how often each code was found instead of the findings.
    #[arg(long)]
    pub(crate) statistics: bool,
    /// Report only findings with these codes, such as `link-missing` or `yaml-*`.
    #[arg(long, value_name = "CODE", value_delimiter = ',', add = codes())]
    pub(crate) select: Vec<String>,
    /// Leave out findings with these codes.
    #[arg(long, value_name = "CODE", value_delimiter = ',', add = codes())]
    pub(crate) ignore: Vec<String>,
    /// Do not check skills and files at these paths below the folder, such as `drafts/**`; may be
    /// repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Do not take files with this name or path for secrets; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_secret_file: Vec<String>,
    /// Follow links between skills wherever they lead, not only inside the folder or repository.
    #[arg(long)]
    pub(crate) follow_links: bool,
}

impl CheckArgs {
    /// How findings are printed.
    pub(crate) fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format.unwrap_or_default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub(crate) enum ReportFormat {
    /// With the text underlined, for people.
    #[default]
    Human,
    /// One line for each finding, for people and for editors.
    Concise,
    /// One object with everything.
    Json,
    /// SARIF 2.1.0, for code scanners.
    Sarif,
    /// Commands that GitHub Actions shows beside the lines.
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherValidator {
    /// The Python package `skills-ref`.
    Reference,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// A skill, or a folder of skills.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: String,
    /// Print one JSON object on each line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not take files with this name or path for secrets; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_secret_file: Vec<String>,
    /// Follow links between skills wherever they lead, not only inside the folder or repository.
    #[arg(long)]
    pub(crate) follow_links: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Ignored: many editors pass it, and there is no other way to speak.
    #[arg(long, hide = true)]
    stdio: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Skills or folders of skills, each as `[PREFIX=]DIR`.
    #[arg(required = true, value_name = "PATH", add = folders_after_prefix())]
    pub(crate) paths: Vec<String>,
    /// Print entries and skipped skills as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// How folders are read.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ReadingArgs {
    /// Leave out skills whose name differs from their directory's, or that some hosts refuse.
    #[arg(long, conflicts_with = "lenient")]
    pub(crate) strict: bool,
    /// Also serve skills with an over-long description or compatibility note.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The scheme of the URIs [default: skill].
    #[arg(long, value_name = "SCHEME")]
    pub(crate) scheme: Option<String>,
    /// Serve files with this name or path although they look like secrets; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_secret_file: Vec<String>,
    /// Leave out skills with a file that has another hard link.
    #[arg(long)]
    pub(crate) require_single_link: bool,
    /// Follow links between skills wherever they lead, not only inside the folder or repository.
    #[arg(long)]
    pub(crate) follow_links: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
