//! The rules of a hub: namespaces, versions, channels, states, and who may do what.
//!
//! Everything here is a pure function of its arguments. The crate never knows where a hub keeps its
//! records, how a request arrived, what time it is, or where random bytes come from.
//!
//! ```
//! use skillwire_hub::{
//!     ContentId, Digest, Publication, PublishOutcome, RelPath, Skill, Subject, VersionState,
//! };
//!
//! let mut skill = Skill::new("acme/refunds".parse()?);
//! let content = ContentId::of([(RelPath::skill_file(), Digest::of(b"one"), 3)])?;
//! let ci = Subject::parse("ci@acme")?;
//! let outcome = skill.publish(&Publication::new(content, ci))?;
//! let PublishOutcome::New { version, state, changes } = outcome else { panic!("it is new") };
//! assert_eq!((version.to_string().as_str(), state), ("1.0.0", VersionState::Approved));
//!
//! skill.apply_all(&changes);
//! // The channel `latest` follows the highest approved version by itself.
//! assert_eq!(skill.channel(&"latest".parse()?).unwrap().version(), Some(&version));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod audit;
mod channel;
mod decision;
mod event;
mod lifecycle;
mod name;
mod namespace;
mod paging;
mod policy;
mod quota;
mod refusal;
mod similar;
mod skill;
mod state;
mod timestamp;
mod token;
mod trusted;
mod upstream;
mod version;

pub use skillwire_core::{ContentId, Digest, NoContentId, RelPath, SkillName, SkillUri};

pub use self::{
    access::{Action, Caller, Role, Scope},
    audit::{
        AuditAction, AuditEntry, AuditFilter, BrokenChain, ChainHash, Commitment, NewAuditEntry,
        verify_chain,
    },
    channel::{Channel, MAX_CHANNEL_HISTORY},
    decision::{Decision, Verdict},
    event::{HubChange, OutboxEvent},
    name::{ChannelName, InvalidHubName, NamespaceName, SkillId, Subject, VersionRef},
    namespace::{Namespace, ReviewPolicy},
    paging::{Cursor, InvalidCursor, Page, PageRequest},
    policy::{
        AccessPolicy, CallerClass, ConfiguredAccess, PolicyDecision, ROLES_RULE, RolesDecide,
        SharedPolicy, SkillFacts,
    },
    quota::{Quotas, Usage},
    refusal::Refusal,
    similar::{NameConflict, Similarity, guard_keys, lookup_keys, similarity},
    skill::{Publication, PublishOutcome, Skill, SkillChange, VersionHead},
    state::{TRANSITIONS, Transition, TransitionRule, VersionState},
    timestamp::{InvalidTimestamp, Timestamp},
    token::{InvalidToken, TokenHash, TokenRecord, TokenSecret},
    trusted::{ClaimPattern, TrustedPublisher},
    upstream::{
        ContentFacts, OfferChange, OfferState, ResourcePatterns, ReviewRules, RuleOutcome,
        ToolPatterns, Upstream, UpstreamLimits, UpstreamMode, UpstreamSkill, UpstreamSkillId,
        UpstreamSource,
    },
    version::{
        InvalidVersion, Provenance, VersionFile, VersionRecord, choose_version, parse_version,
    },
};
