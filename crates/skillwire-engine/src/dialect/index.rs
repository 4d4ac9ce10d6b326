//! `skill://index.json`: one document for every form it had.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use skillwire_core::path::RelPath;
use skillwire_protocol::error::RpcError;
use skillwire_source::{Skill, SkillContent};

use super::{DialectPart, archives::Archived};
use crate::engine::OwnedCall;

/// Where the document is, whatever scheme the skills have.
pub(crate) const URI: &str = "skill://index.json";

/// How much the document matters in a listing: less than a skill, more than a file.
const PRIORITY: f64 = 0.5;

/// The schema that readers who look for one expect.
pub(super) const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    frontmatter: &'a RawValue,
    #[serde(borrow)]
    resources: &'a RawValue,
}

/// The document as a resource.
pub(crate) fn resource() -> Value {
    json!({
        "uri": URI,
        "name": "index.json",
        "description": "Every skill of this server, with digests.",
        "mimeType": "application/json",
        "annotations": { "priority": PRIORITY },
    })
}

/// Makes the document.
pub(crate) async fn document(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let archived = Archived::for_index(&call).await?;
    let mut text = format!(r#"{{"$schema":"{SCHEMA}","skills":["#);
    let mut first = true;
    let nested = call.shows(DialectPart::IndexNested);
    let skills = call.snapshot.listed();
    // Older readers take what lies below a skill for a part of it, and for nothing else.
    let shown = skills.filter(|skill| nested || !call.snapshot.is_inside_a_listed_skill(skill));
    let entries = shown.filter_map(|skill| entry(skill, &archived));
    for entry in entries.chain(templates(&call)) {
        if !std::mem::take(&mut first) {
            text.push(',');
        }
        text.push_str(&entry);
    }
    text.push_str("]}");
    Ok(text.into_bytes())
}

fn entry(skill: &Skill, archived: &Archived) -> Option<String> {
    let Entry { frontmatter, resources } = serde_json::from_str(&skill.entry).ok()?;
    let (name, description) = (json!(skill.name()), json!(skill.description()));
    let uri = json!(skill.uri.as_str());
    let mut text = format!(r#"{{"name":{name},"type":"skill-md","description":{description}"#);
    let record = match &skill.content {
        SkillContent::Files(tree) => tree.file(&RelPath::skill_file()),
        SkillContent::Generated(_) => None,
    };
    // An address and its digest come together or not at all.
    if let Some(record) = record {
        let _ = write!(text, r#","url":{uri},"digest":"{}""#, record.digest);
    }
    let _ = write!(text, r#","frontmatter":{}"#, frontmatter.get());
    let packed = archived.of(skill);
    if !packed.is_empty() {
        let _ = write!(text, r#","archives":{}"#, Value::from(packed));
    }
    let _ = write!(text, r#","uri":{uri}"#);
    if record.is_some() {
        let _ = write!(text, r#","resources":{}"#, resources.get());
    }
    text.push('}');
    Some(text)
}

/// Templates as entries of their own, which readers that know only skills skip.
fn templates(call: &OwnedCall) -> Vec<String> {
    if !call.shows(DialectPart::IndexTemplates) {
        return Vec::new();
    }
    let entry = |scheme: &str| {
        json!({
            "type": "mcp-resource-template",
            "description": "The instructions of one skill.",
            "url": format!("{scheme}://{{+skillPath}}/SKILL.md"),
        })
        .to_string()
    };
    call.snapshot.schemes().map(entry).collect()
}
