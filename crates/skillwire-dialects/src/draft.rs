//! Entries of the extension before its release: files without sizes, or no list of files at all.
//!
//! A reader of the released extension refuses these. Reading a refused entry once more tells
//! whether its server is old or simply wrong.

use serde_json::{Map, Value};
use skillwire_core::{
    Frontmatter, Resources, SkillEntry, SkillUri,
    received::{EntryLimits, EntryProblem},
    strict_json::{self, JsonLimits},
};

use crate::{Dialect, OfferedSkill, RefusedEntry, index};

/// Limits on how much of one entry is read.
const ENTRY: JsonLimits = JsonLimits::new(24, 20_000);

/// The age of a server, judged by an entry that the released extension refuses.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryAge {
    /// The entry has what only the release has, so it is wrong and not old.
    Released,
    /// The entry is what a draft asked for.
    Draft(Box<Result<DraftSkill, RefusedEntry>>),
    /// The entry fits no revision.
    Unknown,
}

/// A skill as a draft listed it.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftSkill {
    /// Each file has a digest, and none has a size.
    WithDigests(OfferedSkill),
    /// The entry does not list files. The user decides whether that counts as `"dynamic"`.
    WithoutFiles(SkillEntry),
}

impl DraftSkill {
    /// Returns the URI of the skill.
    pub fn uri(&self) -> &SkillUri {
        match self {
            Self::WithDigests(skill) => &skill.uri,
            Self::WithoutFiles(entry) => &entry.uri,
        }
    }
}

/// Reads an entry that the released extension refused as one of a draft.
pub fn read(text: &str, limits: EntryLimits) -> EntryAge {
    let Ok(fields) = strict_json::object(text, ENTRY) else { return EntryAge::Unknown };
    let uri = fields.get("uri").and_then(Value::as_str);
    let frontmatter = fields.get("frontmatter").and_then(Value::as_object);
    let (Some(uri), Some(frontmatter)) = (uri, frontmatter) else { return EntryAge::Unknown };
    let skill = match fields.get("resources") {
        Some(Value::String(word)) if word == "dynamic" => return EntryAge::Released,
        Some(Value::Array(files)) if files.iter().any(|file| file.get("size").is_some()) => {
            return EntryAge::Released;
        }
        // No draft had files without digests.
        Some(Value::Array(files)) if files.iter().any(|file| file.get("digest").is_none()) => {
            return EntryAge::Unknown;
        }
        Some(Value::Array(files)) if files.len() > limits.files => {
            Err(RefusedEntry::new(EntryProblem::TooManyFiles)
                .file(uri.escape_debug())
                .expected(format!("at most {} files", limits.files))
                .actual(format!("{} files", files.len())))
        }
        Some(Value::Array(files)) => {
            index::with_files(Dialect::Draft, uri, files, frontmatter).map(DraftSkill::WithDigests)
        }
        None => match without_files(uri, frontmatter) {
            Some(entry) => Ok(DraftSkill::WithoutFiles(entry)),
            None => return EntryAge::Unknown,
        },
        Some(_) => return EntryAge::Unknown,
    };
    EntryAge::Draft(Box::new(skill))
}

fn without_files(uri: &str, fields: &Map<String, Value>) -> Option<SkillEntry> {
    let uri = SkillUri::parse(uri).ok()?;
    let frontmatter = Frontmatter::from_fields(fields.clone()).ok()?;
    let named = frontmatter.name().as_str() == uri.root().name();
    named.then_some(SkillEntry { uri, frontmatter, resources: Resources::Dynamic })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillwire_core::Digest;

    use super::*;

    const URI: &str = "skill://refunds/SKILL.md";

    fn entry(resources: &Value) -> String {
        let frontmatter = json!({ "name": "refunds", "description": "x" });
        json!({ "uri": URI, "frontmatter": frontmatter, "resources": resources }).to_string()
    }

    fn age(text: &str) -> EntryAge {
        read(text, EntryLimits::new().with_files(2).with_bytes(10))
    }

    #[test]
    fn files_without_sizes_are_a_draft_d1() {
        let files = json!([{ "uri": URI, "digest": Digest::of(b"a") }]);
        let EntryAge::Draft(skill) = age(&entry(&files)) else { panic!("a draft") };
        let Ok(DraftSkill::WithDigests(skill)) = *skill else { panic!("a skill") };
        assert_eq!(skill.offer.promises[skill.uri.file()].digest, Some(Digest::of(b"a")));
        assert!(skill.offer.complete && skill.offer.first_seen);
    }

    #[test]
    fn a_missing_list_of_files_is_left_to_the_user_d1() {
        let text = json!({ "uri": URI, "frontmatter": { "name": "refunds", "description": "x" } });
        let EntryAge::Draft(skill) = age(&text.to_string()) else { panic!("a draft") };
        assert!(matches!(*skill, Ok(DraftSkill::WithoutFiles(_))));
    }

    #[test]
    fn what_only_the_release_has_is_wrong_and_not_old_d1() {
        let digest = Digest::of(b"a");
        for released in [
            json!("dynamic"),
            json!([{ "uri": "x" }, { "uri": URI, "digest": digest, "size": -1 }]),
        ] {
            assert_eq!(age(&entry(&released)), EntryAge::Released, "{released}");
        }
        for unknown in [json!("x"), json!({}), json!([{ "uri": URI }]), json!(null)] {
            assert_eq!(age(&entry(&unknown)), EntryAge::Unknown, "{unknown}");
        }
        assert_eq!(age("[]"), EntryAge::Unknown);
        let file = json!({ "uri": URI, "digest": digest });
        let EntryAge::Draft(many) = age(&entry(&json!([file, file, file]))) else {
            panic!("a draft")
        };
        assert_eq!(many.unwrap_err().because, EntryProblem::TooManyFiles.into());
    }
}
