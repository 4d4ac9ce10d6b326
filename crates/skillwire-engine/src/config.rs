//! Options for how a server answers.

use crate::dialect::{Dialects, Usage};

/// The clients and caches that may reuse an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheScope {
    /// Any client or shared cache.
    #[default]
    Public,
    /// Only the caller it was made for.
    Private,
}

impl CacheScope {
    /// Returns the value in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// Options for how requests are answered.
#[derive(Debug, Clone)]
pub struct Config {
    /// The number of items on one page of a listing.
    pub page_size: usize,
    /// How long a client may reuse an answer, in milliseconds.
    pub ttl_ms: u64,
    /// Who may reuse answers; callers with a token always get `private`.
    pub cache_scope: CacheScope,
    /// Whether `resources/directory/read` is offered.
    pub directory_read: bool,
    /// The most bytes of files that are cached, and the most bytes of pages of listings; memory is
    /// used only as clients read files and request pages again.
    pub cache_bytes: u64,
    /// The dialects that are enabled besides the extension.
    pub dialects: Dialects,
    /// The skill that is the guide to this server's tools.
    pub usage: Option<Usage>,
    /// The server's name, for display only.
    pub name: String,
    /// The server's version, for display only.
    pub version: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            page_size: 100,
            ttl_ms: 60_000,
            cache_scope: CacheScope::Public,
            directory_read: true,
            cache_bytes: 128 * 1024 * 1024,
            dialects: Dialects::default(),
            usage: None,
            name: "skillwire".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
