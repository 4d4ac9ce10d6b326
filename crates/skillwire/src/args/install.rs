//! `add`, `update`, `remove` and `sync`, as they were typed.

use clap::Args;

use crate::completion::{agents, installed, paths_or_handles};

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// `owner/repo[/path][@ref]`, a git URL, an archive, a web origin, a folder, or `LABEL:NAME`.
    #[arg(add = paths_or_handles())]
    pub(crate) source: String,
    /// The skills to install, by name.
    #[arg(value_name = "SKILL", conflicts_with = "all")]
    pub(crate) names: Vec<String>,
    /// Install every skill of the source.
    #[arg(long)]
    pub(crate) all: bool,
    /// Install for this agent, such as `codex`, instead of those that are found; may be repeated.
    #[arg(long = "agent", short, value_name = "AGENT", add = agents())]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Put no file into agents' folders: `skillwire bridge` and `skillwire load` offer the skill.
    #[arg(long, conflicts_with_all = ["agents", "project", "global", "link"])]
    pub(crate) keep: bool,
    /// Link to one read-only copy instead of copying the files for each agent.
    #[arg(long, conflicts_with = "project")]
    pub(crate) link: bool,
    /// The branch, tag or commit of the repository.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// The folder in the repository to look for skills in.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Where `owner/repo` is found [default: `https://github.com`].
    #[arg(long, value_name = "URL")]
    pub(crate) forge: Option<String>,
    /// Show the skills of the source, and install nothing.
    #[arg(long, short, conflicts_with_all = ["names", "all", "yes", "dry_run"])]
    pub(crate) list: bool,
    /// Show what would be installed where, and install nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Install without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print what was installed as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// For whom skills are installed.
#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct ScopeArgs {
    /// In this project; the default inside a repository.
    #[arg(long, short)]
    pub(crate) project: bool,
    /// For you, in every project; the default elsewhere.
    #[arg(long, short, conflicts_with = "project")]
    pub(crate) global: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The installed skills to update, by name, or `LABEL:NAME` for a skill of a server [default: every
    /// installed skill].
    #[arg(value_name = "SKILL", add = installed(), conflicts_with = "all")]
    pub(crate) names: Vec<String>,
    /// Update every installed skill; the same as no name.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Also replace skills whose files you changed; your changes are lost.
    #[arg(long)]
    pub(crate) discard_edits: bool,
    /// Also follow a tag that moved, a history that was rewritten or a repository that was moved.
    #[arg(long)]
    pub(crate) allow_rewritten: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Update without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print what was updated as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("chosen").required(true).args(["names", "all"])))]
pub(crate) struct RemoveArgs {
    /// The installed skills to remove, by name, or `LABEL:NAME` for a skill of a server.
    #[arg(value_name = "SKILL", add = installed())]
    pub(crate) names: Vec<String>,
    /// Remove every installed skill.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Also remove skills whose files you changed; your changes are lost.
    #[arg(long)]
    pub(crate) discard_edits: bool,
    /// Remove without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print what was removed as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Change nothing in the lock file, and refuse everything that it does not pin.
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Pin what sources have now, instead of what the lock file pins.
    #[arg(long, conflicts_with = "frozen")]
    pub(crate) update: bool,
    /// Trust the files of the project as they are, without asking.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Install and pin what is not pinned yet without asking.
    #[arg(long, short, conflicts_with = "frozen")]
    pub(crate) yes: bool,
    /// Also replace skills whose files you changed; your changes are lost.
    #[arg(long)]
    pub(crate) discard_edits: bool,
    /// Show what would be installed, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
