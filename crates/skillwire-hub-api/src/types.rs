//! What the API takes and returns. The client of the program reads the same types.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a list; `next` is the cursor of the page after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The elements, in the order of the list.
    pub items: Vec<T>,
    /// The cursor of the next page, unless this is the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// What a hub is, and what the caller may do there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HubInfo {
    /// The name that the operator gave the hub.
    pub name: String,
    /// The version of the program that runs it.
    pub version: String,
    /// The caller.
    pub you: CallerInfo,
    /// The most bytes of an upload.
    pub max_upload_bytes: u64,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerInfo {
    /// Who acts: the subject of its token or of its identity.
    pub subject: String,
    /// Whether it administers the hub.
    pub administrator: bool,
    /// What its credential may be used for: `read`, `publish`, `review`, `manage` and `admin`.
    pub scopes: Vec<String>,
    /// The namespaces that its credential is limited to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespaces: Option<Vec<String>>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceInfo {
    /// Its name.
    pub name: String,
    /// Whether names that look like those of its skills wait for a reviewer elsewhere.
    pub protected: bool,
    /// Whether versions wait for a reviewer who did not publish them.
    pub review: bool,
    /// How many skills it has.
    pub skills: u64,
    /// How many bytes its versions have together.
    pub bytes: u64,
    /// The most skills that it may have.
    pub max_skills: u64,
    /// The most versions that one skill may have.
    pub max_versions: u64,
    /// The most bytes that its versions may have together.
    pub max_bytes: u64,
    /// Who has which role.
    pub grants: Vec<GrantInfo>,
}

/// The role of a subject in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantInfo {
    /// Who has the role; `*` is everyone, with or without a token.
    pub subject: String,
    /// `reader`, `publisher`, `reviewer` or `owner`.
    pub role: String,
}

/// A new namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNamespace {
    /// Its name: 2 to 39 of `a-z`, `0-9` and `-`.
    pub name: String,
    /// Whether names that look like those of its skills wait for a reviewer elsewhere.
    #[serde(default)]
    pub protected: bool,
    /// Whether versions wait for a reviewer who did not publish them.
    #[serde(default)]
    pub review: bool,
    /// Whether clients without a token may read its skills.
    #[serde(default)]
    pub public: bool,
}

/// What of a namespace changes; what is left out stays. Only administrators change more than `review`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NamespaceSettings {
    /// Whether names that look like those of its skills wait for a reviewer elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<bool>,
    /// Whether versions wait for a reviewer who did not publish them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<bool>,
    /// The most skills that it may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_skills: Option<u64>,
    /// The most versions that one skill may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_versions: Option<u64>,
    /// The most bytes that its versions may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillInfo {
    /// `NAMESPACE/NAME`.
    pub skill: String,
    /// Its channels.
    pub channels: Vec<ChannelInfo>,
    /// Why its first version waits for a reviewer, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits: Option<String>,
}

/// A channel of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelInfo {
    /// Its name, such as `latest`.
    pub channel: String,
    /// The version that it points to.
    pub version: String,
    /// Whether clients get that version; a yanked or revoked one is not served.
    pub served: bool,
}

/// A version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionInfo {
    /// `NAMESPACE/NAME`.
    pub skill: String,
    /// The version.
    pub version: String,
    /// The identity of its content.
    pub content: String,
    /// `quarantined`, `approved`, `rejected`, `deprecated`, `yanked` or `revoked`.
    pub state: String,
    /// Why it has this state, in the words of the one who decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Who published it.
    pub publisher: String,
    /// When it was published, as RFC 3339.
    pub published: String,
    /// The channels that point to it.
    pub channels: Vec<String>,
    /// Whether its files were erased for good.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub purged: bool,
    /// How bad the worst finding was when it was published: `none`, a word of the scanner, or `unknown`.
    #[serde(default = "unknown")]
    pub worst_finding: String,
    /// The signers whose signatures over exactly its files were valid then, as the operator calls them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub signed_by: BTreeSet<String>,
    /// Its files; only for a single version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<Vec<FileInfo>>,
}

/// What is known of the findings of a version that no scanner looked at.
fn unknown() -> String {
    "unknown".to_owned()
}

/// A file of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileInfo {
    /// Its path below the folder of the skill.
    pub path: String,
    /// `sha256:` and the hash of its bytes.
    pub digest: String,
    /// The number of its bytes.
    pub size: u64,
}

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Published {
    /// The version that has these bytes.
    pub version: VersionInfo,
    /// Whether this request made the version.
    pub created: bool,
    /// Whether the same bytes were published before.
    pub existing: bool,
    /// Whether nothing was changed, because the caller only asked what would happen.
    pub dry_run: bool,
    /// What changed since the version that `latest` pointed to; nothing for a first version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub changes: Option<VersionDiff>,
    /// Why the version waits for a reviewer, if its name is the reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits: Option<String>,
}

/// What differs between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionDiff {
    /// The earlier version.
    pub from: String,
    /// The later version.
    pub to: String,
    /// The files that differ, in the order of their paths.
    pub files: Vec<FileDiff>,
}

