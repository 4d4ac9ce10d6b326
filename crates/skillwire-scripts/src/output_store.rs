//! Keeps the files that scripts left, for a while, for the caller that asked for the run.

use std::{
    collections::VecDeque,
    fmt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use skillwire_core::media_type;
use skillwire_sandbox::OutputFile;

/// The scheme of the URIs of kept files. Nothing else is served under it.
pub const OUTPUT_SCHEME: &str = "skill-output";

/// The characters that are escaped in the path of a URI.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// How much output is kept, and how long.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OutputRetention {
    /// How long a file can be read.
    pub lifetime: Duration,
    /// Bytes that are kept for all callers together. The oldest files go first.
    pub bytes: usize,
    /// Files that are kept for all callers together.
    pub files: usize,
}

impl OutputRetention {
    /// Sets how long a file can be read.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets how many bytes are kept for all callers together.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets how many files are kept for all callers together.
    #[must_use]
    pub fn with_files(mut self, files: usize) -> Self {
        self.files = files;
        self
    }
}

impl Default for OutputRetention {
    fn default() -> Self {
        Self { lifetime: Duration::from_mins(10), bytes: 128 * 1024 * 1024, files: 1024 }
    }
}

/// A file that a script left, which its caller can read until it expires.
#[derive(Clone)]
#[non_exhaustive]
pub struct RetainedFile {
    /// Its URI, which cannot be guessed.
    pub uri: String,
    /// Its path in the output folder.
    pub name: String,
    /// Its content.
    pub bytes: Bytes,
    /// The media type of its content.
    pub media_type: &'static str,
    /// How long it can be read after the run.
    pub lifetime: Duration,
    caller: String,
    expires: Instant,
}

/// Leaves out the URI and the content: the URI is a secret between server and caller, and must not
/// reach a log.
impl fmt::Debug for RetainedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetainedFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Keeps the output files of scripts in memory.
///
/// A file is read only by the caller that it was made for, and only by its exact URI. The URI holds
/// 128 random bits, because callers of a server without tokens all have the same, empty name. With
/// URIs that can be guessed, one of them could read the files of another.
#[derive(Debug, Default)]
pub struct OutputStore {
    retention: OutputRetention,
    /// The files of all callers, oldest first, so that expired files are at the front.
    files: Mutex<VecDeque<RetainedFile>>,
}

impl OutputStore {
    /// Makes an empty store with these bounds.
    pub fn new(retention: OutputRetention) -> Self {
        Self { retention, files: Mutex::default() }
    }

    /// Keeps the files of one run for its caller. Files that do not fit into the bounds even alone
    /// are left out.
    pub fn keep(
        &self,
        caller: &str,
        files: &[OutputFile],
    ) -> Result<Vec<RetainedFile>, getrandom::Error> {
        self.keep_at(caller, files, Instant::now())
    }

    fn keep_at(
        &self,
        caller: &str,
        files: &[OutputFile],
        now: Instant,
    ) -> Result<Vec<RetainedFile>, getrandom::Error> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)?;
        let id = u128::from_ne_bytes(secret);
        let mut room = self.retention.bytes;
        let new: Vec<RetainedFile> = files
            .iter()
            .take(self.retention.files)
            .filter(|file| {
                let fits = file.bytes.len() <= room;
                room -= if fits { file.bytes.len() } else { 0 };
                fits
            })
            .map(|file| RetainedFile {
                uri: format!(
                    "{OUTPUT_SCHEME}://{id:032x}/{}",
                    utf8_percent_encode(file.path.as_str(), ESCAPED)
                ),
                name: file.path.as_str().to_owned(),
                media_type: media_type::of(file.path.file_name(), &file.bytes),
                bytes: file.bytes.clone(),
                lifetime: self.retention.lifetime,
                caller: caller.to_owned(),
                expires: now + self.retention.lifetime,
            })
            .collect();
        let mut kept = self.files.lock();
        kept.extend(new.iter().cloned());
        let total =
            |kept: &VecDeque<RetainedFile>| kept.iter().map(|file| file.bytes.len()).sum::<usize>();
        while kept.len() > self.retention.files
            || total(&kept) > self.retention.bytes
            || kept.front().is_some_and(|file| file.expires <= now)
        {
            kept.pop_front();
        }
        Ok(new)
    }

    /// The file with exactly this URI, if it was made for this caller and has not expired.
    pub fn read(&self, caller: &str, uri: &str) -> Option<RetainedFile> {
        self.read_at(caller, uri, Instant::now())
    }

    fn read_at(&self, caller: &str, uri: &str, now: Instant) -> Option<RetainedFile> {
        let files = self.files.lock();
        files
            .iter()
            .find(|file| file.uri == uri && file.caller == caller && file.expires > now)
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::RelPath;

    use super::*;

    fn file(path: &str, size: usize) -> OutputFile {
        OutputFile { path: RelPath::parse(path).unwrap(), bytes: Bytes::from(vec![b'x'; size]) }
    }

    fn store() -> OutputStore {
        let retention = OutputRetention::default()
            .with_lifetime(Duration::from_mins(1))
            .with_bytes(100)
            .with_files(3);
        OutputStore::new(retention)
    }

    #[test]
    fn a_file_is_read_only_by_its_caller_and_under_its_own_uri() {
        let store = store();
        let kept = store.keep("ann", &[file("a b/ü.txt", 1)]).unwrap();
        let uri = &kept[0].uri;
        assert!(uri.starts_with("skill-output://") && uri.ends_with("/a%20b/%C3%BC.txt"), "{uri}");
        assert_eq!(store.read("ann", uri).unwrap().bytes, "x");
        assert!(store.read("bob", uri).is_none());
        assert!(store.read("", uri).is_none());
        assert!(store.read("ann", &uri.to_uppercase()).is_none());
        let again = store.keep("ann", &[file("a b/ü.txt", 1)]).unwrap();
        assert_ne!(again[0].uri, *uri);
    }

    #[test]
    fn only_unreserved_characters_stand_unescaped_in_a_uri() {
        let kept = store().keep("", &[file("a-b_c~d/e%f?g#h+i.txt", 1)]).unwrap();
        let path = kept[0].uri.splitn(4, '/').nth(3).unwrap();
        assert_eq!(path, "a-b_c~d/e%25f%3Fg%23h%2Bi.txt");
    }

    #[test]
    fn files_expire() {
        let store = store();
        let now = Instant::now();
        let kept = store.keep_at("", &[file("a", 1)], now).unwrap();
        assert!(store.read_at("", &kept[0].uri, now + Duration::from_secs(59)).is_some());
        assert!(store.read_at("", &kept[0].uri, now + Duration::from_mins(1)).is_none());
        store.keep_at("", &[file("b", 1)], now + Duration::from_mins(1)).unwrap();
        assert_eq!(store.files.lock().len(), 1, "an expired file is not held");
    }

    #[test]
    fn the_oldest_make_room_and_the_quota_is_never_exceeded() {
        let store = store();
        let first = store.keep("", &[file("a", 60)]).unwrap();
        let second = store.keep("", &[file("b", 60), file("too-large", 200)]).unwrap();
        assert_eq!(second.len(), 1);
        assert!(store.read("", &first[0].uri).is_none());
        assert!(store.read("", &second[0].uri).is_some());
        for n in 0..5 {
            store.keep("", &[file(&n.to_string(), 1)]).unwrap();
        }
        assert!(store.read("", &second[0].uri).is_none());
        assert_eq!(store.files.lock().len(), 3);
    }
}
