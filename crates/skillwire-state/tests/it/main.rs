//! State on disk as processes use it.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod processes;
