//! Servers whose skills are passed on.

mod admission;
pub(crate) mod arguments;
mod codes;
mod dialects;
mod entries;
mod failing;
mod files;
mod following;
mod hanging;
mod naming;
mod rewriting;
mod sharing;
pub(crate) mod support;
