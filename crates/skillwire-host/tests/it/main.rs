//! The host against servers that are honest, broken and hostile.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod approvals;
mod deadline;
mod dialects;
mod discovery;
mod documents;
mod integrity;
#[cfg(feature = "oauth")]
mod login;
mod resources;
mod support;
mod tools;
mod verification;
mod windows;
