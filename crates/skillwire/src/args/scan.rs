//! The arguments of `skillwire scan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::Deserialize;

use super::{OriginArgs, ReportFormat};
use crate::completion::paths_or_labels;

/// The arguments that `--explain` does not take: all but `--rules`.
const NOT_WITH_EXPLAIN: [&str; 10] = [
    "targets", "format", "json", "show", "fail_on", "ledger", "since", "silence", "reason",
    "no_cache",
];

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Skills or folders of skills, handles of skills, or labels of servers.
    ///
    /// Files of servers are fetched, because you ask to look at them; nothing is approved or loaded.
    #[arg(default_value = ".", value_name = "PATH|HANDLE|SERVER", add = paths_or_labels())]
    pub(crate) targets: Vec<String>,
    /// How findings are printed [default: human].
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Show findings of this severity and worse; the others are counted.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "medium")]
    pub(crate) show: SeverityArg,
    /// Exit with code 1 if there is a finding of this severity or worse.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "high")]
    pub(crate) fail_on: SeverityArg,
    /// Also use the rules in the `*.toml` files of this folder; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Vec<PathBuf>,
    /// Print everything that the skills reach out to: hosts, packages, commands, variables, paths.
    #[arg(long)]
    pub(crate) ledger: bool,
    /// Compare with another version of the same skill, and say what is new.
    #[arg(long, value_name = "PATH|HANDLE", value_hint = ValueHint::AnyPath)]
    pub(crate) since: Option<String>,
    /// Print the entries that silence the findings of this rule, for `skillwire.toml`.
    #[arg(long, value_name = "RULE", requires = "reason")]
    pub(crate) silence: Option<String>,
    /// Why the findings are accepted, for reviewers to read.
    #[arg(long, value_name = "TEXT", requires = "silence")]
    pub(crate) reason: Option<String>,
    /// Print what a rule means and what to ask, or list all rules with `all`.
    #[arg(long, value_name = "RULE", conflicts_with_all = NOT_WITH_EXPLAIN)]
    pub(crate) explain: Option<String>,
    /// Scan again what was scanned before with the same rules.
    #[arg(long)]
    pub(crate) no_cache: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}

impl ScanArgs {
    /// How findings are printed.
    pub(crate) fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format.unwrap_or_default() }
    }
}

/// How much a finding of the scanner matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SeverityArg {
    /// A fact to know.
    Info,
    /// Advice.
    Low,
    /// To be read by a reviewer.
    Medium,
    /// What hardly any honest skill does.
    High,
    /// As `high`, and hidden.
    Critical,
}
