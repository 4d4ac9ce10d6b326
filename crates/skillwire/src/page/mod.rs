//! The page of this program: what fills it, and how its requests arrive.

pub(crate) mod catalog;
mod exported;
#[cfg(feature = "host")]
pub(crate) mod host;
#[cfg(feature = "hub")]
pub(crate) mod hub;
mod listing;
mod scanned;
pub(crate) mod served;
mod texts;
