//! The commands that run scripts, as they were typed.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

/// Which isolation is good enough.
#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct IsolationArgs {
    /// Run scripts as a single confined process where namespaces are not allowed.
    #[arg(long)]
    pub(crate) accept_restricted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has.
    pub(crate) handle: String,
    /// The script's path in the skill, such as `scripts/report.py`.
    pub(crate) script: String,
    /// Arguments for the script, passed on unchanged.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) words: Vec<String>,
    /// Pass standard input on to the script, up to a megabyte.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Let the script see this variable of your environment; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Let the script connect to this destination and no other; may be repeated.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) network: Vec<String>,
    /// Put the files that the script leaves in `$OUTPUT_DIR` into this folder, new or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// How long the script may take, in seconds [default: 30].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Use this program for a language: `python`, `bash`, `sh` or `node`; may be repeated.
    #[arg(long, value_name = "LANGUAGE=PROGRAM")]
    pub(crate) interpreter: Vec<String>,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: super::OriginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A `[[script]]` table of the configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ScriptRule {
    /// Patterns over the path of a skill and its script, such as `refunds/scripts/*.py`.
    pub(crate) allow: Vec<String>,
    /// Variables of the server's environment that they see.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Destinations they may connect to, each as `HOST:PORT`.
    #[serde(default)]
    pub(crate) network: Vec<String>,
    /// How long they may take, in seconds.
    pub(crate) timeout: Option<u64>,
    /// How much memory they may hold, in MiB.
    pub(crate) memory: Option<u64>,
}
