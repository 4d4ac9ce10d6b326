//! One address for a hub: skills over MCP, the API for publishing and deciding, and the well-known address.
//!
//! This crate joins a replica, which serves skills (`skillwire-hub-replica`), with the API. It never decides
//! who may do what, nor how anything is kept: the first is the domain's (`skillwire-hub`), the second the
//! store's (`skillwire-hub-store`).
//!
//! [`start`] loads a hub and returns what its listener answers with. [`LocalApi`] answers the same API
//! without a network, for programs that have access to the hub's files.
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! use skillwire_hub_server::{
//!     BlobLocation, DatabaseLocation, HubIdentity, HubStore, LocalApi, StoreOptions,
//! };
//!
//! let folder = tempfile::tempdir()?;
//! let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
//! let blobs = BlobLocation::Folder(folder.path().join("blobs"));
//! let store = HubStore::open(StoreOptions::new(database, blobs)).await?;
//! let api = LocalApi::new(store, HubIdentity::new("acme", "skillwire-hub"));
//! let request = http::Request::get("/api/v1/skills").body(bytes::Bytes::new())?;
//! assert_eq!(api.call(request).await.body(), "{\"items\":[]}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod api;
mod api_access;
mod auth;
mod diff;
mod hub;
mod readers;
mod service;
mod trial;
mod upload;

pub use skillwire_attest::{ContentDecision, SigningKey};
pub use skillwire_core::RelPath;
pub use skillwire_hub::{
    Caller, ConfiguredAccess, NamespaceName, PolicyDecision, Refusal, SharedPolicy, SkillFacts,
    SkillId, Subject, Timestamp, TokenHash, VersionFile, VersionRecord,
};
pub use skillwire_hub_replica::{
    AccessHandle, DecisionSigner, Following, HubAccess, InvalidRecordedReads, MakeOffers,
    RecordedReads, ServingOptions, StartError, UpstreamHealth, UpstreamStatus, UpstreamStatuses,
};
pub use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, StoreError, StoreOptions, Upload,
};
pub use skillwire_hub_upstreams::{InspectContent, UnfetchedSkill, UpstreamOptions};
pub use skillwire_jwt::{TokenCaller, TrustedIssuer};
pub use skillwire_server::{
    BuildError, Catalog, Config, Metrics, ViewId,
    http::{HttpOptions, ProtectedResource},
    offer::{DuplicateTool, Offers},
};

pub use self::{
    diff::{ChangedFile, changed_files},
    hub::{HubIdentity, LocalApi, start},
    readers::{HubReaders, SignedDecision, SignedReader},
    service::HubService,
    trial::{Explained, PolicyChange, PolicyComparison, compare, explain, named_caller},
    upload::upload_of,
};
