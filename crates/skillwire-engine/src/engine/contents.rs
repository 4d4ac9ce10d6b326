//! The bytes of files, checked against the published digest and cached.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use foldhash::quality::RandomState;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use parking_lot::Mutex;
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use skillwire_core::Digest;
use skillwire_protocol::quote::{quote, quoted_length};
use skillwire_source::{ContentOwner, FileRecord, FileStore, FileStoreError, RemoteFiles};

use super::budget::{NoAnswerMemory, ReservedMemory};

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
pub(crate) struct ContentCache {
    cache: Cache<FileKey, Bytes, ByLength, RandomState>,
    /// The fetches under way. Requests for one file share one fetch and its failure too: if each
    /// tried again after the others, the last would wait as often as a hanging server has readers.
    fetches: Mutex<HashMap<FileKey, WeakShared<FileRead>>>,
}

type FileKey = (ContentOwner, Digest);

type FileRead = BoxFuture<'static, Result<Bytes, ContentError>>;

fn key(store: &Arc<dyn FileStore>, file: &FileRecord) -> FileKey {
    (store.remote().map_or(ContentOwner::LOCAL, RemoteFiles::owner), file.digest)
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<FileKey, Bytes> for ByLength {
    fn weight(&self, _: &FileKey, rendered: &Bytes) -> u64 {
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
    /// The memory for large answers is in use.
    NoAnswerMemory,
}

impl From<NoAnswerMemory> for ContentError {
    fn from(NoAnswerMemory: NoAnswerMemory) -> Self {
        Self::NoAnswerMemory
    }
}

/// Returns the bytes of memory to reserve for reading a file; none for a small one.
///
/// The file and its rendered form are in memory together. Base64 is a third longer than the file; text
/// is usually a little longer.
pub(crate) fn memory_for(size: u64) -> Option<u64> {
    (size > SHORT_WORK_BYTES)
        .then(|| size.saturating_add(size / 3 * 4).saturating_add(AROUND_CONTENT))
}

/// Memory for the members around the content of a file.
const AROUND_CONTENT: u64 = 64;

impl ContentCache {
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
        let cache = match options {
            Ok(options) => Cache::with_options(options, ByLength, hasher, lifecycle),
            Err(_) => Cache::with(typical.max(16), most, ByLength, hasher, lifecycle),
        };
        Self { cache, fetches: Mutex::default() }
    }

    /// Returns the file if it is cached and may still be sent.
    pub(super) fn kept(&self, store: &Arc<dyn FileStore>, file: &FileRecord) -> Option<Bytes> {
        self.cache.get(&key(store, file)).filter(|_| !store.is_withdrawn())
    }

    /// Reads a file, refuses it unless it matches the published digest, and caches it.
    ///
    /// A concurrent request for the same bytes waits for this read and shares its result. A large file
    /// needs `memory`, which its rendered form holds.
    pub(super) fn read(
        &self,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
        memory: Option<ReservedMemory>,
    ) -> Result<Bytes, ContentError> {
        let read = || check(store.read(&file.path, file.size), file, memory);
        let rendered = self.cache.get_or_insert_with(&key(store, file), read)?;
        unless_withdrawn(store, rendered)
    }

    /// Fetches a file of a remote store, with the same check and the same cache.
    ///
    /// A concurrent request for the same bytes waits for this fetch and shares its result. The fetch
    /// ends early when no request waits for it any more.
    pub(super) async fn fetch(
        &self,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
        memory: Option<ReservedMemory>,
    ) -> Result<Bytes, ContentError> {
        let key = key(store, file);
        if let Some(kept) = self.cache.get(&key) {
            return unless_withdrawn(store, kept);
        }
        // Dropped after the fetch below, so that the last request to leave forgets it.
        let _forget = ForgetFetch { contents: self, key };
        let fetch = self.join_fetch(key, store, file, memory);
        let rendered = fetch.await?;
        self.cache.insert(key, rendered.clone());
        unless_withdrawn(store, rendered)
    }

    /// Returns the fetch of a file that is under way, or begins one.
    ///
    /// Only a request that begins a fetch keeps its memory; others would occupy it for nothing while they
    /// wait.
    fn join_fetch(
        &self,
        key: FileKey,
        store: &Arc<dyn FileStore>,
        file: &FileRecord,
        memory: Option<ReservedMemory>,
    ) -> Shared<FileRead> {
        let mut fetches = self.fetches.lock();
        let running = fetches.get(&key).and_then(WeakShared::upgrade);
        // A fetch that has ended is not shared with later requests: the server may be back.
        if let Some(running) = running.filter(|running| running.peek().is_none()) {
            return running;
        }
        let (store, file) = (Arc::clone(store), file.clone());
        let fetch = async move {
            let remote = store.remote().ok_or_else(|| {
                ContentError::Failed("a store of this machine was asked like another's".to_owned())
            })?;
            check(remote.fetch(&file.path, file.size).await, &file, memory)
        };
        let fetch = fetch.boxed().shared();
        if let Some(weak) = fetch.downgrade() {
            fetches.insert(key, weak);
        }
        fetch
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
        let checked = check(store.read_cached(&file.path, file.size)?, file, None);
        match &checked {
            Ok(rendered) => self.cache.insert(key(store, file), rendered.clone()),
            // The store of another server finds out by itself what is wrong, and may report it.
            Err(_) if store.remote().is_some() => return None,
            Err(_) => {}
        }
        Some(checked)
    }
}

/// Forgets the fetch of a file when no request waits for it any more.
struct ForgetFetch<'a> {
    contents: &'a ContentCache,
    key: FileKey,
}

