//! What an approval is bound to: every file's URI, digest and size, and the frontmatter.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
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
    /// The content an entry promises, unless it is dynamic.
    pub fn of(entry: &SkillEntry) -> Option<Self> {
        let Resources::Listed(files) = &entry.resources else { return None };
        let mut files = files.clone();
        files.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        Some(Self { skill: entry.uri.clone(), files, frontmatter: entry.frontmatter.clone() })
    }

    /// The entry that promises this content.
    pub fn to_entry(&self) -> SkillEntry {
        SkillEntry {
            uri: self.skill.clone(),
            frontmatter: self.frontmatter.clone(),
            resources: Resources::Listed(self.files.clone()),
        }
    }

    /// The skill.
    pub fn skill(&self) -> &SkillUri {
        &self.skill
    }

    /// Every file, in URI order.
    pub fn files(&self) -> &[SkillResource] {
        &self.files
    }

    /// The frontmatter.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.frontmatter
    }

    /// Finds a file.
    pub fn file(&self, uri: &ResourceUri) -> Option<&SkillResource> {
        let at = self.files.binary_search_by(|file| file.uri.cmp(uri)).ok()?;
        self.files.get(at)
    }

    /// One digest over all of it, the same whatever order files and keys came in.
    pub fn fingerprint(&self) -> Digest {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(bytes);
        };
        part(self.skill.as_str().as_bytes());
        for file in &self.files {
            part(file.uri.as_str().as_bytes());
            part(file.digest.as_bytes());
            part(&file.size.to_be_bytes());
        }
        part(canonical(&Value::Object(self.frontmatter.fields().clone())).as_bytes());
        Digest::from_bytes(hasher.finalize().into())
    }

    /// What a reader of the old content has to be told about the new one.
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
