//! Files that scripts left behind, for whoever asked for the run, for a while.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use skillwire_core::media_type;
use skillwire_sandbox::outcome::OutputFile;

/// The scheme of the URIs, which nothing else is served under.
pub const SCHEME: &str = "skill-output";

/// How much is kept, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Keeping {
    /// How long a file can be read.
    pub lifetime: Duration,
    /// How many bytes are kept for all callers together; the oldest go first.
    pub bytes: usize,
    /// How many files.
    pub files: usize,
}

impl Default for Keeping {
    fn default() -> Self {
        let lifetime = Duration::from_mins(10);
        Self { lifetime, bytes: 128 * 1024 * 1024, files: 1024 }
    }
}

/// A file that can be read.
#[derive(Clone)]
pub struct Kept {
    /// Where; the first part cannot be guessed.
    pub uri: String,
    /// Its path in the output folder.
    pub name: String,
    /// What it holds.
    pub bytes: Bytes,
    /// The type that fits the bytes.
    pub media_type: &'static str,
    caller: String,
    until: Instant,
}

/// Says where it is and not what is in it.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A path as it stands in a URI: everything but letters, digits and a few signs is encoded.
fn encode_path(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect::<Vec<_>>()
        .concat()
}

/// All files that are kept, oldest first.
#[derive(Debug, Default)]
pub struct Outputs {
    keeping: Keeping,
    kept: Mutex<VecDeque<Kept>>,
}

impl Outputs {
    /// Keeps files within these bounds.
    pub fn new(keeping: Keeping) -> Self {
        Self { keeping, kept: Mutex::default() }
    }

    /// Keeps the files of one run for its caller; those that would not fit alone are left out.
    pub fn keep(&self, caller: &str, files: &[OutputFile]) -> Result<Vec<Kept>, getrandom::Error> {
        self.keep_at(caller, files, Instant::now())
    }

    fn keep_at(
        &self,
        caller: &str,
        files: &[OutputFile],
        now: Instant,
    ) -> Result<Vec<Kept>, getrandom::Error> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)?;
        let id = u128::from_ne_bytes(secret);
        let mut room = self.keeping.bytes;
        let new: Vec<Kept> = files
            .iter()
            .take(self.keeping.files)
            .filter(|file| {
                let fits = file.bytes.len() <= room;
                room -= if fits { file.bytes.len() } else { 0 };
                fits
            })
            .map(|file| Kept {
                uri: format!("{SCHEME}://{id:032x}/{}", encode_path(file.path.as_str())),
                name: file.path.as_str().to_owned(),
                media_type: media_type::of(file.path.file_name(), &file.bytes),
                bytes: file.bytes.clone(),
                caller: caller.to_owned(),
                until: now + self.keeping.lifetime,
            })
            .collect();
        let mut kept = self.lock();
        kept.extend(new.iter().cloned());
        let total = |kept: &VecDeque<Kept>| kept.iter().map(|file| file.bytes.len()).sum::<usize>();
        while kept.len() > self.keeping.files
            || total(&kept) > self.keeping.bytes
            || kept.front().is_some_and(|file| file.until <= now)
        {
            kept.pop_front();
        }
        Ok(new)
    }

    /// The file with exactly this URI, for the caller that it was made for.
    pub fn read(&self, caller: &str, uri: &str) -> Option<Kept> {
        self.read_at(caller, uri, Instant::now())
    }

    fn read_at(&self, caller: &str, uri: &str, now: Instant) -> Option<Kept> {
        let kept = self.lock();
        kept.iter()
            .find(|file| file.uri == uri && file.caller == caller && file.until > now)
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::path::RelPath;

    use super::*;

    fn file(path: &str, size: usize) -> OutputFile {
        OutputFile { path: RelPath::parse(path).unwrap(), bytes: Bytes::from(vec![b'x'; size]) }
    }

    fn outputs() -> Outputs {
        Outputs::new(Keeping { lifetime: Duration::from_mins(1), bytes: 100, files: 3 })
    }

    #[test]
    fn a_file_is_read_by_its_caller_under_its_own_uri_alone() {
        let outputs = outputs();
        let kept = outputs.keep("ann", &[file("a b/ü.txt", 1)]).unwrap();
        let uri = &kept[0].uri;
        assert!(uri.starts_with("skill-output://") && uri.ends_with("/a%20b/%C3%BC.txt"), "{uri}");
        assert_eq!(outputs.read("ann", uri).unwrap().bytes, "x");
        assert!(outputs.read("bob", uri).is_none());
        assert!(outputs.read("", uri).is_none());
        assert!(outputs.read("ann", &uri.to_uppercase()).is_none());
        let again = outputs.keep("ann", &[file("a b/ü.txt", 1)]).unwrap();
        assert_ne!(again[0].uri, *uri);
    }

    #[test]
    fn files_go_after_a_while() {
        let (outputs, now) = (outputs(), Instant::now());
        let kept = outputs.keep_at("", &[file("a", 1)], now).unwrap();
        assert!(outputs.read_at("", &kept[0].uri, now + Duration::from_secs(59)).is_some());
        assert!(outputs.read_at("", &kept[0].uri, now + Duration::from_mins(1)).is_none());
    }

    #[test]
    fn the_oldest_make_room_and_the_quota_is_never_exceeded() {
        let outputs = outputs();
        let first = outputs.keep("", &[file("a", 60)]).unwrap();
        let second = outputs.keep("", &[file("b", 60), file("too-large", 200)]).unwrap();
        assert_eq!(second.len(), 1);
        assert!(outputs.read("", &first[0].uri).is_none());
        assert!(outputs.read("", &second[0].uri).is_some());
        for n in 0..5 {
            outputs.keep("", &[file(&n.to_string(), 1)]).unwrap();
        }
        assert!(outputs.read("", &second[0].uri).is_none());
        assert_eq!(outputs.lock().len(), 3);
    }
}
