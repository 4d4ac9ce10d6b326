//! The content that an approval is bound to: every file's URI, digest and size, and the
//! frontmatter.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    content_id::{ContentId, NoContentId},
    digest::Digest,
    entry::{Resources, SkillEntry, SkillResource},
    frontmatter::Frontmatter,
    frontmatter_diff::{FieldDifference, differences},
    uri::{ResourceUri, SkillUri},
};

/// The whole content of a listed skill; there is none for a dynamic one.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentSet {
    skill: SkillUri,
    files: Vec<SkillResource>,
    frontmatter: Frontmatter,
}

impl ContentSet {
    /// Returns the content an entry promises, unless it is dynamic.
    pub fn of(entry: &SkillEntry) -> Option<Self> {
        let Resources::Listed(files) = &entry.resources else { return None };
        let mut files = files.clone();
        files.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        Some(Self { skill: entry.uri.clone(), files, frontmatter: entry.frontmatter.clone() })
    }

    /// Returns the URI of the skill.
    pub fn skill(&self) -> &SkillUri {
        &self.skill
    }

    /// Returns every file, in URI order.
    pub fn files(&self) -> &[SkillResource] {
        &self.files
    }

    /// Returns the frontmatter of the skill.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.frontmatter
    }

    /// Finds a file.
    pub fn file(&self, uri: &ResourceUri) -> Option<&SkillResource> {
        let at = self.files.binary_search_by(|file| file.uri.cmp(uri)).ok()?;
        self.files.get(at)
    }

    /// Returns the entry that promises this content.
    pub fn entry(&self) -> SkillEntry {
        SkillEntry {
            uri: self.skill.clone(),
            frontmatter: self.frontmatter.clone(),
            resources: Resources::Listed(self.files.clone()),
        }
    }

    /// Returns one digest over the frontmatter, which does not depend on the order of its keys.
    pub fn frontmatter_digest(&self) -> Digest {
        Digest::of(canonical(&Value::Object(self.frontmatter.fields().clone())).as_bytes())
    }

    /// Returns the identity of the files alone, which the same files have wherever they are served.
    ///
    /// The frontmatter takes part through the bytes of `SKILL.md`.
    pub fn content_id(&self) -> Result<ContentId, NoContentId> {
        let files = self.files.iter().map(|file| {
            let outside = || NoContentId::OutsideSkill(file.uri.as_str().into());
            let path = self.skill.below(&file.uri).ok_or_else(outside)?;
            Ok((path, file.digest, file.size))
        });
        ContentId::of(files.collect::<Result<Vec<_>, _>>()?)
    }

    /// Returns one digest over the whole content, which does not depend on the order of files or
    /// keys.
    ///
    /// Approvals, lock files and the audit log name the content by it. Unlike
    /// [`content_id`](Self::content_id), it depends on the skill's URI.
    pub fn fingerprint(&self) -> Digest {
        fingerprint(&self.skill, &self.files, &self.frontmatter_digest())
    }

    /// Compares this content with a newer one, for a user who approved this one.
    pub fn changes_to(&self, new: &Self) -> ContentDiff {
        let old: BTreeMap<_, _> = self.files.iter().map(|file| (&file.uri, file)).collect();
        let mut diff = ContentDiff {
            frontmatter: differences(&self.frontmatter, &new.frontmatter),
            ..ContentDiff::default()
        };
        for file in &new.files {
            match old.get(&file.uri) {
                None => diff.added.push(file.clone()),
                Some(before) if **before != *file => {
                    diff.changed.push(((*before).clone(), file.clone()));
                }
                Some(_) => {}
            }
        }
        let removed = self.files.iter().filter(|file| new.file(&file.uri).is_none());
        diff.removed.extend(removed.cloned());
        diff
    }
}

