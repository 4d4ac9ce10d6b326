//! State on this machine: records, cache, audit log, configured servers and logins, in files that
//! only the user can write.
//!
//! This crate never decides anything: a record approves only the content it holds, and the host
//! compares bytes from the cache with the entry it holds. It never knows a home directory; the
//! caller says where the files are.
//!
//! ```
//! use skillwire_state::{FileRecords, RecordStore as _};
//!
//! let records = FileRecords::new("folder/that/is/not/there");
//! let (all, unreadable) = records.all();
//! assert!(all.is_empty() && unreadable.is_empty());
//! ```

mod audit;
mod cache;
mod dialects;
mod encoding;
mod folder;
mod logins;
mod records;
mod servers;
mod state_file;
mod time;

pub use skillwire_client::{InvalidServer, Login, ServerConfig};
pub use skillwire_core::Digest;
pub use skillwire_trust::{Origin, RecordStore, ServerLabel, SkillId, StoreError};

pub use self::{
    audit::{AuditLines, AuditLog, UnreadableLine},
    cache::FileCache,
    dialects::FileDialects,
    encoding::{decode, encode},
    logins::Logins,
    records::FileRecords,
    servers::{Configured, Imported, ServerProblem, Servers, import},
    state_file::StateFile,
};
