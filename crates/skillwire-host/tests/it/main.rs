//! The host against servers that keep the rules and servers that do not.

mod approvals;
mod discovery;
mod integrity;
mod support;
mod windows;
