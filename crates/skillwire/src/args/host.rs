//! The commands that use skills of servers, as they were typed.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use skillwire_trust::{MemoryLimit, NetworkGrant, TimeLimit, VariableName};

use crate::completion::{files, handles, labels};

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Configure the servers whose skills you use.
    #[command(subcommand)]
    Server(ServerCommand),
    /// Show every skill of every server and of the skill folders on this machine.
    #[command(alias = "ls")]
    List(ListArgs),
    /// Find skills of every server and folder by words, best first.
    #[command(alias = "find")]
    Search(SearchArgs),
    /// Inspect a skill or one of its files; this loads and approves nothing.
    #[command(aliases = ["info", "preview"])]
    Show(ShowArgs),
    /// Show skills and allow them to be loaded, as they are now.
    ///
    /// Several handles, or a pattern such as 'team:*', are shown as one summary to confirm. A pattern
    /// stands for what waits for you: skills that are new or changed. What a server changes or adds
    /// later is asked about again.
    Approve(ApproveArgs),
    /// Decide about everything that waits, on one screen.
    ///
    /// Shows skills that are new or changed, of every server: text, files, changes, and what speaks for
    /// or against them. Nothing is read from a server before you ask for it. A decision counts only
    /// while the skill is what you were shown. Without a terminal, what waits is printed.
    Review(ReviewArgs),
    /// Withdraw an approval with everything that was granted.
    Revoke(HandleArgs),
    /// Show a disabled skill to models again, and allow it to be loaded.
    Enable(HandleArgs),
    /// Stop showing a skill to models and loading it.
    Disable(HandleArgs),
    /// Verify an approved skill and print it as text for a model.
    Load(LoadArgs),
    /// Read everything a server offers and say which rules it breaks.
    ///
    /// Every file is compared with its manifest, and so are directories where the server shows
    /// them. The exit code is 3 if the server breaks a rule that says MUST; one that says SHOULD is
    /// only reported. Nothing is approved, loaded or kept.
    Verify(VerifyArgs),
    /// Print the catalogue of skills as text for a model.
    Prompt(PromptArgs),
    /// Write what is approved into a file that can be reviewed.
    Lock(LockArgs),
    /// Show what happened to skills on this machine.
    Audit(AuditArgs),
    /// Show which skills are in the context of a model, as far as is known.
    ///
    /// A skill counts as loaded until its client unloads it or ends its session. A client that was
    /// killed does neither, so skills that were loaded more than a day ago are left out.
    Windows(WindowsArgs),
    /// Copy the verified files of a skill into a folder, to look at them.
    Export(ExportArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Configure a server under a label of your choice.
    ///
    /// What a server calls itself means nothing: skills, approvals and cached files belong to the
    /// label. A program is always started in the folder in which it was added. `${NAME}` in a header,
    /// a variable, an argument or the URL is filled in from the environment at each connection.
    ///
    /// The server is then connected to, and what it offers is printed. A server that does not answer
    /// is kept, with a warning and exit code 0; `--must-connect` changes that.
    Add(ServerAddArgs),
    /// Configure every server of a file in the `mcpServers` shape.
    Import(ServerImportArgs),
    /// Show the configured servers; secrets are masked.
    #[command(alias = "ls")]
    List(ServerListArgs),
    /// Change how a server is reached; decisions about its skills stay.
    ///
    /// What you do not name stays as it is. An approval is bound to the content of a skill, so it
    /// holds wherever the same content comes from, and asks again where it does not.
    Set(ServerSetArgs),
    /// Look for skills of older kinds among all resources of a server, too.
    ///
    /// Servers from before the Skills extension declare nothing, and their skills are found only by
    /// how their URIs look. That is a guess, so you allow it for each server. What is found needs your
    /// approval and is verified like everything else.
    AllowLegacy(ServerAllowLegacyArgs),
    /// Log in to a server that wants it, with a browser.
    ///
    /// The address to open is printed. The token is kept where only you can read it, sent to this
    /// server alone, and renewed for as long as the server allows.
    Login(ServerLoginArgs),
    /// Forget the login to a server.
    Logout(ServerLogoutArgs),
    /// Take decisions that a server signed instead of a question, by keys of your choice.
    ///
    /// A hub signs what it admits. A decision counts for loading exactly the content, the skill and the
    /// time it is for. Scripts, tools, skills inside other skills and skills without digests still need
    /// your answer. Without a key, every new content does.
    Trust(ServerTrustArgs),
    /// Forget a server, its login, its cached files and all decisions about its skills.
    ///
    /// You are asked first if there are decisions, such as approvals. To change a URL or a token, use
    /// `server set`, which keeps them.
    #[command(alias = "rm")]
    Remove(ServerRemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServerAddArgs {
    /// What you call the server: 1 to 64 characters of `a-z`, `0-9`, `-`, `_` and `.`.
    pub(crate) label: String,
    /// The server's URL, for streamable HTTP.
    #[arg(required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// The program that is the server, with its arguments.
    #[arg(last = true, value_name = "CMD", conflicts_with = "url", value_hint = ValueHint::AnyPath)]
    pub(crate) command: Vec<String>,
    /// A header of every request; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "command")]
    pub(crate) header: Vec<String>,
    /// A file that holds a bearer token, read at each connection.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// A variable for the program's environment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Look for skills of older kinds among all its resources, too.
    #[arg(long)]
    pub(crate) legacy_discovery: bool,
    /// Take decisions signed with this public key instead of asking you; may be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trust_key: Vec<String>,
    /// Do not connect to the server now.
    #[arg(long, conflicts_with = "must_connect")]
    pub(crate) no_connect: bool,
    /// Keep the server only if it answers, and end with the exit code of its failure otherwise.
    #[arg(long)]
    pub(crate) must_connect: bool,
    /// What the URL is: an MCP server, or a web origin with skills below `/.well-known/`.
    #[arg(long, value_enum, value_name = "KIND", default_value = "mcp")]
    pub(crate) kind: ServerKind,
}

#[derive(Debug, Args)]
pub(crate) struct ServerSetArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
    /// The new URL.
    pub(crate) url: Option<String>,
    /// The new program, with its arguments; it is started in the folder you are in now.
    #[arg(last = true, value_name = "CMD", conflicts_with = "url", value_hint = ValueHint::AnyPath)]
    pub(crate) command: Vec<String>,
    /// Send this header, in place of one with the same name; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "command")]
    pub(crate) header: Vec<String>,
    /// Send this header no longer; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) remove_header: Vec<String>,
    /// A file that holds a bearer token, read at each connection; it replaces the header
    /// `Authorization`.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// Use no token file any longer.
    #[arg(long, conflicts_with_all = ["command", "bearer_token_file"])]
    pub(crate) no_bearer_token_file: bool,
    /// A variable for the program's environment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Give the program this variable no longer; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pub(crate) remove_env: Vec<String>,
    /// Do not connect to the server now.
    #[arg(long, conflicts_with = "must_connect")]
    pub(crate) no_connect: bool,
    /// Change it only if the server then answers, and end with the exit code of its failure otherwise.
    #[arg(long)]
    pub(crate) must_connect: bool,
}

impl ServerSetArgs {
    /// Tells whether headers or the token change.
    pub(crate) fn changes_headers(&self) -> bool {
        !self.header.is_empty()
            || !self.remove_header.is_empty()
            || self.bearer_token_file.is_some()
            || self.no_bearer_token_file
    }

    /// Tells whether anything changes.
    pub(crate) fn changes_anything(&self) -> bool {
        let variables = !self.env.is_empty() || !self.remove_env.is_empty();
        self.url.is_some() || !self.command.is_empty() || variables || self.changes_headers()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerKind {
    Mcp,
    WellKnown,
}

#[derive(Debug, Args)]
pub(crate) struct ServerAllowLegacyArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
    /// Stop looking for them.
    #[arg(long)]
    pub(crate) off: bool,
}

#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("trusted").required(true).args(["keys", "none"])),
    override_usage = "skillwire server trust <LABEL> <KEY|--none>"
)]
pub(crate) struct ServerTrustArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
    /// Public keys, as files or as `ed25519:…`, in place of those trusted before.
    #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) keys: Vec<String>,
    /// Trust no key any more.
    #[arg(long)]
    pub(crate) none: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerImportArgs {
    /// A JSON file with `mcpServers`, as MCP clients keep it.
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ServerListArgs {
    /// Print the servers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerLoginArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
    /// The client id, if this program was registered at the authorization server by hand.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// How many seconds you have to log in.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ServerLogoutArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
}

#[derive(Debug, Args)]
pub(crate) struct ServerRemoveArgs {
    /// The server's label.
    #[arg(add = labels())]
    pub(crate) label: String,
    /// Delete decisions about its skills without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print what was removed as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which origins are looked at.
#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct OriginArgs {
    /// Use the skills in this folder's `.agents/skills`, `.claude/skills` and the like, too.
    #[arg(long)]
    pub(crate) trust_project: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only the skills of this server, or of `local` or `project`.
    #[arg(value_name = "LABEL", group = "origin", add = labels())]
    label: Option<String>,
    /// The same, as an option.
    #[arg(long, value_name = "LABEL", group = "origin", add = labels())]
    server: Option<String>,
    /// Pick a skill that the server does not list, by filling in one of its templates.
    #[arg(long, requires = "origin")]
    pub(crate) browse: bool,
    /// How many seconds servers may take [default: 10, with one server 120].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
    /// Print skills, refused entries and unreachable servers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

impl ListArgs {
    /// The one server or folder whose skills are wanted.
    pub(crate) fn server(&self) -> Option<&str> {
        self.label.as_deref().or(self.server.as_deref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words to look for in names, descriptions and tags.
    #[arg(required = true, value_name = "WORD")]
    pub(crate) query: Vec<String>,
    /// The most skills to show.
    #[arg(long, value_name = "N", default_value = "20", value_parser = at_least_one)]
    pub(crate) limit: usize,
    /// How many seconds servers may take [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
    /// Print skills and unreachable servers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

/// Reads a time to wait.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
    seconds.map(Duration::from_secs).ok_or("it must be a whole number of seconds from 1 to 3600")
}

/// Reads a number of things to show.
fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("it must be a number from 1 on")
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has.
    #[arg(add = handles())]
    pub(crate) handle: String,
    /// A file of the skill to show.
    #[arg(add = files())]
    pub(crate) file: Option<String>,
    /// Show the file as it is written: on a terminal, Markdown is rendered otherwise.
    #[arg(long, requires = "file")]
    pub(crate) raw: bool,
    /// Print the entry and where it stands as JSON.
    #[arg(long, conflicts_with = "file")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("chosen").required(true).args(["handles", "all"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ApproveArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has; or a pattern
    /// with `*` for what waits.
    #[arg(value_name = "HANDLE", add = handles())]
    pub(crate) handles: Vec<String>,
    /// Everything that waits, of every server.
    #[arg(long)]
    pub(crate) all: bool,
    /// Also grant every tool the skill asks for in `allowed-tools`.
    #[arg(long)]
    pub(crate) tools: bool,
    /// Also grant this one of the tools it asks for, word for word; may be repeated.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Vec<String>,
    /// Also let code be run while an agent acts on the skill, without asking each time.
    #[arg(long)]
    pub(crate) exec: bool,
    #[command(flatten)]
    pub(crate) run: GrantArgs,
    /// Also let the skill's server run its scripts, where a server offers that, with what a model
    /// sends.
    #[arg(long)]
    pub(crate) remote_exec: bool,
    /// Approve without asking, for scripts; listings show the approval as unattended.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print what was approved as JSON, and ask nothing.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// Only what waits of this server.
    #[arg(long, value_name = "LABEL", add = labels())]
    pub(crate) server: Option<String>,
    /// Print what waits as JSON, and decide nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What scripts get when they run; nothing of it unless `--exec` lets them run.
#[derive(Debug, Args, Default)]
pub(crate) struct GrantArgs {
    /// Let scripts connect to this destination, or to all below a domain: `*.example.com:443`; may
    /// be repeated.
    #[arg(long, value_name = "HOST:PORT", requires = "exec")]
    pub(crate) network: Vec<NetworkGrant>,
    /// Let scripts see this variable of your environment; may be repeated.
    #[arg(long, value_name = "NAME", requires = "exec")]
    pub(crate) env: Vec<VariableName>,
    /// Let a model give scripts copies of this file, or of files in this folder; may be repeated.
    #[arg(long, value_name = "PATH", requires = "exec")]
    pub(crate) input: Vec<PathBuf>,
    /// How much memory a run may use, such as `2G`; a plain number is in MiB [default: 512M].
    #[arg(long, value_name = "SIZE", requires = "exec", value_parser = memory)]
    pub(crate) memory: Option<MemoryLimit>,
    /// How long a run may take, in seconds [default: 30].
    #[arg(long, value_name = "SECONDS", requires = "exec", value_parser = time)]
    pub(crate) time: Option<TimeLimit>,
}

fn memory(text: &str) -> Result<MemoryLimit, String> {
    let bytes = super::execution::size(text)?;
    MemoryLimit::from_mebibytes(bytes.div_ceil(1 << 20)).map_err(|error| error.to_string())
}

fn time(text: &str) -> Result<TimeLimit, String> {
    let seconds = text.parse().map_err(|_| "write a number of seconds, such as 120".to_owned())?;
    TimeLimit::from_seconds(seconds).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct HandleArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has.
    #[arg(add = handles())]
    pub(crate) handle: String,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has.
    #[arg(add = handles())]
    pub(crate) handle: String,
    /// Then read this file of the skill; may be repeated.
    #[arg(long, value_name = "FILE", add = files())]
    pub(crate) read: Vec<String>,
    /// Give an argument that the skill takes a value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) arg: Vec<String>,
    /// Use only what was approved and cached before.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Let this lock file approve, and nothing else, for agents that run unattended.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Ask about a skill without digests instead of declining it.
    #[arg(long)]
    pub(crate) allow_dynamic: bool,
    /// Print the blocks as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The label of a configured server, or the URL of any server.
    #[arg(required_unless_present = "command", add = labels())]
    pub(crate) target: Option<String>,
    /// The program that is the server, with its arguments.
    #[arg(last = true, value_name = "CMD", conflicts_with = "target", value_hint = ValueHint::AnyPath)]
    pub(crate) command: Vec<String>,
    /// Look for skills of older kinds among all its resources, too.
    #[arg(long)]
    pub(crate) legacy_discovery: bool,
    /// Print what was counted and found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    Xml,
    Md,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The notation of the block.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "xml")]
    pub(crate) format: PromptFormat,
    /// The most tokens, estimated as a quarter of the bytes; origins that do not fit are summarised.
    #[arg(long, value_name = "TOKENS", value_parser = at_least_one)]
    pub(crate) budget: Option<usize>,
    /// How many seconds servers may take [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Write nothing; say whether the file is up to date.
    #[arg(long)]
    pub(crate) check: bool,
    /// The lock file.
    #[arg(long, value_name = "FILE", default_value = "skillwire.lock")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Print events as lines of JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only the last events.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) last: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct WindowsArgs {
    /// Also show skills that were loaded more than a day ago.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the skills as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has; with `--all`
    /// the label of a server.
    #[arg(add = handles())]
    pub(crate) handle: String,
    /// The folder to make the copy in, new or empty.
    pub(crate) dir: PathBuf,
    /// Copy every approved skill of a server, each into a folder of its own.
    #[arg(long, conflicts_with = "force")]
    pub(crate) all: bool,
    /// Write even where agents look for skills, which makes the copy a local skill.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print what was written as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}
