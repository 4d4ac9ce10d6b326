//! Keeps a hub: metadata in SQLite or PostgreSQL, bytes in a folder or an object store.
//!
//! The crate never knows how a request arrived or how a version is served. Every rule is in
//! `skillwire-hub`; this crate loads what a rule needs, asks it, and writes what it decided in one
//! transaction with the audit entry and the event for replicas.
//!
//! ```
//! use skillwire_hub_store::{
//!     BlobLocation, Caller, ChannelName, DatabaseLocation, HubStore, NewNamespace, RelPath,
//!     StoreOptions, Subject, Upload, UploadedFile,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
//! let blobs = BlobLocation::Folder(folder.path().join("blobs"));
//! let hub = HubStore::open(StoreOptions::new(database, blobs)).await?;
//! let admin = Caller::administrator(Subject::parse("root")?);
//! hub.create_namespace(&admin, NewNamespace::new("acme".parse()?, Subject::parse("root")?)).await?;
//!
//! let file = UploadedFile {
//!     path: RelPath::skill_file(),
//!     bytes: "---\nname: refunds\n---\n".into(),
//!     claimed: None,
//! };
//! let published = hub.publish(&admin, Upload::new("acme/refunds".parse()?, vec![file])).await?;
//! assert_eq!(published.version.to_string(), "acme/refunds@1.0.0");
//!
//! let served = hub.served(&ChannelName::latest(), &published.version.skill).await?.unwrap();
//! assert_eq!(served.content, published.content);
//! # hub.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit_log;
mod blob_cache;
mod blobs;
mod changes;
mod decisions;
mod error;
mod garbage;
mod jobs;
mod lifecycle;
mod listing;
mod namespaces;
mod observations;
mod offers;
mod options;
mod outbox;
mod publish;
mod purge;
mod records;
mod reviews;
mod schema;
mod sql;
mod store;
mod tables;
mod tokens;
mod transfer;
mod upstreams;

pub use skillwire_core::{ContentId, Digest, RelPath, SkillUri};
pub use skillwire_hub::{
    AuditEntry, AuditFilter, BrokenChain, Caller, ChannelName, ContentFacts, Decision,
    InvalidCursor, NameConflict, Namespace, NamespaceName, OfferState, OutboxEvent, Page,
    PageRequest, Provenance, Quotas, Refusal, ResourcePatterns, ReviewPolicy, ReviewRules, Role,
    RuleOutcome, Scope, SkillId, Subject, Timestamp, TokenHash, TokenRecord, TokenSecret,
    ToolPatterns, Transition, TrustedPublisher, Upstream, UpstreamLimits, UpstreamMode,
    UpstreamSkillId, UpstreamSource, Verdict, VersionFile, VersionRecord, VersionRef, VersionState,
};

pub use self::{
    audit_log::{CallRecord, ReadRecord},
    error::StoreError,
    garbage::{BlobCheck, GcOptions, GcReport},
    jobs::{Job, NewJob},
    lifecycle::TransitionNote,
    listing::{ChannelPointer, ServedVersion, SkillSummary},
    namespaces::{NamespaceChange, NewNamespace},
    observations::{ListedContent, Observation},
    offers::{NewOffer, OfferDecision, OfferRecord, last_approved, try_rules},
    options::{BlobLocation, Clock, DatabaseLocation, S3Location, StoreOptions},
    outbox::{ChangeHints, OutboxPage},
    publish::{Published, Upload, UploadedFile},
    purge::ErasedSubject,
    reviews::{ReviewFilter, ReviewRecord},
    store::HubStore,
    tokens::NewToken,
    transfer::{TransferReport, check_backup, check_target},
    upstreams::{ConfiguredUpstreams, UpstreamChange, UpstreamRecord},
};

/// The subject in whose name the hub itself acts.
pub fn hub_subject() -> Result<Subject, StoreError> {
    Subject::parse("hub").map_err(|_| StoreError::corrupt("a bad name of the hub"))
}
