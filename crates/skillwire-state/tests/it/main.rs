//! State on disk, used by processes.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod processes;
