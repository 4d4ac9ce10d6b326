//! Skills for the tests of crates that store or show them.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use bytes::Bytes;
use serde_json::json;
use skillwire_core::{
    ContentSet, Digest, ResourceUri, SkillResource, SkillUri,
    received::{self, EntryLimits},
};

use crate::{
    origin::{Origin, SkillId},
    verified::VerifiedFile,
};

/// Returns the id of a skill.
pub fn id(label: &str, uri: &str) -> SkillId {
    SkillId { origin: Origin::parse(label).unwrap(), uri: SkillUri::parse(uri).unwrap() }
}

/// Returns the content of a skill with a `SKILL.md` of these bytes and a second file.
pub fn content(id: &SkillId, text: &str) -> ContentSet {
    let root = id.uri.root();
    let entry = json!({
        "uri": id.uri,
        "frontmatter": {
            "name": root.name(), "description": "Does it.", "metadata": {"x": 0.1, "y": ["\u{202e}"]},
        },
        "resources": [
            {"uri": id.uri, "digest": Digest::of(text.as_bytes()), "size": text.len()},
            {"uri": format!("{root}/refs/b%20c.md"), "digest": Digest::of(b"b"), "size": 1},
        ],
    });
    ContentSet::of(&received::read(&entry.to_string(), EntryLimits::default()).unwrap()).unwrap()
}

/// Returns what an entry lists for a file with these bytes.
pub fn listed(id: &SkillId, path: &str, bytes: &[u8]) -> SkillResource {
    let uri = ResourceUri::parse(&format!("{}/{path}", id.uri.root())).unwrap();
    SkillResource { uri, digest: Digest::of(bytes), size: bytes.len() as u64 }
}

/// Returns a verified file with these bytes.
pub fn verified(id: &SkillId, path: &str, bytes: &[u8]) -> VerifiedFile {
    VerifiedFile::check(id, &listed(id, path, bytes), Bytes::copy_from_slice(bytes)).unwrap()
}
