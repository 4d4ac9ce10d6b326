//! Serves a hub's skills over MCP, as its database says now: channels, upstreams, and a view for each
//! class of callers.
//!
//! This crate follows the numbered changes of a store, keeps what is served in memory, decides which
//! callers see which skills, signs decisions and records reads. It reads and writes the entry that is kept with a
//! version. It never knows the requests of the hub's API, how a version is published, or who signs in at a page.
//!
//! [`Replica::start`] loads everything, [`Replica::follow`] keeps up with the database. Crates that answer
//! HTTP, such as `skillwire-hub-server`, take the service of a [`Replica`]'s channel from it.
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! use skillwire_hub_replica::{
//!     BlobLocation, DatabaseLocation, HubStore, Replica, ServingOptions, StoreOptions,
//! };
//!
//! let folder = tempfile::tempdir()?;
//! let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
//! let blobs = BlobLocation::Folder(folder.path().join("blobs"));
//! let store = HubStore::open(StoreOptions::new(database, blobs)).await?;
//! let replica = Replica::start(store, ServingOptions::default()).await?;
//! assert_eq!(replica.skill_count(), 0);
//! assert!(replica.channel_service("latest").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod allowed;
mod calls;
mod channel;
mod classes;
mod files;
mod freshness;
mod health;
mod live_sources;
mod mount;
mod offers;
mod options;
mod pinned;
mod reads;
mod replica;
mod signing;
mod skill;
mod tools;
mod upstream_status;
mod upstreams;
mod verifier;
mod views;

pub use skillwire_attest::{PublicKey, SigningKey};
pub use skillwire_core::{ContentId, RelPath, SkillUri};
pub use skillwire_hub::{
    Caller, CallerClass, ConfiguredAccess, Namespace, NamespaceName, SharedPolicy, SkillFacts,
    SkillId, Subject, Timestamp, VersionFile, VersionRef,
};
pub use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, ServedVersion, StoreError, StoreOptions,
};
pub use skillwire_hub_upstreams::{UnfetchedSkill, UpstreamOptions};
pub use skillwire_jwt::{NotAdmitted, TokenCaller, TrustedIssuer};
pub use skillwire_server::{
    BuildError, Catalog, Config, Metrics, VisibleSkills,
    http::{HttpOptions, HttpService, ProtectedResource, TokenRefusal},
    offer::{DuplicateTool, Offers},
};

pub use self::{
    access::{AccessHandle, HubAccess, IssuerRefusal},
    freshness::Freshness,
    options::{MakeOffers, ServingOptions},
    reads::{InvalidRecordedReads, RecordedReads},
    replica::{Following, Replica, StartError},
    signing::DecisionSigner,
    skill::{ServedAt, StoredEntry, facts_at, sign, uri_of},
    upstream_status::{UpstreamHealth, UpstreamStatus, UpstreamStatuses},
    views::CallerSight,
};
