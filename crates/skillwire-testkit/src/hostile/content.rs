//! The skills and resources of the server, as an honest one would serve them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use skillwire_core::{Digest, skill_file};

use crate::skill_folder::skill_md;

/// Skills by the URI of their root, and resources of no skill.
#[derive(Debug, Default)]
pub(super) struct HonestContent {
    skills: BTreeMap<String, HostileSkill>,
    pub(super) resources: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct HostileSkill {
    /// In the order in which the test gave them.
    files: Vec<(String, Vec<u8>)>,
    dynamic: bool,
}

const SKILL_FILE: &str = "SKILL.md";

fn root_of(path: &str) -> String {
    if path.contains("://") { path.to_owned() } else { format!("skill://{path}") }
}

impl HonestContent {
    pub(super) fn set_skill(&mut self, path: &str, mut files: Vec<(String, Vec<u8>)>) {
        if !files.iter().any(|(name, _)| name == SKILL_FILE) {
            let name = path.rsplit('/').next().unwrap_or(path);
            files.insert(0, (SKILL_FILE.to_owned(), skill_md(name).into_bytes()));
        }
        self.skills.insert(root_of(path), HostileSkill { files, dynamic: false });
    }

    pub(super) fn make_dynamic(&mut self, path: &str) {
        if let Some(skill) = self.skills.get_mut(&root_of(path)) {
            skill.dynamic = true;
        }
    }

    pub(super) fn rotate(&mut self, uri: &str, bytes: Vec<u8>) {
        let file = self.skills.iter_mut().find_map(|(root, skill)| {
            let path = uri.strip_prefix(root.as_str())?.strip_prefix('/')?;
            skill.files.iter_mut().find(|(name, _)| name == path)
        });
        match file {
            Some((_, old)) => *old = bytes,
            None => panic!("there is no file at {uri}"),
        }
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if let Some(root) = uri.strip_suffix("/SKILL.md") {
            self.skills.remove(root);
        }
        for (root, skill) in &mut self.skills {
            skill.files.retain(|(name, _)| format!("{root}/{name}") != uri);
        }
        self.resources.remove(uri);
    }

    /// The URIs of all skills.
    pub(super) fn uris(&self) -> Vec<String> {
        self.skills.keys().map(|root| format!("{root}/{SKILL_FILE}")).collect()
    }

    /// The entry of a skill, with right digests and sizes.
    pub(super) fn entry(&self, uri: &str) -> Option<Value> {
        let root = uri.strip_suffix("/SKILL.md")?;
        let skill = self.skills.get(root)?;
        let resources = if skill.dynamic {
            json!("dynamic")
        } else {
            skill
                .files
                .iter()
                .map(|(name, bytes)| {
                    let digest = Digest::of(bytes).to_string();
                    json!({ "uri": format!("{root}/{name}"), "digest": digest, "size": bytes.len() })
                })
                .collect()
        };
        let frontmatter = Value::Object(frontmatter(root, skill));
        Some(json!({ "uri": uri, "frontmatter": frontmatter, "resources": resources }))
    }

    /// The bytes of a file or resource.
    pub(super) fn bytes(&self, uri: &str) -> Option<&[u8]> {
        let of_skill = self.files().find(|(found, _)| found == uri).map(|(_, bytes)| bytes);
        of_skill.or_else(|| self.resources.get(uri).map(Vec::as_slice))
    }

    /// Every file of every skill.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.skills.iter().flat_map(|(root, skill)| {
            skill.files.iter().map(move |(name, bytes)| (format!("{root}/{name}"), &bytes[..]))
        })
    }

    /// The children of a directory: files, and directories that hold some.
    pub(super) fn children(&self, directory: &str) -> Option<Vec<Value>> {
        let mut found = BTreeMap::new();
        for (uri, bytes) in self.files() {
            let Some(rest) = uri.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'))
            else {
                continue;
            };
            let name = rest.split('/').next().unwrap_or(rest);
            let child = format!("{directory}/{name}");
            let resource = if rest.contains('/') {
                json!({ "uri": child, "name": name, "mimeType": "inode/directory" })
            } else {
                json!({ "uri": child, "name": name, "size": bytes.len() })
            };
            found.insert(child, resource);
        }
        (!found.is_empty()).then(|| found.into_values().collect())
    }
}

/// The frontmatter in `SKILL.md`, or a minimal one if the test gave content without any.
fn frontmatter(root: &str, skill: &HostileSkill) -> Map<String, Value> {
    let bytes = skill.files.iter().find(|(name, _)| name == SKILL_FILE).map(|(_, bytes)| bytes);
    if let Some(file) = bytes.and_then(|bytes| skill_file::check(bytes).0) {
        return file.frontmatter.fields().clone();
    }
    let name = root.rsplit('/').next().unwrap_or(root);
    Map::from_iter([
        ("name".to_owned(), name.into()),
        ("description".to_owned(), format!("Does {name}. Use when testing.").into()),
    ])
}
