//! The bytes of files, checked against the published digest and cached.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use foldhash::quality::RandomState;
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use skillwire_core::Digest;
use skillwire_source::{ContentOwner, FileRecord, FileStore, FileStoreError, RemoteFiles};

use super::quote::quote;

/// A guess at the size of a file, for the first allocation of the cache.
const TYPICAL_BYTES: usize = 8 * 1024;

/// Larger files are not read on the event loop: hashing and rendering this many bytes takes 0.1 ms
/// at 1 GB/s, and holds up other requests.
const SHORT_WORK_BYTES: u64 = 64 * 1024;

/// Caches files in the form they are sent: `,"text":"…"}` or `,"blob":"…"}`, by their owner and the
/// digest of their bytes.
///
/// Equal bytes of one owner are cached once, whatever skills they are in. A changed file has
/// another digest, so no entry ever goes stale.
///
/// Trust boundary: keys include the owner. Otherwise a server could list the digest of another
/// server's file and get its bytes from this cache.
#[derive(Debug)]
pub(crate) struct Contents(Cache<Key, Bytes, ByLength, RandomState>);

type Key = (ContentOwner, Digest);

fn key(store: &Arc<dyn FileStore>, file: &FileRecord) -> Key {
    (store.remote().map_or(ContentOwner::LOCAL, RemoteFiles::owner), file.digest)
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<Key, Bytes> for ByLength {
    fn weight(&self, _: &Key, rendered: &Bytes) -> u64 {
        rendered.len() as u64 + 64
    }
}

/// The reason why a file cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentError {
    /// The file does not match the published digest.
    Changed,
    /// The file cannot be read; the text is for the log.
    Failed(String),
}

impl Contents {
    /// Creates a cache of at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        let typical = usize::try_from(most).unwrap_or(usize::MAX) / TYPICAL_BYTES;
        // One shard, so that a single file may be as large as the whole cache.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(typical.max(16))
            .weight_capacity(most)
            .build();
        let (hasher, lifecycle) = (RandomState::default(), DefaultLifecycle::default());
        Self(match options {
            Ok(options) => Cache::with_options(options, ByLength, hasher, lifecycle),
            Err(_) => Cache::with(typical.max(16), most, ByLength, hasher, lifecycle),
        })
    }

    /// Returns the file if it is cached.
    pub(super) fn kept(&self, store: &Arc<dyn FileStore>, file: &FileRecord) -> Option<Bytes> {
        self.0.get(&key(store, file))
    }

    /// Reads a file, refuses it unless it matches the published digest, and caches it.
    ///
    /// A concurrent request for the same bytes waits for this read and shares its result.
    pub(super) fn read(
        &self,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
    ) -> Result<Bytes, ContentError> {
        let read = || check(store.read(&file.path, file.size), file);
        self.0.get_or_insert_with(&key(store, file), read)
    }

    /// Fetches a file of a remote store, with the same check and the same cache.
    pub(super) async fn fetch(
        &self,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
    ) -> Result<Bytes, ContentError> {
        let fetch = async {
            let remote = store.remote().ok_or_else(|| {
                ContentError::Failed("a store of this machine was asked like another's".to_owned())
            })?;
            check(remote.fetch(&file.path, file.size).await, file)
        };
        self.0.get_or_insert_async(&key(store, file), fetch).await
    }

    /// Reads a file if that needs neither waiting nor long work; returns `None` otherwise.
    pub(super) fn read_now(
        &self,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
    ) -> Option<Result<Bytes, ContentError>> {
        if file.size > SHORT_WORK_BYTES {
            return None;
        }
        let checked = check(store.read_cached(&file.path, file.size)?, file);
        if let Ok(rendered) = &checked {
            self.0.insert(key(store, file), rendered.clone());
        }
        Some(checked)
    }
}

/// Renders bytes if they match the published digest.
fn check(read: Result<Bytes, FileStoreError>, file: &FileRecord) -> Result<Bytes, ContentError> {
    published(read, file).map(|bytes| render(&bytes))
}

