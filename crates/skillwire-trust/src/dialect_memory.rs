//! How servers were found to offer their skills, so that the host does not try every dialect each time.
//!
//! What is remembered is only where to begin: an answer is read by the same rules whether or not
//! it was expected, and nothing is asked of a server that did not declare it.

use skillwire_core::Digest;

use crate::{label::ServerLabel, record::StoreError};
use skillwire_dialects::Dialect;

/// How a server offered its skills when it described itself in this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownDialect {
    /// What the server said about itself, and whether the user let all its resources be looked
    /// through; under another description the dialect may be another one.
    pub described: Digest,
    /// How it offered its skills.
    pub dialect: Dialect,
}

/// Remembers the dialects of servers.
pub trait DialectMemory: Send + Sync {
    /// What is known of a server; whatever cannot be read is not known.
    fn recall(&self, server: &ServerLabel) -> Option<KnownDialect>;

    /// Remembers how a server offers its skills, in the place of what was known.
    fn remember(&self, server: &ServerLabel, known: KnownDialect) -> Result<(), StoreError>;

    /// Forgets a server.
    fn forget(&self, server: &ServerLabel) -> Result<(), StoreError>;
}
