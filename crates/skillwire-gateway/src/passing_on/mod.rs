//! Turns a skill as its origin lists it into a skill as clients of the gateway see it.

pub(crate) mod admission;
pub(crate) mod entry;
pub(crate) mod files;
pub(crate) mod provenance;
pub(crate) mod skill;
