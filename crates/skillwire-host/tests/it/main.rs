//! The host against servers that are honest, broken and hostile.

mod approvals;
mod client;
mod discovery;
mod integrity;
mod state;
mod support;
mod tools;
mod verification;
mod windows;
