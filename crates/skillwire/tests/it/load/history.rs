//! What files ever held, so that whatever is served can be judged.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

use serde_json::Value;
use skillwire_core::Digest;

/// The skills that are only ever replaced whole.
pub(super) const SWAPPED: &str = "swapped/";

/// URIs of files and the digests of their bytes.
pub(super) type Manifest = BTreeMap<String, String>;

/// Everything a tree ever was.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Digests of everything that any file held, for however short a time.
    bytes: HashSet<String>,
    /// Each version of a skill that is replaced whole, by the digest of its `SKILL.md`.
    whole: HashMap<String, Manifest>,
}

impl History {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("no test panics with the lock")
    }

    /// Remembers bytes that are about to be in a file.
    pub(super) fn will_hold(&self, bytes: &[u8]) {
        self.known().bytes.insert(digest(bytes));
    }

    /// Remembers a version of a skill that is about to appear whole.
    pub(super) fn will_appear(&self, manifest: Manifest) {
        let skill = manifest.iter().find(|(uri, _)| uri.ends_with("/SKILL.md"));
        let own = skill.expect("a skill has a SKILL.md").1.clone();
        self.known().whole.insert(own, manifest);
    }

    /// Insists that some file once held these bytes.
    pub(super) fn assert_held(&self, uri: &str, bytes: &[u8]) {
        let held = self.known().bytes.contains(&digest(bytes));
        assert!(held, "{uri} never held {:?}", String::from_utf8_lossy(bytes));
    }

    /// Insists that an entry of a skill that is replaced whole is one version and not a mixture.
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

/// The digest of bytes as an entry writes it.
pub(super) fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}
