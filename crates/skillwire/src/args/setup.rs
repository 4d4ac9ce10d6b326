//! `setup`, as it was typed.

use clap::{Args, ValueHint};

use crate::completion::agents;

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Only this agent, such as `codex`, whether or not it is found; may be repeated.
    #[arg(long = "agent", value_name = "AGENT", add = agents())]
    pub(crate) agents: Vec<String>,
    /// Remove the bridge from the agents again.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the files without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Add this server or folder of skills, too: a URL or a path.
    #[arg(long = "use", value_name = "URL|DIR", conflicts_with = "remove", value_hint = ValueHint::DirPath)]
    pub(crate) source: Option<String>,
    /// Show every agent that is known, and change nothing.
    #[arg(long, conflicts_with_all = ["agents", "remove", "dry_run", "yes", "source"])]
    pub(crate) list: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
