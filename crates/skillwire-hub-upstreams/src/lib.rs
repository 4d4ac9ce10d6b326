//! Follows the upstreams of a hub: MCP servers, web sites, git repositories and folders.
//!
//! Each [`FollowedUpstream`] lists one upstream again and again, within limits of its own, so that one that is
//! slow, hostile or gone does not affect another. What it lists is passed on, recorded, or fetched for a
//! review; the [`UpstreamMode`](skillwire_hub::UpstreamMode) decides, and may change while it is followed.
//!
//! The crate serves nothing: a mount takes the [sources](FollowedUpstream::source) and shows them.

mod facts;
mod fetching;
mod files;
mod follower;
mod gate;
mod local;
mod options;
mod repository;
mod review;

pub use self::{
    facts::{ContentFinding, InspectContent, names_script},
    follower::{FollowedUpstream, UnfetchedSkill, UpstreamStanding},
    gate::MountKind,
    options::{InvalidAddress, MakeAddress, UpstreamOptions},
};

/// The member of `_meta` with what the hub says about a skill; nothing vouches for it.
pub const PROVENANCE_META: &str = "dev.skillwire/provenance";
