//! Tests of sources with the kinds of folders that users have.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod format;
#[cfg(unix)]
mod hostile;
mod index;
mod layout;
mod limits;
mod links;
mod look;
mod memory;
mod merge;
mod namespace;
mod nested;
mod parts;
mod rescan;
mod root;
mod store;
mod support;