impl Drop for ForgetFetch<'_> {
    fn drop(&mut self) {
        let mut fetches = self.contents.fetches.lock();
        if fetches.get(&self.key).is_some_and(|fetch| fetch.upgrade().is_none()) {
            fetches.remove(&self.key);
        }
    }
}

/// Returns a file if it may still be sent. This is asked after a read has ended: the skill may have
/// been withdrawn meanwhile.
fn unless_withdrawn(store: &Arc<dyn FileStore>, rendered: Bytes) -> Result<Bytes, ContentError> {
    if store.is_withdrawn() { Err(ContentError::Changed) } else { Ok(rendered) }
}

/// Renders bytes if they match the published digest.
fn check(
    read: Result<Bytes, FileStoreError>,
    file: &FileRecord,
    memory: Option<ReservedMemory>,
) -> Result<Bytes, ContentError> {
    let bytes = published(read, file)?;
    match memory {
        None => Ok(render(&bytes)),
        Some(memory) => render_within(memory, &bytes).map_err(ContentError::from),
    }
}

/// Renders bytes into memory that counts against the budget until the last client has them.
pub(crate) fn render_within(
    mut memory: ReservedMemory,
    bytes: &[u8],
) -> Result<Bytes, NoAnswerMemory> {
    let length = rendered_length(bytes);
    if memory.resize((bytes.len() + length) as u64) {
        Ok(memory.tie_to(render_with(length, bytes)))
    } else {
        Err(NoAnswerMemory)
    }
}

/// Returns bytes if they match the published digest.
pub(crate) fn published(
    read: Result<Bytes, FileStoreError>,
    file: &FileRecord,
) -> Result<Bytes, ContentError> {
    let bytes = read.map_err(|error| match error {
        FileStoreError::Changed => ContentError::Changed,
        FileStoreError::Failed(reason) => ContentError::Failed(reason.to_string()),
    })?;
    if bytes.len() as u64 != file.size || Digest::of(&bytes) != file.digest {
        return Err(ContentError::Changed);
    }
    Ok(bytes)
}

/// The beginning of a rendered file that is text.
pub(super) const TEXT_MEMBER: &[u8] = br#","text":"#;

const BLOB_MEMBER: &[u8] = br#","blob":""#;

/// Writes the end of one element of `contents`: UTF-8 as `text`, everything else as `blob`.
pub(crate) fn render(bytes: &[u8]) -> Bytes {
    // In text, each line end and quotation mark becomes two bytes.
    Bytes::from(render_with(bytes.len() + bytes.len() / 16 + 64, bytes))
}

fn render_with(capacity: usize, bytes: &[u8]) -> Vec<u8> {
    let mut rendered = Vec::with_capacity(capacity);
    if let Ok(text) = std::str::from_utf8(bytes) {
        rendered.extend_from_slice(TEXT_MEMBER);
        quote(&mut rendered, text);
        rendered.push(b'}');
    } else {
        rendered.extend_from_slice(BLOB_MEMBER);
        let start = rendered.len();
        rendered.resize(start + base64_length(bytes), 0);
        // The length was computed for these bytes, so they fit.
        let written = STANDARD.encode_slice(bytes, &mut rendered[start..]).unwrap_or(0);
        rendered.truncate(start + written);
        rendered.extend_from_slice(b"\"}");
    }
    rendered
}

