//! `skillwire bridge` as it was typed.

use std::path::PathBuf;

use clap::Args;

use super::{HttpAddress, IsolationArgs, LogFormat, OriginArgs};
use crate::completion::files_after_name;

#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// Speak streamable HTTP at this loopback address, under `/mcp`, instead of standard input and
    /// output; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", requires = "token_file")]
    pub(crate) http: Option<HttpAddress>,
    /// A file that holds the one bearer token clients must send over HTTP.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let this lock file approve skills of servers, and nothing else; no question is asked.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Name skills in the description of `load_skill` while there are no more than this.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) handles: usize,
    /// The most tokens of the catalogue in the instructions; four characters count as one.
    #[arg(long, value_name = "TOKENS", default_value_t = 2000)]
    pub(crate) budget: usize,
    /// Ask about skills without digests, at each load, instead of declining them.
    #[arg(long)]
    pub(crate) allow_dynamic: bool,
    /// Offer no tool that runs scripts of skills.
    #[arg(long)]
    pub(crate) no_scripts: bool,
    /// Use this program for a language of scripts: `python`, `bash`, `sh` or `node`; may be repeated.
    #[arg(long, value_name = "LANGUAGE=PROGRAM", add = files_after_name())]
    pub(crate) interpreter: Vec<String>,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
    /// How the log on standard error looks.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}
