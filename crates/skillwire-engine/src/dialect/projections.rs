//! What dialects keep between requests.

use std::sync::Arc;

use quick_cache::sync::Cache;
use skillwire_catalog::ViewId;

use super::{archives::Archives, documents::Documents, names::LookupNames};

/// Catalogues whose names are remembered at once: those of a few views.
const REMEMBERED: usize = 8;

/// Names, documents and archives that were made for a request; nothing is made ahead.
#[derive(Debug)]
pub(crate) struct Projections {
    pub(crate) names: Cache<(u64, ViewId), Arc<LookupNames>>,
    pub(super) documents: Documents,
    pub(super) archives: Archives,
}

impl Projections {
    /// Keeps documents of at most so many bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            names: Cache::new(REMEMBERED),
            documents: Documents::new(most),
            archives: Archives::new(most),
        }
    }
}
