//! Skills for clients that do not know the Skills extension.
//!
//! A [`Bridge`](bridge::Bridge) stands between a [`Host`](skillwire_host::Host), which lists,
//! verifies and asks before it loads, and an MCP server, which offers what the host found as
//! ordinary tools, prompts and instructions ([`Offer`](skillwire_engine::offer::Offer)).
//!
//! There is no terminal, environment or file system in this crate.

pub mod bridge;
pub mod options;
pub mod shell;

mod admission;
mod approval;
mod arguments;
mod difference;
mod files;
mod follow;
mod lazy_index;
mod listing;
mod loading;
mod prompts;
mod stop;
mod text;
mod view;
mod windows;
