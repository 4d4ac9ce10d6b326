//! The commands about upstreams of a hub and reviews, as they were typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::HubTarget;

#[derive(Debug, Subcommand)]
pub(crate) enum HubUpstreamCommand {
    /// Pass on the skills of another server, repository, folder or web site.
    ///
    /// Its label becomes a namespace, whose roles say who reads and who reviews its skills. A program or a
    /// folder can only be named on the hub's machine, with `--hub DIR`.
    Add(Box<HubUpstreamAddArgs>),
    /// Change the mode, the source, the limits or the rules of an upstream.
    ///
    /// With `--dry-run` it also says what the rules would approve of what waits.
    Set(Box<HubUpstreamSetArgs>),
    /// Show the upstreams that you may read, and how they are doing.
    List(HubUpstreamListArgs),
    /// Remove an upstream and what the hub keeps of it; decisions stay.
    Remove(HubUpstreamRemoveArgs),
}

/// Where the skills of an upstream come from.
#[derive(Debug, Args)]
pub(crate) struct HubUpstreamSource {
    /// The URL of an MCP server.
    #[arg(conflicts_with_all = ["git", "folder", "well_known", "command"])]
    pub(crate) url: Option<String>,
    /// A git repository, at a branch, tag or commit.
    #[arg(long, value_name = "URL[@REF]", conflicts_with_all = ["folder", "well_known", "command"])]
    pub(crate) git: Option<String>,
    /// A folder on the hub's machine.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["well_known", "command"])]
    pub(crate) folder: Option<PathBuf>,
    /// A web site that publishes skills below `/.well-known/`.
    #[arg(long, value_name = "ORIGIN", conflicts_with = "command")]
    pub(crate) well_known: Option<String>,
    /// The program of an MCP server and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::AnyPath)]
    pub(crate) command: Vec<String>,
    /// A header of every request, such as `Authorization: Bearer ${DOCS_TOKEN}`; may be repeated.
    ///
    /// The hub fills the variable in from its own environment and keeps no credential.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// A variable of the program's environment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Search all resources of an MCP server for skills of older dialects.
    #[arg(long)]
    pub(crate) older: bool,
}

/// What an upstream may cost, and what needs no reviewer.
#[derive(Debug, Args)]
pub(crate) struct HubUpstreamTerms {
    /// A limit, such as `answer-ms=5000`; may be repeated.
    ///
    /// Limits are `answer-ms`, `listing-ms`, `pages`, `skills`, `listing-bytes`, `skill-bytes`, `concurrency`,
    /// `failures` and `pause-ms`.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub(crate) limit: Vec<String>,
    /// A condition under which new content needs no reviewer; may be repeated, and all must hold.
    ///
    /// Conditions are `same-signer`, `text-only`, `no-new-links`, `no-new-scripts` and `no-findings`;
    /// `NAME=false` switches one off.
    #[arg(long, value_name = "NAME[=false]")]
    pub(crate) rule: Vec<String>,
    /// Tools and prompts that clients may use, such as `read_*`; may be repeated.
    ///
    /// Tools that approved skills of the upstream name in `allowed-tools` are passed on too, and no others.
    /// With `set`, these replace the patterns from before; `--tool ''` allows none.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Vec<String>,
    /// Resources that clients may read besides skills, as URIs of the upstream such as `file:///docs/**`;
    /// may be repeated.
    ///
    /// With `set`, these replace the patterns from before; `--resource ''` allows none.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) resource: Vec<String>,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HubUpstreamAddArgs {
    /// Its label, which is also the namespace of its skills.
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) source: HubUpstreamSource,
    /// How its skills are passed on.
    #[arg(long, value_name = "passthrough|observe|admit|pin")]
    pub(crate) mode: String,
    #[command(flatten)]
    pub(crate) terms: HubUpstreamTerms,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubUpstreamSetArgs {
    /// The label of the upstream.
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) source: HubUpstreamSource,
    /// How its skills are passed on.
    #[arg(long, value_name = "passthrough|observe|admit|pin")]
    pub(crate) mode: Option<String>,
    /// Give up what is pinned: clients get what the new mode lets through.
    #[arg(long)]
    pub(crate) leave_pin: bool,
    #[command(flatten)]
    pub(crate) terms: HubUpstreamTerms,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubUpstreamListArgs {
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubUpstreamRemoveArgs {
    /// The label of the upstream.
    pub(crate) label: String,
    /// Remove it although its skills are pinned.
    #[arg(long)]
    pub(crate) leave_pin: bool,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HubReviewArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HubReviewCommand>,
    #[command(flatten)]
    pub(crate) list: HubReviewListArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HubReviewCommand {
    /// Show what differs from what is approved now.
    Show(HubReviewShowArgs),
    /// Let content be served.
    Approve(HubReviewDecideArgs),
    /// Refuse content.
    Reject(HubReviewDecideArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HubReviewListArgs {
    /// Only what this upstream offers.
    #[arg(long, value_name = "LABEL")]
    pub(crate) upstream: Option<String>,
    /// Show what was decided instead of what waits.
    #[arg(long, value_name = "waiting|approved|rejected")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubReviewShowArgs {
    /// The number of the review, as `hub review` shows it.
    pub(crate) id: u64,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubReviewDecideArgs {
    /// The numbers of the reviews, as `hub review` shows them.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Why, for everyone who reads the log.
    #[arg(long)]
    pub(crate) reason: String,
    /// When an approval ends, such as `2027-01-31T12:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// The content that you saw; a decision about other content is refused [default: the content now].
    #[arg(long, value_name = "sha256:HEX")]
    pub(crate) content: Option<String>,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}
