//! A bounded folder of blobs beside an object store.
//!
//! A replica reads most files many times. While the object store is away it goes on to serve those that
//! it has. Nothing here is trusted: every read is hashed, and a file that does not match is a miss.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use skillwire_core::Digest;

use crate::{error::StoreError, garbage::digest_of};

/// A file that is being written has its name within this time.
const STAGED_FOR: Duration = Duration::from_hours(1);

/// A bounded folder of blobs. Clones share it.
#[derive(Clone)]
pub(crate) struct BlobCache {
    folder: PathBuf,
    limit: u64,
    contents: Arc<Mutex<CacheContents>>,
}

/// Which blobs are there, from the one that was not used for the longest time.
#[derive(Default)]
struct CacheContents {
    /// The size of each blob, and when it was last used.
    entries: HashMap<Digest, (u64, u64)>,
    by_use: BTreeMap<u64, Digest>,
    bytes: u64,
    uses: u64,
}

impl CacheContents {
    fn touch(&mut self, digest: Digest, size: u64) {
        self.remove(&digest);
        self.uses += 1;
        self.entries.insert(digest, (size, self.uses));
        self.by_use.insert(self.uses, digest);
        self.bytes += size;
    }

    fn remove(&mut self, digest: &Digest) -> bool {
        let Some((size, used)) = self.entries.remove(digest) else { return false };
        self.by_use.remove(&used);
        self.bytes -= size;
        true
    }

    /// Takes out what was not used for the longest time, until the rest fits.
    fn shrink_to(&mut self, limit: u64) -> Vec<Digest> {
        let mut removed = Vec::new();
        // Empty blobs count nothing, and go when everything goes.
        while self.bytes > limit || (limit == 0 && !self.by_use.is_empty()) {
            let Some((_, digest)) = self.by_use.first_key_value() else { break };
            let digest = *digest;
            self.remove(&digest);
            removed.push(digest);
        }
        removed
    }
}

impl BlobCache {
    /// Opens a cache of at most `limit` bytes; what is in the folder from before is used again.
    pub(crate) fn open(folder: &Path, limit: u64) -> Result<Self, StoreError> {
        let failed = |source| StoreError::File { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut contents = CacheContents::default();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let size = entry.metadata().map_err(failed)?.len();
            match name.to_str().and_then(|name| digest_of(name).ok()) {
                Some(digest) => contents.touch(digest, size),
                // What a crash left of a write; a younger one may be of another replica.
                None if name.to_string_lossy().starts_with("new-") => {
                    let written = entry.metadata().and_then(|it| it.modified()).map_err(failed)?;
                    if written.elapsed().is_ok_and(|age| age > STAGED_FOR) {
                        fs::remove_file(entry.path()).map_err(failed)?;
                    }
                }
                None => {}
            }
        }
        let cache =
            Self { folder: folder.to_owned(), limit, contents: Arc::new(Mutex::new(contents)) };
        cache.delete_files(&cache.lock().shrink_to(limit));
        Ok(cache)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CacheContents> {
        // Nothing that holds the lock panics halfway.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.hex())
    }

    fn delete_files(&self, digests: &[Digest]) {
        for digest in digests {
            // One that cannot be deleted stays on the disk until the next start finds it.
            if let Err(error) = fs::remove_file(self.path(digest)) {
                tracing::debug!(%digest, %error, "a cached file could not be deleted");
            }
        }
    }

    /// Returns a blob if it is there with the right bytes. Blocks.
    pub(crate) fn get(&self, digest: &Digest) -> Option<Bytes> {
        if !self.lock().entries.contains_key(digest) {
            return None;
        }
        let bytes = fs::read(self.path(digest)).ok().filter(|bytes| Digest::of(bytes) == *digest);
        let Some(bytes) = bytes else {
            self.forget(&[*digest]);
            return None;
        };
        self.lock().touch(*digest, bytes.len() as u64);
        Some(Bytes::from(bytes))
    }

    /// Keeps a blob, if it is not too large for the cache. A failure costs only the next read. Blocks.
    pub(crate) fn keep(&self, digest: &Digest, bytes: &Bytes) {
        let size = bytes.len() as u64;
        if size > self.limit / 4 {
            return;
        }
        let staged = tempfile_in(&self.folder, digest);
        let written =
            fs::write(&staged, bytes).and_then(|()| fs::rename(&staged, self.path(digest)));
        if let Err(error) = written {
            tracing::debug!(%digest, %error, "a file could not be cached");
            let _ = fs::remove_file(&staged);
            return;
        }
        let removed = {
            let mut contents = self.lock();
            contents.touch(*digest, size);
            contents.shrink_to(self.limit)
        };
        self.delete_files(&removed);
    }

    /// Deletes blobs, for example those of a version that was erased. Blocks.
    pub(crate) fn forget(&self, digests: &[Digest]) {
        let known: Vec<Digest> = {
            let mut contents = self.lock();
            digests.iter().filter(|digest| contents.remove(digest)).copied().collect()
        };
        self.delete_files(&known);
    }

    /// Deletes every blob. Blocks.
    pub(crate) fn forget_all(&self) {
        let known: Vec<Digest> = self.lock().shrink_to(0);
        self.delete_files(&known);
    }
}

/// A name that no other thread and no other process writes to.
fn tempfile_in(folder: &Path, digest: &Digest) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (number, process) = (NEXT.fetch_add(1, Ordering::Relaxed), std::process::id());
    folder.join(format!("new-{process}-{number}-{}", &digest.hex()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(number: u8) -> (Digest, Bytes) {
        let bytes = Bytes::from(vec![number; 100]);
        (Digest::of(&bytes), bytes)
    }

    #[test]
    fn the_blob_that_was_not_used_for_the_longest_time_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(folder.path(), 400).unwrap();
        for number in 1..=4 {
            let (digest, bytes) = blob(number);
            cache.keep(&digest, &bytes);
        }
        assert!(cache.get(&blob(1).0).is_some());
        let (digest, bytes) = blob(5);
        cache.keep(&digest, &bytes);
        assert!(cache.get(&blob(2).0).is_none());
        assert!(cache.get(&blob(1).0).is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        let large = Bytes::from(vec![9; 101]);
        cache.keep(&Digest::of(&large), &large);
        assert!(cache.get(&Digest::of(&large)).is_none());
    }

    #[test]
    fn a_cached_file_that_was_changed_is_a_miss_and_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(folder.path(), 400).unwrap();
        let (digest, bytes) = blob(1);
        cache.keep(&digest, &bytes);
        fs::write(cache.path(&digest), vec![2; 100]).unwrap();
        assert!(cache.get(&digest).is_none());
        assert!(!cache.path(&digest).exists());
    }

    #[test]
    fn a_restart_uses_what_is_there_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(folder.path(), 1_000).unwrap();
        for number in 1..=4 {
            let (digest, bytes) = blob(number);
            cache.keep(&digest, &bytes);
        }
        let torn = fs::File::create(folder.path().join("new-7-abc")).unwrap();
        torn.set_modified(std::time::SystemTime::now() - 2 * STAGED_FOR).unwrap();
        let cache = BlobCache::open(folder.path(), 250).unwrap();
        let kept = (1..=4).filter(|number| cache.get(&blob(*number).0).is_some()).count();
        assert_eq!((kept, fs::read_dir(folder.path()).unwrap().count()), (2, 2));
    }
}
