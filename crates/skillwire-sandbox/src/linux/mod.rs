//! Isolation as Linux gives it.

pub(crate) mod helper;
pub(crate) mod probe;
mod protocol;
mod proxy;
pub(crate) mod supervisor;
mod tree;
