//! What the host knows of a skill and what the user allowed: where it comes from ([`Origin`]), what
//! its server lists ([`KnownSkill`], [`ListedSkill`]), what the user approved ([`ApprovedSkill`])
//! and bytes that match ([`VerifiedFile`]). Every failure is a [`Refusal`].
//!
//! This crate never knows how bytes arrive or where state is kept: it does no I/O and has no async
//! runtime. The embedder supplies storage, the user and the time through the traits
//! [`RecordStore`], [`Cache`], [`Audit`], [`Prompter`] and [`Clock`].
//!
//! ```
//! use skillwire_trust::{Handle, Origin};
//!
//! let handle = Handle::parse("acme:billing/refunds")?;
//! assert_eq!(handle.origin().map(Origin::label), Some("acme"));
//! # Ok::<(), skillwire_trust::Refusal>(())
//! ```

mod approval_card;
mod approved;
mod audit;
mod cache;
mod catalogue_format;
mod clock;
mod decision_channel;
mod dialect_memory;
pub mod flags;
mod grants;
mod handle;
mod handle_pattern;
mod integrity;
mod known;
mod label;
mod listed;
mod lock;
mod memory;
mod network_grant;
mod offer;
mod origin;
mod policy;
mod prompt;
mod record;
pub mod reference;
mod refusal;
mod registry;
mod remedy;
mod review;
mod run_grants;
mod signature;
mod signed_decision;
mod standing;
mod subject;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod uri_mapping;
mod verified;

pub use skillwire_archive::ArchiveReason;
pub use skillwire_core::{
    CharClass, ContentDiff, ContentId, ContentSet, Digest, Frontmatter, RelPath, ResourceUri,
    Scheme, SkillEntry, SkillName, SkillResource, SkillUri,
    received::{EntryLimits, EntryProblem},
};

pub use skillwire_dialects::{
    Dialect, FetchRoute, FilePromise, OfferedSkill, RefusedEntry, SkillArgument, SkillOffer,
    sep_2076::ArgumentValues,
};

pub use self::{
    approval_card::{ApprovalCard, CardDigest},
    approved::{ApprovedBy, ApprovedSkill},
    audit::{Action, Audit, Decision, Event, LoggedContent, NoAudit},
    cache::{Cache, NoCache},
    catalogue_format::{CatalogueFormat, CatalogueItem, CatalogueOptions},
    clock::{Clock, SystemClock},
    decision_channel::DecisionChannel,
    dialect_memory::{DialectMemory, KnownDialect},
    grants::{Grants, requested_tools},
    handle::Handle,
    handle_pattern::HandlePattern,
    integrity::{ApprovalBinding, Integrity},
    known::{ContradictedSkill, KnownSkill, UnreadSkill},
    label::{InvalidLabel, ServerLabel},
    listed::{EntrySource, ListedSkill},
    lock::{InvalidLock, LockFile, LockMismatch},
    memory::{MemoryCache, MemoryDialects, MemoryRecords},
    network_grant::{InvalidNetworkGrant, NetworkGrant},
    offer::check_promise,
    origin::{Origin, SkillId},
    policy::{Budgets, DynamicPolicy, Policy},
    prompt::{Answer, NoPrompter, Prompter, Question},
    record::{Approval, NextLoad, Record, RecordStore, StoreError},
    refusal::{Reason, Refusal, RefusalClass},
    registry::{Registry, RegistryItem},
    remedy::Remedy,
    review::{AnsweredReview, ApprovalReview, ReviewOutcome, ShownReview},
    run_grants::{
        GrantKind, InputPath, InvalidRunGrant, MemoryLimit, RunGrants, RunRequest, TimeLimit,
        VariableName, WiderThanGranted, is_script,
    },
    signature::{SignatureCheck, SignatureRule, SignatureRules, Voucher},
    signed_decision::{DecisionCheck, DecisionKeys, SignedDecision},
    standing::Standing,
    subject::Subject,
    uri_mapping::UriMapping,
    verified::{VerifiedFile, check_frontmatter},
};
