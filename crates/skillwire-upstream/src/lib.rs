//! Skills of other MCP servers, passed on.
//!
//! An [`Upstream`](upstream::Upstream) is a [`Source`](skillwire_source::SkillSource) of what one
//! server lists. Every URI it reports says whose skill it is, by the label that the user gave to the
//! server ([`rewriting`]); entries go through as they were written ([`entry`]); a file is asked for
//! when a client reads it and served only if it is what was listed ([`files`]). What may be passed on
//! is for the program around it to say ([`admission`]).
//!
//! The skills of this machine's folders can stand beside them, by the same rules
//! ([`Folders`](folders::Folders)).
//!
//! Nothing is fetched ahead of need: following a server costs its listing and nothing else.

pub mod admission;
pub mod entry;
pub mod files;
pub mod folders;
pub mod hops;
pub mod rewriting;
pub mod upstream;
pub mod upstreams;

mod follow;
mod json;
mod news;
mod shared;
mod skill;
mod stock;