/// Returns bytes if they match the published digest.
pub(crate) fn published(
    read: Result<Bytes, FileStoreError>,
    file: &FileRecord,
) -> Result<Bytes, ContentError> {
    let bytes = read.map_err(|error| match error {
        FileStoreError::Changed => ContentError::Changed,
        FileStoreError::Failed(reason) => ContentError::Failed(reason),
    })?;
    if bytes.len() as u64 != file.size || Digest::of(&bytes) != file.digest {
        return Err(ContentError::Changed);
    }
    Ok(bytes)
}

/// The beginning of a rendered file that is text.
pub(super) const TEXT_MEMBER: &[u8] = br#","text":"#;

/// Writes the end of one element of `contents`: UTF-8 as `text`, everything else as `blob`.
pub(crate) fn render(bytes: &[u8]) -> Bytes {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            // Each line end and quotation mark becomes two bytes.
            let mut rendered = Vec::with_capacity(text.len() + text.len() / 16 + 64);
            rendered.extend_from_slice(TEXT_MEMBER);
            quote(&mut rendered, text);
            rendered.push(b'}');
            Bytes::from(rendered)
        }
        Err(_) => Bytes::from(format!(r#","blob":"{}"}}"#, STANDARD.encode(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Condvar, Mutex},
        thread,
    };

    use skillwire_core::RelPath;
    use skillwire_source::MemoryFiles;

    use super::*;

    /// A store whose reads block until the test releases them.
    #[derive(Debug, Default)]
    struct Slow {
        reads: Mutex<(usize, bool)>,
        news: Condvar,
    }

    impl FileStore for Slow {
        fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
            let mut reads = self.reads.lock().unwrap();
            reads.0 += 1;
            self.news.notify_all();
            drop(self.news.wait_while(reads, |(_, open)| !*open).unwrap());
            Ok(Bytes::from_static(b"slow"))
        }
    }

    #[test]
    fn concurrent_requests_for_the_same_bytes_share_one_read_srv_52() {
        const ASKING: usize = 8;
        let contents = Contents::new(1_000);
        let slow = Arc::new(Slow::default());
        let store: Arc<dyn FileStore> = slow.clone();
        let published = FileRecord::new(RelPath::parse("a.md").unwrap(), b"slow");
        let asked = std::sync::Barrier::new(ASKING + 1);
        thread::scope(|scope| {
            for _ in 0..ASKING {
                scope.spawn(|| {
                    asked.wait();
                    assert!(contents.read(&store, &published).is_ok());
                });
            }
            asked.wait();
            // Gives each thread the time to start a read of its own, which must not happen.
            let mut reads =
                slow.news.wait_while(slow.reads.lock().unwrap(), |(reads, _)| *reads == 0).unwrap();
            for _ in 0..100_000 {
                drop(reads);
                thread::yield_now();
                reads = slow.reads.lock().unwrap();
            }
            reads.1 = true;
            slow.news.notify_all();
        });
        assert_eq!(slow.reads.lock().unwrap().0, 1);
    }

    #[test]
    fn text_is_utf8_and_everything_else_is_base64_srv_75() {
        let text = render("a\u{2028}\0\r".as_bytes());
        assert_eq!(text, ",\"text\":\"a\u{2028}\\u0000\\r\"}".as_bytes());
        assert_eq!(render(b"\xff\xfe"), r#","blob":"//4="}"#.as_bytes());
    }

    #[test]
    fn bytes_that_are_not_what_was_published_are_refused_srv_52() {
        let path = RelPath::parse("a.md").unwrap();
        let published = FileRecord::new(path.clone(), b"old");
        let held = |bytes: &'static [u8]| -> Arc<dyn FileStore> {
            Arc::new(MemoryFiles::new([(path.clone(), Bytes::from_static(bytes))]))
        };
        let contents = Contents::new(1_000);
        assert_eq!(contents.read(&held(b"new"), &published), Err(ContentError::Changed));
        assert_eq!(contents.read(&held(b"older"), &published), Err(ContentError::Changed));
        assert!(contents.kept(&held(b"old"), &published).is_none());
        assert!(contents.read(&held(b"old"), &published).is_ok());
        assert!(contents.kept(&held(b"old"), &published).is_some());
    }
}
