//! A catalogue of skills served over MCP, on stdio and streamable HTTP, to both protocol eras.
//!
//! [`engine`] turns a request into an answer and knows no transport; [`stdio`] and [`http`] carry
//! messages and know no method. Tools and prompts come in through [`offer`]. The server never learns where a skill came from.
//!
//! To serve skills from a program of your own, begin with [`embed::Skills`].

pub mod caller;
pub mod config;
pub mod dialect;
pub mod embed;
pub mod engine;
pub mod http;
pub mod live;
pub mod metrics;
pub mod offer;
pub mod payload;
#[cfg(feature = "rmcp")]
pub mod rmcp_adapter;
pub mod stdio;
pub mod subscription;

#[cfg(feature = "macros")]
pub use skillwire_macros::embed_skills;
