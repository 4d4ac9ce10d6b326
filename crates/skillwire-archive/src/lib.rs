//! Skills as archives: made with the same bytes every time, opened by strict rules.
//!
//! Both directions work on bytes in memory. Nothing in this crate touches a file, so that whatever
//! an archive holds is judged whole before anybody can see a part of it.

mod format;
mod limits;
mod pack;
mod refused;
mod unpack;

pub use self::{
    format::Format,
    limits::{Budget, Limits},
    pack::{NotPacked, pack},
    refused::{Reason, Refused},
    unpack::{File, unpack},
};