/// Returns the exact number of bytes that rendering gives.
fn rendered_length(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => TEXT_MEMBER.len() + quoted_length(text) + 1,
        Err(_) => BLOB_MEMBER.len() + base64_length(bytes) + 2,
    }
}

fn base64_length(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4
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
        let contents = ContentCache::new(1_000);
        let slow = Arc::new(Slow::default());
        let store: Arc<dyn FileStore> = slow.clone();
        let published = FileRecord::new(RelPath::parse("a.md").unwrap(), b"slow");
        let asked = std::sync::Barrier::new(ASKING + 1);
        thread::scope(|scope| {
            for _ in 0..ASKING {
                scope.spawn(|| {
                    asked.wait();
                    assert!(contents.read(&store, &published, None).is_ok());
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

    /// A store of a server that fails each request when the test says so.
    #[derive(Debug, Default)]
    struct Failing {
        requests: std::sync::atomic::AtomicUsize,
        fail: Arc<tokio::sync::Notify>,
    }

    impl FileStore for Failing {
        fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
            Err(FileStoreError::Changed)
        }

        fn remote(&self) -> Option<&dyn RemoteFiles> {
            Some(self)
        }
    }

    impl RemoteFiles for Failing {
        fn fetch(
            &self,
            _: &RelPath,
            _: u64,
        ) -> skillwire_source::BoxFuture<Result<Bytes, FileStoreError>> {
            self.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let fail = Arc::clone(&self.fail);
            Box::pin(async move {
                fail.notified().await;
                Err(FileStoreError::failed("no answer"))
            })
        }

        fn owner(&self) -> ContentOwner {
            ContentOwner::LOCAL
        }
    }

    #[tokio::test]
    async fn readers_of_one_file_share_a_failed_fetch_and_later_ones_try_again_sec_03() {
        let contents = ContentCache::new(1_000);
        let failing = Arc::new(Failing::default());
        let store: Arc<dyn FileStore> = failing.clone();
        let published = FileRecord::new(RelPath::parse("a.md").unwrap(), b"slow");
        let requests = || failing.requests.load(std::sync::atomic::Ordering::Relaxed);
        for attempt in 1..=2 {
            let readers = (0..8).map(|_| contents.fetch(&store, &published, None));
            let readers = futures_util::future::join_all(readers);
            let (outcomes, ()) = tokio::join!(readers, async { failing.fail.notify_waiters() });
            assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
            assert_eq!(requests(), attempt);
        }
        assert!(contents.fetches.lock().is_empty());
        // A fetch ends when no reader waits for it.
        let mut given_up = Box::pin(contents.fetch(&store, &published, None));
        assert!(futures_util::poll!(&mut given_up).is_pending());
        drop(given_up);
        assert!(contents.fetches.lock().is_empty());
    }

    #[test]
    fn text_is_utf8_and_everything_else_is_base64_srv_75() {
        let text = render("a\u{2028}\0\r".as_bytes());
        assert_eq!(text, ",\"text\":\"a\u{2028}\\u0000\\r\"}".as_bytes());
        assert_eq!(render(b"\xff\xfe"), r#","blob":"//4="}"#.as_bytes());
        for bytes in [&b""[..], b"a\n\x01\"\\\x7f", b"\xff", b"\xff\xff", b"\xff\xff\xff"] {
            assert_eq!(rendered_length(bytes), render(bytes).len(), "{bytes:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_what_was_published_are_refused_srv_52() {
        let path = RelPath::parse("a.md").unwrap();
        let published = FileRecord::new(path.clone(), b"old");
        let held = |bytes: &'static [u8]| -> Arc<dyn FileStore> {
            Arc::new(MemoryFiles::new([(path.clone(), Bytes::from_static(bytes))]))
        };
        let contents = ContentCache::new(1_000);
        assert_eq!(contents.read(&held(b"new"), &published, None), Err(ContentError::Changed));
        assert_eq!(contents.read(&held(b"older"), &published, None), Err(ContentError::Changed));
        assert!(contents.kept(&held(b"old"), &published).is_none());
        assert!(contents.read(&held(b"old"), &published, None).is_ok());
        assert!(contents.kept(&held(b"old"), &published).is_some());
    }
}
