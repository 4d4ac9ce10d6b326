//! What skills-over-mcp served: `skill://index`, `skill://prompt-xml`, and documents.

use std::sync::Arc;

use serde_json::{Value, json};
use skillwire_core::path::RelPath;
use skillwire_protocol::error::RpcError;
use skillwire_source::{FileRecord, Skill, SkillContent};

use super::{alias_of, card::Card, skilljack};
use crate::engine::OwnedCall;

/// The list of skills.
pub(crate) const INDEX: &str = "skill://index";

/// The list of skills for a system prompt.
pub(crate) const PROMPT_XML: &str = "skill://prompt-xml";

/// Both lists as resources.
pub(crate) fn documents() -> [Value; 2] {
    let resource = |uri, name, description, mime_type| {
        json!({
            "uri": uri,
            "name": name,
            "description": description,
            "mimeType": mime_type,
            "annotations": { "priority": 0.1 },
        })
    };
    let json = "application/json";
    [
        resource(INDEX, "index", "Every skill of this server.", json),
        resource(PROMPT_XML, "prompt-xml", "Every skill, for a prompt.", "application/xml"),
    ]
}

/// A skill's list of documents and each of them, as resources with keys that order them.
pub(crate) fn resources(skill: &Skill, name: &str) -> Vec<(String, Value)> {
    let files = other_files(skill);
    if files.is_empty() {
        return Vec::new();
    }
    let alias = |uri: String, name: String, mime_type: &str| {
        let mut resource = alias_of(&skill.uri);
        resource["uri"] = uri.into();
        resource["name"] = name.into();
        resource["mimeType"] = mime_type.into();
        resource
    };
    let list = alias(documents_uri(name), format!("{name}/documents"), "application/json");
    let mut found = vec![(String::new(), list)];
    found.extend(files.into_iter().map(|file| {
        let uri = document_uri(name, &file.path);
        let resource = alias(uri, format!("{name}/{}", file.path), file.media_type);
        (format!("/{}", file.path), resource)
    }));
    found
}

fn documents_uri(name: &str) -> String {
    format!("{}/documents", skilljack::uri(name))
}

fn document_uri(name: &str, path: &RelPath) -> String {
    skilljack::below(&format!("{}/document", skilljack::uri(name)), path)
}

fn other_files(skill: &Skill) -> Vec<&FileRecord> {
    match &skill.content {
        SkillContent::Files(tree) => {
            tree.files.iter().filter(|file| file.path != RelPath::skill_file()).collect()
        }
        SkillContent::Generated(_) => Vec::new(),
    }
}

/// The documents of one skill; it has none where it has no other files.
pub(crate) fn list(skill: &Skill, name: &str) -> Option<Vec<u8>> {
    let files = other_files(skill);
    let documents: Vec<Value> = files
        .iter()
        .map(|file| {
            json!({
                "path": file.path.as_str(),
                "mimeType": file.media_type,
                "size": file.size,
                "uri": document_uri(name, &file.path),
            })
        })
        .collect();
    let list = json!({ "skill": name, "documents": documents });
    if files.is_empty() { None } else { serde_json::to_vec_pretty(&list).ok() }
}

/// Makes the list of skills.
pub(crate) async fn index(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let entries = each(&call, |skill, name| {
        let count = other_files(skill).len();
        let card = Card::of(skill);
        let mut entry = json!({
            "name": name,
            "description": card.description(),
            "uri": skilljack::uri(name),
            "documentCount": count,
        });
        if count > 0 {
            entry["documentsUri"] = documents_uri(name).into();
        }
        if let Some(metadata) = card.fields().get("metadata") {
            entry["metadata"] = metadata.clone();
        }
        entry
    });
    serde_json::to_vec(&entries.await?).map_err(|_| RpcError::internal())
}

/// Makes the list of skills for a prompt.
pub(crate) async fn prompt_xml(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let entries = each(&call, |skill, name| {
        format!(
            "  <skill>\n    <name>{name}</name>\n    <description>{}</description>\n    \
             <uri>{}</uri>\n  </skill>\n",
            xml(&skill.description()),
            skilljack::uri(name),
        )
    });
    let entries = entries.await?.concat();
    Ok(format!("<available_skills>\n{entries}</available_skills>\n").into_bytes())
}

async fn each<T>(
    call: &OwnedCall,
    make: impl Fn(&Arc<Skill>, &str) -> T,
) -> Result<Vec<T>, RpcError> {
    let names = call.names().await?;
    let skills = call.snapshot.listed();
    Ok(skills
        .filter_map(|skill| Some(make(skill, names.of_skill(&call.snapshot, skill)?)))
        .collect())
}

/// Text that neither ends its element nor begins a line.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !escaped.is_empty() {
            escaped.push(' ');
        }
        for character in word.chars() {
            match character {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&apos;"),
                control if control.is_control() => {}
                other => escaped.push(other),
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_cannot_end_its_element_d9() {
        let hostile = "a</description>\n<x a=\"1\" b='2'>& \u{1b}[2J";
        assert_eq!(
            xml(hostile),
            "a&lt;/description&gt; &lt;x a=&quot;1&quot; b=&apos;2&apos;&gt;&amp; [2J"
        );
    }
}
