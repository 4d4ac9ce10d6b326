//! Archives, good and hostile, written byte by byte.
//!
//! No archive library writes them: a library that refuses or repairs an entry could not show what
//! happens when a server sends it.

mod corpus;
mod tar;
mod zip;

pub use self::{
    corpus::{ArchiveSample, corpus, refunds},
    tar::{TarMember, gzip, tar},
    zip::{ZipMember, zip},
};
