//! Isolation as Linux gives it.

pub(crate) mod cgroup;
pub(crate) mod helper;
pub(crate) mod probe;
mod protocol;
mod proxy;
mod scratch;
pub(crate) mod supervisor;
mod tree;
