//! Answers MCP requests from a catalogue of skills, for both protocol eras and in older dialects.
//!
//! The engine never learns which transport carries a request, nor where a skill came from.

mod caller;
mod config;
pub mod dialect;
mod engine;
pub mod metrics;
pub mod offer;
mod payload;
mod subscription;

pub use self::{
    caller::Caller,
    config::{CacheScope, Config},
    engine::{Answer, Engine, EngineBuilder, Outcome},
    payload::{OutgoingMessage, Payload},
    subscription::{
        Feed, Filter, Followed, LegacySubscriptions, MAX_SUBSCRIBED_URIS, Room, Subscription,
    },
};
