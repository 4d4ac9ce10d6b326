//! State on this machine: records, cache, audit log and configured servers, in files that only the
//! user can write, and records and a cache that live in memory.
//!
//! Nothing here decides anything: a record is an approval only of the content it holds, and bytes
//! from the cache are compared with the held entry by whoever asks for them.

mod cache;
mod encoding;
mod folder;
mod records;
#[cfg(test)]
mod testing;
mod time;

pub use cache::FileCache;
pub use encoding::{decode, encode};
pub use records::FileRecords;
