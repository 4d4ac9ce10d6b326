//! Keeps a hub: metadata in SQLite or PostgreSQL, bytes in a folder or an object store.
//!
//! The crate never knows how a request arrived or how a version is served. Every rule is in
//! `skillwire-hub`; this crate loads what a rule needs, asks it, and writes what it decided in one
//! transaction with the audit entry and the event for replicas.

mod audit_log;
mod blobs;
mod changes;
mod decisions;
mod error;
mod lifecycle;
mod listing;
mod namespaces;
mod options;
mod outbox;
mod publish;
mod records;
mod schema;
mod sql;
mod store;
mod tokens;

use skillwire_hub::Subject;

pub use self::{
    audit_log::ReadRecord,
    error::StoreError,
    lifecycle::TransitionNote,
    listing::{ChannelPointer, ServedVersion, SkillSummary},
    namespaces::{NamespaceChange, NewNamespace},
    options::{BlobLocation, Clock, DatabaseLocation, S3Location, StoreOptions},
    outbox::{Followed, Follower, OutboxPage},
    publish::{Published, Upload, UploadedFile},
    store::HubStore,
    tokens::NewToken,
};

/// The subject in whose name the hub itself acts.
fn hub_subject() -> Result<Subject, StoreError> {
    Subject::parse("hub").map_err(|_| StoreError::corrupt("a bad name of the hub"))
}
