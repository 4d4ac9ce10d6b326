//! Follows the upstreams of a hub: MCP servers, web sites, git repositories and folders.
//!
//! Each [`FollowedUpstream`] lists one upstream again and again, within limits of its own, so that one that is
//! slow, hostile or gone does not affect another. What it lists is passed on, recorded, or fetched for a
//! review; the [`UpstreamMode`] decides, and may change while it is followed.
//!
//! This crate never knows clients or mounts, nor where an address or a secret comes from: a mount takes the
//! [sources](FollowedUpstream::source) and shows them, and the caller makes the addresses.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use skillwire_hub_upstreams::{
//!     BlobLocation, DatabaseLocation, FollowedUpstream, HubStore, InvalidAddress, StoreOptions,
//!     Upstream, UpstreamMode, UpstreamOptions, UpstreamSource,
//! };
//!
//! let place = tempfile::tempdir()?;
//! let database = DatabaseLocation::Sqlite(place.path().join("hub.db"));
//! let blobs = BlobLocation::Folder(place.path().join("blobs"));
//! let store = HubStore::open(StoreOptions::new(database, blobs)).await?;
//! // This hub follows folders, and no server that would need an address.
//! let address = Arc::new(|_: &_, _: &_| Err(InvalidAddress("it is not a folder".to_owned())));
//! let options = UpstreamOptions::new(address)?;
//!
//! let skills = UpstreamSource::Folder { path: place.path().display().to_string() };
//! let upstream = Upstream::new("docs".parse()?, skills.clone(), UpstreamMode::Passthrough)?;
//! let followed = FollowedUpstream::start(upstream, store, &options);
//! // Another mode counts at once; only another source has to be followed anew.
//! let observed = Upstream::new("docs".parse()?, skills, UpstreamMode::Observe)?;
//! assert!(!followed.change(&observed));
//! assert_eq!(followed.upstream().mode, UpstreamMode::Observe);
//! # Ok(())
//! # }
//! ```

mod facts;
mod fetching;
mod files;
mod follower;
mod gate;
mod local;
mod options;
mod policy_facts;
mod repository;
mod review;
mod served;

pub use skillwire_client::ClientOptions;
pub use skillwire_core::{RelPath, Scheme, SkillUri};
pub use skillwire_gateway::{
    FollowOptions, GatewayId, NoRandomness, UpstreamOffer, UpstreamOfferOptions, UriMapping,
};
pub use skillwire_git::{GitError, GitOptions};
pub use skillwire_host::{OriginAddress, ServerLabel};
pub use skillwire_hub::{
    NamespaceName, SkillFacts, Timestamp, Upstream, UpstreamLimits, UpstreamMode, UpstreamSource,
};
pub use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, OfferRecord, StoreError, StoreOptions, UpstreamRecord,
};
pub use skillwire_source::{BoxFuture, CachePolicy, LookupOutcome, SkillSource};
pub use skillwire_trust::Origin;

pub use self::{
    facts::{ContentFinding, InspectContent, names_script, worst_of},
    follower::{FollowedUpstream, UnfetchedSkill, UpstreamStanding},
    gate::MountKind,
    options::{InvalidAddress, MakeAddress, UpstreamOptions},
    policy_facts::{UNREVIEWED, upstream_facts},
    served::{ServedOffers, served_offers, skills_inside},
};

/// The member of `_meta` with what the hub says about a skill; nothing vouches for it.
pub const PROVENANCE_META: &str = "dev.skillwire/provenance";
