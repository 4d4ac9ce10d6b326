//! The command line as it was typed.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Deserialize;

pub(crate) use self::{
    archive::{ConvertArgs, PackArgs, UnpackArgs},
    bridge::BridgeArgs,
    execution::{DoctorArgs, IsolationArgs, RunArgs, ScriptRule},
    host::{
        ApproveArgs, AuditArgs, ExportArgs, HandleArgs, HostCommand, ListArgs, LoadArgs, LockArgs,
        OriginArgs, PromptArgs, PromptFormat, SearchArgs, ServerAddArgs, ServerAllowLegacyArgs,
        ServerCommand, ServerImportArgs, ServerKind, ServerListArgs, ServerLoginArgs,
        ServerLogoutArgs, ServerRemoveArgs, ShowArgs, VerifyArgs, WindowsArgs,
    },
};
use crate::exit::EXIT_CODES;

mod archive;
mod bridge;
mod execution;
mod host;

/// The commands to begin with.
const START: &str = "\
Begin with:
  skillwire check DIR               say what is wrong with your skills
  skillwire serve DIR               serve them to an MCP client
  skillwire server add LABEL URL    use the skills of a server
  skillwire bridge                  give all your skills to an MCP client";

/// Checks, serves and uses Agent Skills over MCP.
#[derive(Debug, Parser)]
#[command(
    name = "skillwire",
    version,
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
    /// Check skills each time they change, and show them as a client would receive them.
    Watch(WatchArgs),
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
    #[command(flatten)]
    Host(HostCommand),
    /// Run a script of an approved skill in isolation.
    ///
    /// The skill must be approved with `--exec`. A private copy of its verified files is run with no
    /// network, no variables of yours and bounded time, memory and space; where this machine cannot
    /// isolate it, it is not run.
    Run(RunArgs),
    /// Show how scripts can be isolated on this machine, and what is missing.
    Doctor(DoctorArgs),
    /// Pack a skill into one archive, with the same bytes every time.
    Pack(PackArgs),
    /// Unpack an archive of a skill, all of it or nothing.
    ///
    /// Everything is checked before anything is written: no path and no link may lead outside, no
    /// two names may collide on any file system, and number and size of files are limited. A refused
    /// archive is exit code 3.
    Unpack(UnpackArgs),
    /// Convert a document that lists skills from one dialect to another.
    ///
    /// The documents are those of `D1` (a page of `skills/list`), `D2` and `D3`
    /// (`skill://index.json`), `D7` (`_manifest`) and `D11` (`/.well-known/`). A document that lacks
    /// what the other dialect needs is exit code 1.
    Convert(ConvertArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for every command.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The skill's name: 1 to 64 of `a-z`, `0-9` and `-`.
    pub(crate) name: String,
    /// The folder to put it in.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Skills, folders of skills, or `SKILL.md` files.
    #[arg(default_value = ".", value_name = "PATH")]
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
    /// Show the fixes as a diff; without `--fix` none is made.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Say which findings another validator would raise and which it would miss.
    #[arg(long, value_enum, value_name = "VALIDATOR")]
    pub(crate) compare: Option<OtherValidator>,
    /// Print the page of a reason code.
    #[arg(long, value_name = "CODE", exclusive = true)]
    pub(crate) explain: Option<String>,
    /// Do not take files with this name or path for secrets; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_secret_file: Vec<String>,
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
    #[arg(value_name = "DIR")]
    pub(crate) dir: String,
    /// Print one JSON object on each line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not take files with this name or path for secrets; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_secret_file: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Skills or folders of skills, each as `[PREFIX=]DIR`.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Print entries and skipped skills as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// How folders are read.
#[derive(Debug, Args, Default, Deserialize)]
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CacheScopeArg {
    Public,
    Private,
}

/// Where to listen.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HttpAddress(pub(crate) SocketAddr);

impl FromStr for HttpAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.parse().map_err(
            |_| "it must be an IP address with a port, such as `127.0.0.1:8640` or `[::1]:8640`",
        )?;
        Ok(Self(address))
    }
}

impl TryFrom<String> for HttpAddress {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The same names serve as options and as keys of the configuration file.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ServeArgs {
    /// Folders of skills, or single skills, each as `[PREFIX=]DIR`.
    #[arg(value_name = "DIR")]
    pub(crate) dirs: Vec<String>,
    /// Pass on the skills of a configured server under `skill://LABEL/`; may be repeated.
    #[arg(long, value_name = "LABEL")]
    pub(crate) upstream: Vec<String>,
    /// Speak over standard input and output; this is the default.
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Speak streamable HTTP at this address, under `/mcp`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<HttpAddress>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Items on one page of a listing [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<usize>,
    /// How long clients may take an answer for fresh, in milliseconds [default: 60000].
    #[arg(long, value_name = "N")]
    pub(crate) ttl_ms: Option<u64>,
    /// Who may reuse cached answers [default: public].
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) cache_scope: Option<CacheScopeArg>,
    /// Serve skills whose path matches, but do not list them; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) unlisted: Vec<String>,
    /// List supporting files in `resources/list`, not only each `SKILL.md`.
    #[arg(long)]
    pub(crate) list_files: bool,
    /// Do not offer `resources/directory/read`.
    #[arg(long)]
    pub(crate) no_directory_read: bool,
    /// Let web pages of this origin in, for example `https://app.example.com`; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Answer to this host name as well; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A file of `NAME TOKEN [PATTERN...]` lines; required unless the address is loopback.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Speak an older dialect, or do not: `NAME=on` or `NAME=off`; may be repeated.
    #[arg(long, value_name = "NAME=on|off")]
    pub(crate) dialect: Vec<String>,
    /// Answer `skill://SERVER/usage` with this skill, as `[SERVER=]SKILL`.
    #[arg(long, value_name = "SKILL")]
    pub(crate) usage_skill: Option<String>,
    /// Publish skills whose path matches to everybody under `/.well-known/`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) public: Vec<String>,
    /// Offer the tool `find_skills`, which finds skills by words.
    #[arg(long)]
    pub(crate) find_tool: bool,
    /// Run scripts of skills in isolation: those that `--allow-script` or the configuration name.
    #[arg(long)]
    pub(crate) execute: bool,
    /// Let scripts run whose path matches, such as `refunds/scripts/*.py`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_script: Vec<String>,
    /// Run scripts as single confined processes where namespaces are not allowed.
    #[arg(long)]
    pub(crate) accept_restricted: bool,
    /// Scripts that may run and what they are granted; only in the configuration.
    #[arg(skip)]
    pub(crate) script: Vec<ScriptRule>,
    /// Programs for languages; only in the configuration.
    #[arg(skip)]
    pub(crate) interpreters: BTreeMap<String, String>,
    /// Do not remember between starts what was read; every start reads every file.
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Answer `/metrics` with numbers for Prometheus.
    #[arg(long)]
    pub(crate) metrics: bool,
    /// How the log on standard error looks [default: text].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// A TOML file with the same names as these options.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
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