/// How one file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDiff {
    /// Its path.
    pub path: String,
    /// `added`, `removed` or `changed`.
    pub change: String,
    /// The size before, unless it is new.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub old_size: Option<u64>,
    /// The size after, unless it is gone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub new_size: Option<u64>,
    /// The changed lines as a unified diff, for texts that are not too large.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
}

/// Points a channel to a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The version.
    pub version: String,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of a promotion or a roll-back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelMoved {
    /// `NAMESPACE/NAME`.
    pub skill: String,
    /// The channel.
    pub channel: String,
    /// The version that it pointed to before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The version that it points to now.
    pub to: String,
    /// Whether it moved; false if it pointed there already.
    pub changed: bool,
    /// Whether nothing was changed, because the caller only asked.
    pub dry_run: bool,
}

/// A step in the life of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewState {
    /// `approve`, `reject`, `reopen`, `deprecate`, `yank`, `restore` or `revoke`.
    pub transition: String,
    /// Why, for everyone who reads the log.
    pub reason: String,
    /// The content that the caller decided about; a decision about other content is refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content: Option<String>,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of a change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StateChanged {
    /// The versions, each with its state now.
    pub versions: Vec<VersionInfo>,
    /// Whether anything changed.
    pub changed: bool,
    /// Whether nothing was changed, because the caller only asked.
    pub dry_run: bool,
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What the token is called in lists.
    pub name: String,
    /// Who acts with it.
    pub subject: String,
    /// Whether it administers the hub.
    #[serde(default)]
    pub administrator: bool,
    /// What it may be used for; everything but `admin` without them.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The namespaces that it is limited to; no limit without them.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// The days after which it is refused; never without them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub days: Option<u32>,
}

/// A token that was made, or would be; its text is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// The text that a caller sends; none if the caller only asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// What lists show of it.
    pub info: TokenInfo,
}

/// A key that the hub signs its decisions with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyInfo {
    /// The digest of the key.
    pub id: String,
    /// The public key.
    pub key: String,
}

/// A signed decision about a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionInfo {
    /// The skill that has the content.
    pub skill: String,
    /// Its version.
    pub version: String,
    /// The DSSE envelope with an in-toto statement.
    #[schema(value_type = Object)]
    pub envelope: serde_json::Value,
}

/// A token as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenInfo {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Who acts with it.
    pub subject: String,
    /// Whether it administers the hub.
    pub administrator: bool,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// The namespaces that it is limited to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespaces: Option<Vec<String>>,
    /// When it was made, as RFC 3339.
    pub created: String,
    /// Who made it.
    pub created_by: String,
    /// When it ends, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<String>,
    /// When it was revoked, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revoked: Option<String>,
}

/// One event of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEvent {
    /// Its number; the log has no gaps.
    pub number: u64,
    /// When it happened, as RFC 3339.
    pub at: String,
    /// Who did it; a pseudonym after a purge.
    pub actor: String,
    /// What was done, such as `publish`.
    pub action: String,
    /// What it was done to, such as `acme/refunds@1.2.0`.
    pub target: String,
    /// The content that it was about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content: Option<String>,
    /// Further facts, as JSON.
    pub details: String,
    /// The hash over this event and all before it.
    pub hash: String,
}

/// Whether the audit log is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditCheck {
    /// How many events were checked and hold.
    pub events: u64,
    /// The number of the first event that was changed or is missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub broken_at: Option<u64>,
}

/// What a collection of unused bytes did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Collected {
    /// How many blobs no version names.
    pub blobs: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// Whether they were only counted.
    pub dry_run: bool,
}

/// A choice between doing something and saying what would happen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Why, for the log.
    #[serde(default)]
    pub reason: String,
}

/// A person whose name is erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewErasure {
    /// The name, as the log and the lists of tokens and roles have it.
    pub subject: String,
    /// Why, for the log. The name is left out of it.
    pub reason: String,
    /// Whether to say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was erased of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubjectErased {
    /// The name that stands in place of the person's; none if no record had that name, or nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pseudonym: Option<String>,
    /// In how many places the person was named.
    pub records: u64,
    /// How many tokens of the person were revoked.
    pub tokens: u64,
    /// Whether nothing was changed, because the caller only asked.
    pub dry_run: bool,
}

/// Workflows of an identity provider that may publish into a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPublisher {
    /// The issuer of the tokens, such as `https://token.actions.githubusercontent.com`.
    pub issuer: String,
    /// What claims of a token must be; a `*` at the end matches any rest. All must match.
    pub claims: std::collections::BTreeMap<String, String>,
    /// Who acts when such a workflow publishes.
    pub subject: String,
}

/// A trusted publisher as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PublisherInfo {
    /// Its number.
    pub id: u64,
    /// The namespace that it may publish into.
    pub namespace: String,
    /// The issuer of its tokens.
    pub issuer: String,
    /// What claims must be.
    pub claims: std::collections::BTreeMap<String, String>,
    /// Who acts when it publishes.
    pub subject: String,
}
