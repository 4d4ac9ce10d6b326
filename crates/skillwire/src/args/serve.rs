//! The arguments of `serve`.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum, ValueHint};
use serde::Deserialize;

use super::{ReadingArgs, ScriptRule, SeverityArg};
use crate::completion::{folders_after_prefix, labels};

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
        // `localhost` may have addresses of both kinds; every client tries this one.
        let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address = local.as_deref().unwrap_or(text).parse().map_err(|_| {
            "it must be an IP address with a port, such as `127.0.0.1:8640` or `[::1]:8640`, or \
             `localhost` with a port"
        })?;
        Ok(Self(address))
    }
}

impl TryFrom<String> for HttpAddress {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// What the server says about itself.
#[derive(Debug, Clone, Args, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct IdentityArgs {
    /// The server's name for clients and logs [default: skillwire].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The name that clients show to people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// What the server is for, in a sentence or two.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// What a model should know before anything else.
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// The address of a page about the server.
    #[arg(long, value_name = "URL")]
    pub(crate) website: Option<String>,
    /// An image that clients may show: an `https` URL, or a PNG, JPEG, WebP or SVG file.
    #[arg(long, value_name = "URL|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) icon: Option<String>,
}

/// The same names serve as options and as keys of the configuration file.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ServeArgs {
    /// Folders of skills, or single skills, each as `[PREFIX=]DIR`.
    #[arg(value_name = "DIR", add = folders_after_prefix())]
    pub(crate) dirs: Vec<String>,
    /// Pass on the skills of a configured server under `skill://LABEL/`; may be repeated.
    #[arg(long, value_name = "LABEL", add = labels())]
    pub(crate) upstream: Vec<String>,
    /// Pass on tools and prompts of these servers as `LABEL__NAME` if `LABEL/NAME` matches, such as
    /// `acme/read_*`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) upstream_tools: Vec<String>,
    /// Speak over standard input and output; this is the default.
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Speak streamable HTTP at this address, under `/mcp`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<HttpAddress>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) identity: IdentityArgs,
    /// Items on one page of a listing [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<usize>,
    /// How long clients may treat an answer as fresh, in milliseconds [default: 60000].
    #[arg(long, value_name = "N")]
    pub(crate) ttl_ms: Option<u64>,
    /// Who may reuse cached answers [default: public].
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) cache_scope: Option<CacheScopeArg>,
    /// Memory for large answers that clients have not read yet, in MiB [default: 256].
    #[arg(long, value_name = "MIB")]
    pub(crate) answer_memory: Option<u64>,
    /// Serve skills whose path matches, but do not list them; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) unlisted: Vec<String>,
    /// List supporting files in `resources/list`, not only each `SKILL.md`.
    #[arg(long)]
    pub(crate) list_files: bool,
    /// Repeat the rest of each skill's frontmatter in `_meta` of `resources/list`.
    #[arg(long)]
    pub(crate) list_frontmatter: bool,
    /// List a pattern of URIs for users to fill in, such as `skill://docs/{product}/SKILL.md`; may
    /// be repeated.
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) template: Vec<String>,
    /// Do not offer `resources/directory/read`.
    #[arg(long)]
    pub(crate) no_directory_read: bool,
    /// Answer requests of web pages of this origin, for example `https://app.example.com`; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Answer to this host name as well; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A file of `NAME TOKEN [PATTERN...]` lines; required unless the address is loopback.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The address of the endpoint as clients write it, such as `https://skills.example.com/mcp`.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Tell clients without a token that this authorization server issues them; may be repeated.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Vec<String>,
    /// Switch an older dialect on or off: `NAME=on` or `NAME=off`; may be repeated.
    #[arg(long, value_name = "NAME=on|off")]
    pub(crate) dialect: Vec<String>,
    /// Answer `skill://SERVER/usage` with this skill, as `[SERVER=]SKILL`.
    #[arg(long, value_name = "SKILL")]
    pub(crate) usage_skill: Option<String>,
    /// Publish skills whose path matches to everybody under `/.well-known/`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) public: Vec<String>,
    /// Offer tools that list, search, load and read skills; the default without `--upstream`.
    #[arg(long, conflicts_with = "no_tools")]
    pub(crate) tools: bool,
    /// Offer no tools for skills, only the methods of the Skills extension.
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// The same as `--tools`, as earlier versions called it.
    #[arg(long, hide = true, conflicts_with = "no_tools")]
    pub(crate) find_tool: bool,
    /// Run scripts of skills in isolation: those that `--allow-script` or the configuration name.
    #[arg(long)]
    pub(crate) execute: bool,
    /// Let scripts run whose path matches, such as `refunds/scripts/*.py`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_script: Vec<String>,
    /// Run scripts as confined processes among the server's own where namespaces are not allowed.
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
    /// Leave out skills in which the scanner finds something of this severity or worse.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) refuse_findings: Option<SeverityArg>,
    /// Show the skills in a browser at `/`, with search and a line to install each.
    #[arg(long)]
    pub(crate) page: bool,
    /// Answer `/metrics` with numbers for Prometheus.
    #[arg(long)]
    pub(crate) metrics: bool,
    /// How often one caller may ask, such as `50/s`, or `50/s:200` for 200 requests at once.
    #[arg(long, value_name = "N/s[:BURST]")]
    pub(crate) rate: Option<String>,
    /// Record each request as one line in this file, or on standard error without one.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) access_log: Option<String>,
    /// Record only a share of the requests, such as `1/100`.
    #[arg(long, value_name = "1/N")]
    pub(crate) access_log_sample: Option<String>,
    /// How the log on standard error looks [default: text].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// A TOML file with the same names as these options.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}
