//! The caches of the dialects.

use std::sync::Arc;

use quick_cache::sync::Cache;
use skillwire_catalog::ViewId;

use super::{archives::ArchiveCache, documents::DocumentCache, names::LookupNames};

/// The most snapshots whose names are cached: one for each of a few views.
const REMEMBERED: usize = 8;

/// Caches names, documents and archives that were made for a request; nothing is made ahead.
#[derive(Debug)]
pub(crate) struct Projections {
    pub(crate) names: Cache<(u64, ViewId), Arc<LookupNames>>,
    pub(super) documents: DocumentCache,
    pub(super) archives: ArchiveCache,
}

impl Projections {
    /// Creates caches; documents may take at most `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            names: Cache::new(REMEMBERED),
            documents: DocumentCache::new(most),
            archives: ArchiveCache::new(most),
        }
    }
}
