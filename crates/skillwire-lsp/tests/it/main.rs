//! An editor drives the server over a connection in memory.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod editor;
mod features;
