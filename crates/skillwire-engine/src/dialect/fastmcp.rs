//! What `FastMCP` serves: a `_manifest` in each skill, and two ways to disclose files.

use std::sync::Arc;

use serde_json::{Value, json};
use skillwire_core::path::RelPath;
use skillwire_source::{FileTree, Skill, SkillContent};

use super::alias_of;

/// The name of the file that lists a skill's files.
pub(crate) const MANIFEST: &str = "_manifest";

/// The files of a skill, unless it has none to list or a file of its own by that name.
pub(crate) fn tree(skill: &Skill) -> Option<&FileTree> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let own = RelPath::parse(MANIFEST).ok()?;
    tree.file(&own).is_none().then_some(tree)
}

/// The URI of a skill's manifest.
pub(crate) fn uri(skill: &Skill) -> String {
    format!("{}/{MANIFEST}", skill.uri.root())
}

/// The skill whose manifest this URI is.
pub(crate) fn skill_of<'a>(
    snapshot: &'a skillwire_catalog::snapshot::Snapshot,
    uri: &str,
) -> Option<&'a Arc<Skill>> {
    let root = uri.strip_suffix(MANIFEST)?.strip_suffix('/')?;
    snapshot.skill(&format!("{root}/SKILL.md")).filter(|skill| tree(skill).is_some())
}

/// The manifest as bytes.
pub(crate) fn manifest(skill: &Skill) -> Option<Vec<u8>> {
    let files: Vec<Value> = tree(skill)?
        .files
        .iter()
        .map(|file| json!({ "path": file.path.as_str(), "size": file.size, "hash": file.digest }))
        .collect();
    let manifest = json!({ "skill": skill.name(), "files": files });
    serde_json::to_vec_pretty(&manifest).ok()
}

/// The manifest as a resource.
pub(crate) fn resource(skill: &Skill) -> Value {
    let mut resource = alias_of(&skill.uri);
    resource["uri"] = uri(skill).into();
    resource["name"] = format!("{}/{MANIFEST}", skill.name()).into();
    resource["description"] = format!("File listing for {}", skill.name()).into();
    resource["mimeType"] = "application/json".into();
    resource["_meta"]["fastmcp"] = json!({ "tags": [] });
    resource
}

/// The template that leads to all files of a skill.
pub(crate) fn template(skill: &Skill) -> Value {
    json!({
        "uriTemplate": format!("{}/{{path*}}", skill.uri.root()),
        "name": format!("{}_files", skill.name()),
        "description": format!("Access files within {}", skill.name()),
        "mimeType": "application/octet-stream",
    })
}
