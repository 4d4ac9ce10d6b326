//! The remembered dialects of servers, so that the host does not try every dialect each time.
//!
//! The memory only says where to begin. The host reads an answer by the same rules whether or not
//! it expected it, and asks a server only for what the server declared.

use skillwire_core::Digest;

use crate::{label::ServerLabel, record::StoreError};
use skillwire_dialects::Dialect;

/// The dialect of a server, and the description it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownDialect {
    /// A digest over the server's description of itself and over whether the user allowed searching
    /// all its resources. Under another description the dialect may be another one.
    pub described: Digest,
    /// The dialect in which the server offered its skills.
    pub dialect: Dialect,
}

/// Remembers the dialects of servers.
pub trait DialectMemory: Send + Sync {
    /// Returns the remembered dialect of a server; `None` if it cannot be read.
    fn recall(&self, server: &ServerLabel) -> Option<KnownDialect>;

    /// Remembers the dialect of a server, in place of an earlier one.
    fn remember(&self, server: &ServerLabel, known: KnownDialect) -> Result<(), StoreError>;

    /// Forgets the dialect of a server.
    fn forget(&self, server: &ServerLabel) -> Result<(), StoreError>;
}
