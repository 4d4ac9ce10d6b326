//! The commands about namespaces of a hub, as they were typed.

use clap::{Args, Subcommand};

use super::HubTarget;

#[derive(Debug, Subcommand)]
pub(crate) enum HubNamespaceCommand {
    /// Make a namespace.
    New(HubNamespaceNewArgs),
    /// Show the namespaces that you may read.
    List(HubNamespaceListArgs),
    /// Change the rules and limits of a namespace.
    Change(HubNamespaceChangeArgs),
    /// Give a subject a role in a namespace, or take it away.
    Grant(HubNamespaceGrantArgs),
    /// Trust workflows of CI to publish into a namespace.
    Trust(HubNamespaceTrustArgs),
    /// Show the workflows that a namespace trusts.
    Publishers(HubNamespacePublishersArgs),
    /// Stop to trust a workflow.
    Distrust(HubNamespaceDistrustArgs),
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct HubNamespaceNewArgs {
    /// Its name: 2 to 39 characters of `a-z`, `0-9` and `-`.
    pub(crate) name: String,
    /// Make names that look like those of its skills wait for a reviewer elsewhere.
    #[arg(long)]
    pub(crate) protected: bool,
    /// Make versions wait for a reviewer who did not publish them.
    #[arg(long)]
    pub(crate) review: bool,
    /// Let clients without a token read its skills.
    #[arg(long)]
    pub(crate) public: bool,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceListArgs {
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceGrantArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// Who gets the role; `*` is everyone, with or without a token.
    pub(crate) subject: String,
    /// The role: `reader`, `publisher`, `reviewer` or `owner`.
    pub(crate) role: String,
    /// Take the role away instead.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceTrustArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// The issuer of the tokens, such as `https://token.actions.githubusercontent.com`.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: String,
    /// What a claim must be, such as `repository=acme/skills`; may be repeated, and all must match.
    #[arg(long, value_name = "NAME=VALUE", required = true)]
    pub(crate) claim: Vec<String>,
    /// Who acts when such a workflow publishes; `ci@NAMESPACE` when not given.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespacePublishersArgs {
    /// The namespace.
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceDistrustArgs {
    /// The namespace.
    pub(crate) namespace: String,
    /// The number of the workflow, as `hub namespace publishers` shows it.
    #[arg(value_parser = super::hub::record_number)]
    pub(crate) id: u64,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}

#[derive(Debug, Args)]
#[group(id = "changes", required = true, multiple = true)]
pub(crate) struct HubNamespaceChanges {
    /// Whether names that look like those of its skills wait for a reviewer elsewhere.
    #[arg(long, value_name = "true|false")]
    pub(crate) protected: Option<bool>,
    /// Whether versions wait for a reviewer who did not publish them.
    #[arg(long, value_name = "true|false")]
    pub(crate) review: Option<bool>,
    /// The most skills that it may have.
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_skills: Option<u64>,
    /// The most versions that one skill may have.
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_versions: Option<u64>,
    /// The most bytes that its versions may have together.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct HubNamespaceChangeArgs {
    /// The namespace.
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) changes: HubNamespaceChanges,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) target: HubTarget,
}
