//! Serves the versions of a hub through the engine that serves folders.

mod channel;
mod files;
mod freshness;
mod pinned;
mod replica;
mod skill;
mod source;
mod views;

pub use self::replica::{MakeOffers, ServingOptions, StartError};
pub(crate) use self::{replica::Replica, skill::StoredEntry};
