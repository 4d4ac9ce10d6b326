//! What the API takes and returns about upstreams and reviews.

use serde::{Deserialize, Serialize};
use skillwire_hub::{ResourcePatterns, ReviewRules, ToolPatterns, UpstreamLimits, UpstreamSource};
use utoipa::ToSchema;

use crate::types::FileDiff;

/// An upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpstreamInfo {
    /// Its label, which is also the namespace of its skills.
    pub label: String,
    /// `passthrough`, `observe`, `admit` or `pin`.
    pub mode: String,
    /// `mcp`, `command`, `git`, `folder` or `well-known`.
    pub kind: String,
    /// Where its skills come from, without headers, arguments and variables.
    pub place: String,
    /// Where its skills come from, in full; only for administrators.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<UpstreamSource>,
    /// The most that it may cost: `answer-ms`, `listing-ms`, `pages`, `skills`, `listing-bytes`,
    /// `skill-bytes`, `concurrency`, `failures` and `pause-ms`.
    #[schema(value_type = Object)]
    pub limits: UpstreamLimits,
    /// Which new content is approved without a reviewer: `same-signer`, `text-only`, `no-new-links`,
    /// `no-new-scripts` and `no-findings`, all that are true.
    #[schema(value_type = Object)]
    pub rules: ReviewRules,
    /// Which of its tools and prompts clients may use, as patterns such as `read_*`; besides these, tools
    /// that its approved skills name in `allowed-tools`.
    #[schema(value_type = Vec<String>)]
    #[serde(default)]
    pub tools: ToolPatterns,
    /// Which of its resources that belong to no skill clients may read, as patterns of its own URIs such as
    /// `file:///docs/**`; none without them.
    #[schema(value_type = Vec<String>)]
    #[serde(default)]
    pub resources: ResourcePatterns,
    /// Whether the configuration file of the hub describes it.
    pub configured: bool,
    /// When it was added, as RFC 3339.
    pub created: String,
    /// Who added it.
    pub created_by: String,
    /// How it is doing, if the hub that answers follows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<UpstreamStatusInfo>,
}

/// How an upstream is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpstreamStatusInfo {
    /// `starting`, `answering`, `failing` or `paused`.
    pub health: String,
    /// When it was last listed completely, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listed: Option<String>,
    /// How many skills it listed then.
    pub skills: u64,
    /// Why the last listing failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
    /// How many skills have content that the hub could not fetch for its review; it tries again. Only for
    /// reviewers.
    #[serde(default)]
    pub unfetched: u64,
    /// Why, for the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unfetched_skills: Vec<UnfetchedInfo>,
}

/// A skill of which the content could not be fetched for its review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnfetchedInfo {
    /// The URI that the upstream gives the skill.
    pub skill: String,
    /// Why.
    pub reason: String,
}

/// A new upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpstream {
    /// Its label, which is also the namespace of its skills.
    pub label: String,
    /// `passthrough`, `observe`, `admit` or `pin`.
    pub mode: String,
    /// `{"kind": "mcp", "url", "headers", "older"}`, `{"kind": "git", "url", "ref"}`,
    /// `{"kind": "well-known", "url"}`; on the hub's machine also `{"kind": "command", "command", "args",
    /// "env", "older"}` and `{"kind": "folder", "path"}`.
    #[schema(value_type = Object)]
    pub source: UpstreamSource,
    /// The most that it may cost; what is left out has its default.
    #[schema(value_type = Object)]
    #[serde(default)]
    pub limits: UpstreamLimits,
    /// Which new content is approved without a reviewer; none without them.
    #[schema(value_type = Object)]
    #[serde(default)]
    pub rules: ReviewRules,
    /// Which of its tools and prompts clients may use, as patterns such as `read_*`; none without them.
    #[schema(value_type = Vec<String>)]
    #[serde(default)]
    pub tools: ToolPatterns,
    /// Which of its resources that belong to no skill clients may read, as patterns of its own URIs such as
    /// `file:///docs/**`; none without them.
    #[schema(value_type = Vec<String>)]
    #[serde(default)]
    pub resources: ResourcePatterns,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What of an upstream changes; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamSettings {
    /// `passthrough`, `observe`, `admit` or `pin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Where its skills come from.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<UpstreamSource>,
    /// Limits that change; the others stay.
    #[schema(value_type = Object)]
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub limits: serde_json::Map<String, serde_json::Value>,
    /// Rules that change; the others stay.
    #[schema(value_type = Object)]
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub rules: serde_json::Map<String, serde_json::Value>,
    /// Which of its tools and prompts clients may use, in place of those named before.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolPatterns>,
    /// Which of its resources that belong to no skill clients may read, in place of those named before.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcePatterns>,
    /// Whether giving up a pin is meant.
    pub leave_pin: bool,
    /// Whether to say what would happen, and change nothing.
    pub dry_run: bool,
}

