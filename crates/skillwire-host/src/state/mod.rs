//! State on this machine: records, cache, audit log and configured servers, in files that only the
//! user can write, and records and a cache that live in memory.
//!
//! Nothing here decides anything: a record is an approval only of the content it holds, and bytes
//! from the cache are compared with the held entry by whoever asks for them.

mod audit;
mod cache;
mod dialects;
mod encoding;
mod folder;
mod logins;
mod memory;
mod records;
mod servers;
#[cfg(test)]
pub(crate) mod testing;
mod time;

pub use audit::{AuditLines, AuditLog, UnreadableLine};
pub use cache::FileCache;
pub use dialects::FileDialects;
pub use encoding::{decode, encode};
pub use logins::{Login, Logins};
pub use memory::{MemoryAudit, MemoryCache, MemoryDialects, MemoryRecords};
pub use records::FileRecords;
pub use servers::{
    Configured, HttpServer, Imported, InvalidServer, ServerConfig, ServerProblem, ServerUrl,
    Servers, StdioServer, WellKnownOrigin, import,
};