/// Returns the fingerprint of a skill with these files, given in URI order.
///
/// The frontmatter takes part by its digest, so that a list that keeps only digests can be
/// compared.
pub fn fingerprint(skill: &SkillUri, files: &[SkillResource], frontmatter: &Digest) -> Digest {
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(bytes);
    };
    part(skill.as_str().as_bytes());
    for file in files {
        part(file.uri.as_str().as_bytes());
        part(file.digest.as_bytes());
        part(&file.size.to_be_bytes());
    }
    part(frontmatter.as_bytes());
    Digest::from_bytes(hasher.finalize().into())
}

/// The difference between two contents of one skill.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContentDiff {
    /// Files only the new content has.
    pub added: Vec<SkillResource>,
    /// Files only the old content has.
    pub removed: Vec<SkillResource>,
    /// Files with other bytes, old and new.
    pub changed: Vec<(SkillResource, SkillResource)>,
    /// Fields of the frontmatter that differ.
    pub frontmatter: Vec<FieldDifference>,
}

impl ContentDiff {
    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.frontmatter.is_empty()
    }
}

/// Writes a value with sorted keys and one spelling for each number.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            let fields: Vec<String> = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        // Integers up to 2^53 are exact as floating point, and larger ones are never accepted.
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |n| (n + 0.0).to_string())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        path::RelPath,
        received::{self, EntryLimits},
    };

    /// The content of an entry whose manifest has these paths, each with a letter to hash and a
    /// size.
    fn content(frontmatter: &Value, files: &[(&str, &str, u64)]) -> ContentSet {
        let files: Vec<Value> = files
            .iter()
            .map(|(path, text, size)| {
                json!({
                    "uri": format!("skill://a/{path}"),
                    "digest": Digest::of(text.as_bytes()),
                    "size": size,
                })
            })
            .collect();
        let entry =
            json!({"uri": "skill://a/SKILL.md", "frontmatter": frontmatter, "resources": files});
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        ContentSet::of(&entry).unwrap()
    }

    fn fields() -> Value {
        json!({"name": "a", "description": "Does a.", "metadata": {"one": 1, "two": [true, "2"]}})
    }

    const FILES: [(&str, &str, u64); 3] =
        [("SKILL.md", "s", 1), ("b.md", "b", 1), ("c/d.txt", "d", 1)];

    #[test]
    fn the_order_of_files_and_keys_does_not_count_hst_89_h_47() {
        let approved = content(&fields(), &FILES);
        let mut turned = FILES;
        turned.reverse();
        let keys = json!({"metadata": {"two": [true, "2"], "one": 1.0}, "description": "Does a.", "name": "a"});
        let listed = content(&keys, &turned);
        assert_eq!(listed.fingerprint(), approved.fingerprint());
        assert!(approved.changes_to(&listed).is_empty());
    }

    #[test]
    fn a_file_changed_added_or_removed_is_another_content_hst_89_h_47() {
        let approved = content(&fields(), &FILES);
        let changed = content(&fields(), &[FILES[0], ("b.md", "B", 1), FILES[2]]);
        let added = content(&fields(), &[FILES[0], FILES[1], FILES[2], ("e", "b", 1)]);
        let removed = content(&fields(), &FILES[..2]);
        let renamed = content(&fields(), &[FILES[0], ("B.md", "b", 1), FILES[2]]);
        let counts = |new: &ContentSet| {
            let diff = approved.changes_to(new);
            (diff.changed.len(), diff.added.len(), diff.removed.len(), diff.frontmatter.len())
        };
        assert_eq!(counts(&changed), (1, 0, 0, 0));
        assert_eq!(counts(&added), (0, 1, 0, 0));
        assert_eq!(counts(&removed), (0, 0, 1, 0));
        assert_eq!(counts(&renamed), (0, 1, 1, 0));
        for other in [&changed, &added, &removed, &renamed] {
            assert!(!approved.changes_to(other).is_empty());
        }
        let paths: Vec<_> = removed.files().iter().map(|file| file.uri.as_str()).collect();
        assert_eq!(paths, ["skill://a/SKILL.md", "skill://a/b.md"]);
        let all = [&approved, &changed, &added, &removed, &renamed];
        let distinct: std::collections::BTreeSet<Digest> =
            all.iter().map(|content| content.fingerprint()).collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn another_size_alone_or_frontmatter_alone_is_another_content_hst_88_h_48() {
        let approved = content(&fields(), &FILES);
        let resized = content(&fields(), &[FILES[0], ("b.md", "b", 2), FILES[2]]);
        assert_ne!(resized.fingerprint(), approved.fingerprint());
        assert_eq!(approved.changes_to(&resized).changed.len(), 1);
        for other in [
            json!({"name": "a", "description": "Does b.", "metadata": {"one": 1, "two": [true, "2"]}}),
            json!({"name": "a", "description": "Does a.", "metadata": {"one": 1, "two": [true, 2]}}),
            json!({"name": "a", "description": "Does a.", "metadata": {"one": 1, "two": ["2", true]}}),
            json!({"name": "a", "description": "Does a."}),
        ] {
            let other = content(&other, &FILES);
            assert_ne!(other.frontmatter_digest(), approved.frontmatter_digest());
            assert_ne!(other.fingerprint(), approved.fingerprint());
            let changes = approved.changes_to(&other);
            assert!(!changes.frontmatter.is_empty() && !changes.is_empty());
        }
    }

    #[test]
    fn a_number_counts_by_its_value_and_not_by_its_spelling_h_40() {
        let digest = |number: Value| {
            let fields = json!({"name": "a", "description": "Does a.", "metadata": {"n": number}});
            content(&fields, &FILES).frontmatter_digest()
        };
        assert_eq!(digest(json!(3)), digest(json!(3.0)));
        assert_eq!(digest(json!(0)), digest(json!(-0.0)));
        assert_ne!(digest(json!(3)), digest(json!(4)));
        assert_ne!(digest(json!(3)), digest(json!("3")));
    }

    #[test]
    fn two_files_that_swap_their_bytes_are_another_content_hst_88() {
        let one = content(&fields(), &[FILES[0], ("b", "1", 1), ("c", "2", 1)]);
        let two = content(&fields(), &[FILES[0], ("b", "2", 1), ("c", "1", 1)]);
        assert_ne!(one.fingerprint(), two.fingerprint());
    }

    #[test]
    fn content_keeps_its_identity_at_another_uri() {
        let at = |root: &str| {
            let file = |path: &str| json!({ "uri": format!("{root}/{path}"), "digest": Digest::of(b"x"), "size": 1 });
            let entry = json!({
                "uri": format!("{root}/SKILL.md"),
                "frontmatter": fields(),
                "resources": [file("SKILL.md"), file("b%20c/%C3%A9.md")],
            });
            let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
            ContentSet::of(&entry).unwrap()
        };
        let (here, there) = (at("skill://a"), at("skill://team/x/a"));
        assert_ne!(here.fingerprint(), there.fingerprint());
        assert_eq!(here.content_id(), there.content_id());
        // Paths are decoded: the identity is the one of the files on disk.
        let on_disk = ["SKILL.md", "b c/\u{e9}.md"]
            .map(|path| (RelPath::parse(path).unwrap(), Digest::of(b"x"), 1));
        assert_eq!(here.content_id(), ContentId::of(on_disk));
    }

    #[test]
    fn content_with_a_control_character_in_a_path_has_no_identity() {
        let content = content(&fields(), &[FILES[0], ("a%0Ab", "b", 1)]);
        assert_eq!(content.content_id(), Err(NoContentId::ControlCharacter("a\nb".into())));
    }

    #[test]
    fn a_dynamic_skill_has_no_content_to_approve_hst_91_h_46() {
        let entry = json!({
            "uri": "skill://a/SKILL.md", "frontmatter": fields(), "resources": "dynamic",
        });
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        assert_eq!(ContentSet::of(&entry), None);
    }

    #[test]
    fn an_entry_made_from_the_content_promises_the_same_hst_88() {
        let approved = content(&fields(), &FILES);
        let text = serde_json::to_string(&approved.entry()).unwrap();
        let entry = received::read(&text, EntryLimits::default()).unwrap();
        assert_eq!(ContentSet::of(&entry), Some(approved));
    }
}