/// The result of a change of upstreams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpstreamChanged {
    /// The upstream after the change, or as it was before it was removed.
    pub upstream: UpstreamInfo,
    /// Whether anything changed, or would.
    pub changed: bool,
    /// Whether nothing was changed, because the caller only asked.
    pub dry_run: bool,
    /// Content that waited and that the rules approve, and in answer to other rules or another mode also what
    /// goes on waiting.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rules: Vec<RuleTrial>,
}

/// What the rules of an upstream say about a content that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleTrial {
    /// The number of the review.
    pub review: u64,
    /// The skill.
    pub skill: String,
    /// Whether the rules approve the content.
    pub approved: bool,
    /// Which rules hold, or do not.
    pub because: Vec<String>,
}

/// Something that a reviewer decides about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewInfo {
    /// Its number.
    pub id: u64,
    /// `version` for what was published here, `upstream` for what an upstream offers.
    pub kind: String,
    /// `NAMESPACE/NAME`, or the URI that the upstream gives the skill.
    pub skill: String,
    /// The label of the upstream.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub upstream: Option<String>,
    /// The version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The identity of its content.
    pub content: String,
    /// `waiting`, `approved` or `rejected`.
    pub state: String,
    /// When it was published or first seen, as RFC 3339.
    pub since: String,
    /// The seconds since then.
    pub age_seconds: u64,
    /// How bad the worst finding is: `none`, a word of the scanner, or `unknown`.
    pub worst_finding: String,
    /// Who published the version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publisher: Option<String>,
    /// The last decision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<TakenDecision>,
}

/// A decision that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TakenDecision {
    /// `approve` or `reject`.
    pub verdict: String,
    /// Who decided.
    pub by: String,
    /// When, as RFC 3339.
    pub at: String,
    /// Why.
    pub reason: String,
    /// When an approval ends, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
}

/// A review with what differs from the content that is approved now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewDetail {
    /// The review.
    pub review: ReviewInfo,
    /// The content that is approved now, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approved: Option<String>,
    /// The files that differ, in the order of their paths.
    pub files: Vec<FileDiff>,
    /// The fields of the frontmatter that differ.
    pub frontmatter: Vec<FieldChange>,
    /// What inspecting the content showed; nothing for versions, of which the hub keeps the worst finding and
    /// the signers alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub facts: Option<FactChanges>,
}

/// A field of the frontmatter that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// The place of the field, as a JSON pointer.
    pub field: String,
    /// The value before.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<serde_json::Value>,
    /// The value now.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<serde_json::Value>,
}

/// What inspecting a content showed, and how that differs from what is approved now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactChanges {
    /// Addresses and hosts that its files name.
    pub links: SetChange,
    /// Packages that its files install or import.
    pub packages: SetChange,
    /// What it asks a host for.
    pub requests: SetChange,
    /// Files that are scripts or programs.
    pub scripts: SetChange,
    /// Files that are not text.
    pub binaries: SetChange,
    /// Signers whose signature over exactly this content is valid.
    pub signers: SetChange,
    /// Codes of findings, the worst first.
    pub findings: Vec<String>,
    /// Codes of findings that the approved content does not have.
    pub new_findings: Vec<String>,
}

/// How a set differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetChange {
    /// What is new.
    pub added: Vec<String>,
    /// What is gone.
    pub removed: Vec<String>,
    /// What was there before.
    pub same: Vec<String>,
}

/// A decision about a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDecision {
    /// `approve` or `reject`.
    pub verdict: String,
    /// Why, for everyone who reads the log.
    pub reason: String,
    /// The content that the caller saw; a decision about other content is refused.
    pub content: String,
    /// When an approval ends, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewDecided {
    /// The review after the decision.
    pub review: ReviewInfo,
    /// Whether anything changed, or would.
    pub changed: bool,
    /// Whether nothing was changed, because the caller only asked.
    pub dry_run: bool,
}
