//! Why the hub refuses a request.

use semver::Version;
use skillwire_core::{ContentId, Digest, NoContentId};

use crate::{
    access::Action,
    name::{ChannelName, NamespaceName, SkillId, Subject},
    similar::NameConflict,
    state::{Transition, VersionState},
    timestamp::Timestamp,
    version::InvalidVersion,
};

/// The reason why the hub refuses a request. The rules are final: the same request is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The namespace does not exist, or the caller may not know that it does.
    #[error("There is no namespace `{0}`.")]
    UnknownNamespace(NamespaceName),
    /// The skill does not exist in the namespace.
    #[error("There is no skill `{0}`.")]
    UnknownSkill(SkillId),
    /// The skill has no such version.
    #[error("`{skill}` has no version {version}.")]
    UnknownVersion {
        /// The skill.
        skill: SkillId,
        /// The version that was asked for.
        version: Version,
    },
    /// The skill has no such channel.
    #[error("`{skill}` has no channel `{channel}`.")]
    UnknownChannel {
        /// The skill.
        skill: SkillId,
        /// The channel that was asked for.
        channel: ChannelName,
    },
    /// There is no such token, trusted publisher, job or decision.
    #[error("There is no {what} `{id}`.")]
    UnknownRecord {
        /// What kind of record it is.
        what: &'static str,
        /// The identifier that was asked for.
        id: String,
    },
    /// The namespace exists already.
    #[error("The namespace `{0}` exists already.")]
    NamespaceTaken(NamespaceName),
    /// The caller may not do this.
    #[error("The caller may not {action}{}.", in_namespace(.namespace.as_ref()))]
    NotAllowed {
        /// What the caller wanted to do.
        action: Action,
        /// Where, unless it concerns the whole hub.
        namespace: Option<NamespaceName>,
    },
    /// The publisher of a version may not review it.
    #[error(
        "Version {version} of `{skill}` was published by the caller, so another reviewer must decide."
    )]
    OwnPublication {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
    },
    /// The skill's name is like a protected one, so only an administrator may approve it.
    #[error("The name `{skill}` {conflict}, so an administrator must approve its first version.")]
    NameNeedsAdministrator {
        /// The skill.
        skill: SkillId,
        /// What its name is like.
        conflict: NameConflict,
    },
    /// The requested version is not the one in the skill's metadata.
    #[error(
        "The publisher asked for version {requested}, but `metadata.version` of the skill is {declared}."
    )]
    VersionsDiffer {
        /// The version in the request.
        requested: Version,
        /// The version in the skill.
        declared: Version,
    },
    /// The version is not one.
    #[error(transparent)]
    DeclaredVersion(InvalidVersion),
    /// The highest version has no next patch.
    #[error("There is no patch after version {0}, so the publisher must name a version.")]
    NoNextVersion(Version),
    /// The version exists with other bytes.
    #[error(
        "Version {version} of `{skill}` exists with other content ({existing}), and versions never change."
    )]
    VersionTaken {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// The content it has.
        existing: ContentId,
    },
    /// The same bytes exist as another version.
    #[error("The same content is version {version} of `{skill}` already.")]
    ContentTaken {
        /// The skill.
        skill: SkillId,
        /// The version that has the content.
        version: Version,
    },
    /// The content was revoked everywhere.
    #[error("The content {0} was revoked and must not be published.")]
    ContentRevoked(ContentId),
    /// The files have no identity.
    #[error("The skill {0}.")]
    NoIdentity(NoContentId),
    /// The publisher claimed another identity than the files have.
    #[error("The upload claims the content {claimed}, but its files are {actual}.")]
    ContentDiffers {
        /// The identity in the request.
        claimed: ContentId,
        /// The identity of the files.
        actual: ContentId,
    },
    /// The publisher claimed another digest than a file has.
    #[error("The upload claims the digest {claimed} for `{path}`, but its bytes are {actual}.")]
    DigestDiffers {
        /// The file.
        path: String,
        /// The digest in the request.
        claimed: Digest,
        /// The digest of the bytes.
        actual: Digest,
    },
    /// A version without a `SKILL.md`.
    #[error("The upload has no `SKILL.md`.")]
    NoSkillFile,
    /// The version's state does not allow the step.
    #[error(
        "Version {version} of `{skill}` is {state}, so it cannot be {}.", done(*.transition)
    )]
    IllegalTransition {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// Its state.
        state: VersionState,
        /// The step that was asked for.
        transition: Transition,
    },
    /// The decision was about other content than the version has.
    #[error("The decision was about {decided}, but the content is {actual} now.")]
    ContentMoved {
        /// What the reviewer saw.
        decided: ContentId,
        /// What is there.
        actual: ContentId,
    },
    /// A channel may only point to a version that is served.
    #[error("Version {version} of `{skill}` is {state}, so no channel can point to it.")]
    NotPromotable {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
        /// Its state.
        state: VersionState,
    },
    /// There is no earlier version to go back to.
    #[error("The channel `{channel}` of `{skill}` has no earlier version that can be served.")]
    NothingToRollBackTo {
        /// The skill.
        skill: SkillId,
        /// The channel.
        channel: ChannelName,
    },
    /// A namespace would hold more than it may.
    #[error("The limit is {limit} {what}, and this would make {actual}.")]
    OverQuota {
        /// What is counted.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What it would become.
        actual: u64,
    },
    /// A text is longer than its limit or holds control characters.
    #[error("The {what} must have at most {limit} bytes and no control characters.")]
    BadText {
        /// What the text is.
        what: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// A decision has no reason.
    #[error("A decision needs a reason. Say why, for those who read the log.")]
    NoReason,
    /// The moment has passed.
    #[error("The {what} would end at {at}, which has passed.")]
    InThePast {
        /// What would end.
        what: &'static str,
        /// When.
        at: Timestamp,
    },
    /// The version's files were erased.
    #[error("The files of version {version} of `{skill}` were erased.")]
    Purged {
        /// The skill.
        skill: SkillId,
        /// The version.
        version: Version,
    },
    /// Every caller together may read, and nothing else.
    #[error("`*` stands for every caller, who may be given the role of a reader and no other.")]
    EveryoneOnlyReads,
    /// Not the name of a person.
    #[error("`{0}` is no person: `*` stands for every caller and `hub` for the hub itself.")]
    NotAPerson(Subject),
    /// A namespace must keep an owner.
    #[error("The namespace `{0}` would have no owner left.")]
    LastOwner(NamespaceName),
    /// There is no such upstream, or the caller may not know that there is.
    #[error("There is no upstream `{0}`.")]
    UnknownUpstream(NamespaceName),
    /// The upstream exists already, or a namespace of that name has skills of its own.
    #[error("`{0}` is the name of an upstream or of a namespace with skills already.")]
    UpstreamTaken(NamespaceName),
    /// The namespace shows what an upstream offers.
    #[error("The namespace `{0}` belongs to an upstream, so nothing is published in it.")]
    BelongsToUpstream(NamespaceName),
    /// An upstream cannot be used as it was described; the text says why.
    #[error("The upstream cannot be used: {0}.")]
    BadUpstream(String),
    /// Approved bytes would be replaced by what the upstream offers now.
    #[error(
        "The upstream `{0}` is pinned: clients get what was approved. Leaving `pin` gives that up, so it \
         must be said."
    )]
    LeavesPin(NamespaceName),
    /// The source runs a program or reads files of the hub's machine.
    #[error(
        "An upstream that starts a program or reads a folder is added on the hub's machine only."
    )]
    LocalUpstream,
}

