//! Archives, good and hostile, written byte by byte.
//!
//! No archive library has a say in them: a library that refuses to write an entry, or mends it,
//! could not show what happens when somebody sends one.

mod corpus;
mod tar;
mod zip;

pub use self::{
    corpus::{Sample, corpus, refunds},
    tar::{Member, gzip, tar},
    zip::{ZipMember, zip},
};
