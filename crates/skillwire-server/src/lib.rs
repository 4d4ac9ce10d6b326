//! Serves a catalogue of skills over MCP, on stdio and streamable HTTP, to both protocol eras.
//!
//! [`stdio`] and [`http`] carry messages to and from the engine, [`live`] keeps the catalogue up to
//! date with its sources. The server never learns where a skill came from, nor what a method means.
//!
//! To serve skills from a program of your own, begin with [`embed::Skills`].

pub mod embed;
pub mod http;
pub mod live;
pub mod stdio;

#[cfg(feature = "macros")]
pub use skillwire_macros::embed_skills;

pub use skillwire_engine::{CacheScope, Caller, Config, Engine, EngineBuilder, dialect, offer};
