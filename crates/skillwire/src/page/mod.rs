//! The page of this program: what fills it, and how its requests arrive.

pub(crate) mod catalog;
#[cfg(feature = "host")]
pub(crate) mod host;
mod scanned;
pub(crate) mod served;
