//! Servers whose skills are passed on, seen from the client's side of the wire.
#![expect(clippy::unwrap_used, reason = "a test that finds nothing has failed")]

mod admission;
mod codes;
mod dialects;
mod entries;
mod failing;
mod files;
mod following;
mod naming;
mod rewriting;
mod sharing;
mod support;
