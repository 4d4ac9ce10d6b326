//! What skilljack first served: `skill://name` and `skill://name/`.

use std::sync::Arc;

use serde_json::Value;
use skillwire_core::{path::RelPath, uri::ResourceUri};
use skillwire_source::{Skill, SkillContent};

use super::{alias_of, skills_page::push_content};
use crate::engine::Outcome;
use crate::engine::{OwnedCall, media_type};

/// Files that are larger are left out of a collection.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Files that lie deeper are left out of a collection.
const MAX_DEPTH: usize = 10;

/// The most bytes of one collection; what comes after is left out.
const MAX_COLLECTION_BYTES: u64 = 16 * 1024 * 1024;

/// The address of a skill by its name alone.
pub(crate) fn uri(name: &str) -> String {
    format!("skill://{name}")
}

/// A skill as a resource under its name.
pub(crate) fn resource(skill: &Skill, name: &str) -> Value {
    let mut resource = alias_of(&skill.uri);
    resource["uri"] = uri(name).into();
    resource["name"] = name.into();
    resource["description"] = skill.description().into();
    resource["mimeType"] = "text/markdown".into();
    resource
}

/// All other files of a skill as one resource.
pub(crate) fn collection(skill: &Skill, name: &str) -> Value {
    let mut resource = alias_of(&skill.uri);
    resource["uri"] = format!("{}/", uri(name)).into();
    resource["name"] = format!("{name}/").into();
    resource["description"] = format!("All files in {name} skill directory").into();
    resource["mimeType"] = "text/plain".into();
    resource
}

/// Reads a collection: every file but `SKILL.md`, hidden ones and those that are too large.
pub(crate) async fn read_collection(call: OwnedCall, skill: Arc<Skill>, asked: String) -> Outcome {
    let mut contents = String::from("[");
    let mut total = 0;
    for path in call.paths(&skill).await? {
        let left_out = path == RelPath::skill_file()
            || path.segments().count() > MAX_DEPTH
            || path.segments().any(|segment| segment.starts_with('.') || segment == "node_modules")
            || size(&skill, &path).is_some_and(|size| size > MAX_FILE_BYTES);
        if left_out {
            continue;
        }
        let Some(bytes) = call.bytes(&skill, &path).await? else { continue };
        total += bytes.len() as u64;
        if total > MAX_COLLECTION_BYTES {
            break;
        }
        if contents.len() > 1 {
            contents.push(',');
        }
        let uri = below(&asked, &path);
        push_content(&mut contents, &uri, media_type(&skill, &path, &bytes), &bytes);
    }
    contents.push(']');
    let mut result = call.style.begin();
    result.json("contents", &contents);
    result.cacheable();
    result.server_info();
    Ok(result.finish().into())
}

fn size(skill: &Skill, path: &RelPath) -> Option<u64> {
    match &skill.content {
        SkillContent::Files(tree) => tree.file(path).map(|file| file.size),
        SkillContent::Generated(_) => None,
    }
}

/// The address of a file below an alias, encoded as every other.
pub(super) fn below(alias: &str, path: &RelPath) -> String {
    let root = alias.trim_end_matches('/');
    match ResourceUri::parse(root) {
        Ok(root) => root.child(path).to_string(),
        // A name that was asked for in another spelling is repeated as it came.
        Err(_) => format!("{root}/{path}"),
    }
}
