//! Serves the versions of a hub through the engine that serves folders.

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
mod skill;
mod tools;
mod upstreams;
mod verifier;
mod views;

pub use self::{
    options::{MakeOffers, ServingOptions},
    reads::{InvalidRecordedReads, RecordedReads},
    replica::StartError,
};
pub(crate) use self::{
    reads::ReadLog,
    replica::Replica,
    skill::StoredEntry,
    skill::{ServedAt, known_skill, sign, uri_of},
    verifier::refusal as token_refusal,
    views::CallerSight,
};
