//! Everything that files ever contained, to check what a server sends.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

use serde_json::Value;
use skillwire_core::Digest;

/// The path prefix of skills that are only ever replaced as a whole.
pub(super) const SWAPPED: &str = "swapped/";

/// URIs of files and the digests of their bytes.
pub(super) type Manifest = BTreeMap<String, String>;

/// Every state that a tree ever had.
#[derive(Debug, Default)]
pub(super) struct TreeHistory(Mutex<SeenVersions>);

#[derive(Debug, Default)]
struct SeenVersions {
    /// Digests of everything that any file ever contained.
    bytes: HashSet<String>,
    /// Each version of a skill that is replaced as a whole, by the digest of its `SKILL.md`.
    whole: HashMap<String, Manifest>,
}

impl TreeHistory {
    fn known(&self) -> MutexGuard<'_, SeenVersions> {
        self.0.lock().expect("no test panics with the lock")
    }

    /// Records bytes before they are written to a file.
    pub(super) fn will_hold(&self, bytes: &[u8]) {
        self.known().bytes.insert(digest(bytes));
    }

    /// Records a version of a skill before it is put in place as a whole.
    pub(super) fn will_appear(&self, manifest: Manifest) {
        let skill = manifest.iter().find(|(uri, _)| uri.ends_with("/SKILL.md"));
        let own = skill.expect("a skill has a SKILL.md").1.clone();
        self.known().whole.insert(own, manifest);
    }

    /// Asserts that some file once contained these bytes.
    pub(super) fn assert_held(&self, uri: &str, bytes: &[u8]) {
        let held = self.known().bytes.contains(&digest(bytes));
        assert!(held, "{uri} never held {:?}", String::from_utf8_lossy(bytes));
    }

    /// Asserts that the entry of a skill that is replaced as a whole is one version, not a mixture
    /// of two.
    pub(super) fn assert_whole(&self, entry: &Value) {
        let uri = entry["uri"].as_str().expect("an entry has a URI");
        if !uri.contains(SWAPPED) {
            return;
        }
        let found = manifest(entry);
        let version = self.known().whole.get(&found[uri]).cloned();
        assert_eq!(Some(&found), version.as_ref(), "{uri} is a mixture");
    }
}

/// The files of an entry.
pub(super) fn manifest(entry: &Value) -> Manifest {
    let files = entry["resources"].as_array().expect("an entry lists its files");
    let text = |value: &Value| value.as_str().expect("it is text").to_owned();
    files.iter().map(|file| (text(&file["uri"]), text(&file["digest"]))).collect()
}

/// The digest of bytes in the form of an entry.
pub(super) fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}
