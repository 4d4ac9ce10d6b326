//! Documents about a whole catalogue, made when a client reads them and cached within a bound.

use std::sync::Arc;

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use skillwire_catalog::ViewId;
use skillwire_core::Digest;
use skillwire_protocol::{Era, RpcError};
use tokio::sync::Semaphore;

/// The most documents that are made at the same time; each may be as large as the catalogue.
const MAKERS: usize = 2;

/// A document about all skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DialectDocument {
    /// `skill://index.json`.
    Index,
    /// `skill://index`.
    PlainIndex,
    /// `skill://prompt-xml`.
    PromptXml,
    /// `/.well-known/skills/index.json`.
    WellKnownFiles,
    /// `/.well-known/agent-skills/index.json`.
    WellKnownArtifacts,
}

/// Identifies a document: the snapshot it describes, and the callers it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DocumentKey {
    pub(crate) document: DialectDocument,
    pub(crate) generation: u64,
    pub(crate) view: ViewId,
    pub(crate) era: Era,
}

/// A document that is ready to be sent, and is cached.
#[derive(Debug, Clone)]
pub(crate) struct ReadyDocument {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
}

#[derive(Debug, Clone)]
pub(super) struct ByLength;

impl<K> Weighter<K, ReadyDocument> for ByLength {
    fn weight(&self, _: &K, made: &ReadyDocument) -> u64 {
        made.bytes.len() as u64 + 128
    }
}

/// Caches documents.
#[derive(Debug)]
pub(crate) struct DocumentCache {
    kept: Cache<DocumentKey, ReadyDocument, ByLength>,
    makers: Arc<Semaphore>,
}

impl DocumentCache {
    /// Creates a cache of at most `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        let makers = Arc::new(Semaphore::new(MAKERS));
        Self { kept: Cache::with_weighter(16, most, ByLength), makers }
    }

    /// Returns a cached document, or makes it now; concurrent requests share the result.
    pub(crate) async fn get(
        &self,
        key: DocumentKey,
        make: impl Future<Output = Result<Vec<u8>, RpcError>>,
    ) -> Result<ReadyDocument, RpcError> {
        let make = async {
            // The semaphore is never closed, so there is always a permit.
            let _turn = Arc::clone(&self.makers).acquire_owned().await;
            let bytes = Bytes::from(make.await?);
            Ok(ReadyDocument { digest: Digest::of(&bytes), bytes })
        };
        self.kept.get_or_insert_async(&key, make).await
    }
}