fn done(transition: Transition) -> &'static str {
    match transition {
        Transition::Approve => "approved",
        Transition::Reject => "rejected",
        Transition::Reopen => "reopened",
        Transition::Deprecate => "deprecated",
        Transition::Yank => "yanked",
        Transition::Restore => "reinstated",
        Transition::Revoke => "revoked",
    }
}

fn in_namespace(namespace: Option<&NamespaceName>) -> String {
    namespace.map(|namespace| format!(" in the namespace `{namespace}`")).unwrap_or_default()
}

impl Refusal {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownNamespace(_) => "unknown-namespace",
            Self::UnknownSkill(_) => "unknown-skill",
            Self::UnknownVersion { .. } => "unknown-version",
            Self::UnknownChannel { .. } => "unknown-channel",
            Self::UnknownRecord { .. } => "unknown-record",
            Self::NamespaceTaken(_) => "namespace-taken",
            Self::NotAllowed { .. } => "not-allowed",
            Self::OwnPublication { .. } => "own-publication",
            Self::NameNeedsAdministrator { .. } => "name-needs-administrator",
            Self::VersionsDiffer { .. } => "versions-differ",
            Self::DeclaredVersion(_) => "bad-version",
            Self::NoNextVersion(_) => "no-next-version",
            Self::VersionTaken { .. } => "version-taken",
            Self::ContentTaken { .. } => "content-taken",
            Self::ContentRevoked(_) => "content-revoked",
            Self::NoIdentity(_) => "no-identity",
            Self::ContentDiffers { .. } => "content-differs",
            Self::DigestDiffers { .. } => "digest-differs",
            Self::NoSkillFile => "no-skill-file",
            Self::IllegalTransition { .. } => "illegal-transition",
            Self::ContentMoved { .. } => "content-moved",
            Self::NotPromotable { .. } => "not-promotable",
            Self::NothingToRollBackTo { .. } => "nothing-to-roll-back-to",
            Self::OverQuota { .. } => "over-quota",
            Self::BadText { .. } => "bad-text",
            Self::NoReason => "no-reason",
            Self::InThePast { .. } => "in-the-past",
            Self::Purged { .. } => "purged",
            Self::EveryoneOnlyReads => "everyone-only-reads",
            Self::NotAPerson(_) => "not-a-person",
            Self::LastOwner(_) => "last-owner",
            Self::UnknownUpstream(_) => "unknown-upstream",
            Self::UpstreamTaken(_) => "upstream-taken",
            Self::BelongsToUpstream(_) => "belongs-to-upstream",
            Self::BadUpstream(_) => "bad-upstream",
            Self::LeavesPin(_) => "leaves-pin",
            Self::LocalUpstream => "local-upstream",
        }
    }

    /// Whether the refusal says that something does not exist for the caller.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::UnknownNamespace(_)
                | Self::UnknownSkill(_)
                | Self::UnknownVersion { .. }
                | Self::UnknownChannel { .. }
                | Self::UnknownRecord { .. }
                | Self::UnknownUpstream(_)
        )
    }

    /// Whether the refusal says that the caller may not do something that others may.
    pub fn is_forbidden(&self) -> bool {
        matches!(
            self,
            Self::NotAllowed { .. }
                | Self::OwnPublication { .. }
                | Self::NameNeedsAdministrator { .. }
                | Self::LocalUpstream
        )
    }

    /// Whether the refusal says that the request collides with what exists.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::NamespaceTaken(_)
                | Self::VersionTaken { .. }
                | Self::ContentTaken { .. }
                | Self::ContentRevoked(_)
                | Self::IllegalTransition { .. }
                | Self::ContentMoved { .. }
                | Self::NotPromotable { .. }
                | Self::NothingToRollBackTo { .. }
                | Self::LastOwner(_)
                | Self::UpstreamTaken(_)
                | Self::BelongsToUpstream(_)
                | Self::LeavesPin(_)
        )
    }
}
