//! Upstreams of a hub, each mode against servers that change, lie, hang and go away.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod dialects;
mod local;
mod modes;
mod mounts;
mod nested;
mod resources;
mod support;
mod tools;
