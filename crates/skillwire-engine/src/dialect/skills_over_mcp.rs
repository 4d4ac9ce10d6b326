//! D9: `skill://index`, `skill://prompt-xml`, and documents.

use std::sync::Arc;

use skillwire_core::RelPath;
use skillwire_dialects::{
    SkillCard,
    skills_over_mcp::{self, IndexItem, SkillDocument},
};
use skillwire_protocol::RpcError;
use skillwire_source::{Skill, SkillContent};

use super::names::LookupNames;
use crate::engine::OwnedCall;

/// Lists the files of a skill besides `SKILL.md`.
pub(crate) fn documents(skill: &Skill) -> Vec<SkillDocument<'_>> {
    let SkillContent::Files(tree) = &skill.content else { return Vec::new() };
    let others = tree.files.iter().filter(|file| file.path != RelPath::skill_file());
    let document = others.map(|file| SkillDocument {
        path: &file.path,
        media_type: file.media_type,
        size: file.size,
    });
    document.collect()
}

/// Writes the list of a skill's documents; returns `None` if the skill has no other files.
pub(crate) fn list(skill: &Skill, name: &str) -> Option<Vec<u8>> {
    let documents = documents(skill);
    (!documents.is_empty()).then(|| skills_over_mcp::write_documents(name, &documents))
}

/// Writes the list of skills.
pub(crate) async fn index(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let item = |(skill, name): (&Arc<Skill>, _)| {
        let card = SkillCard::of_entry(&skill.entry.text());
        let metadata = card.fields().get("metadata").cloned();
        let description = card.description().to_owned();
        IndexItem::new(name, description, documents(skill).len(), metadata)
    };
    let items: Vec<_> = named(&call, &names).map(item).collect();
    serde_json::to_vec(&items).map_err(|_| RpcError::internal())
}

/// Writes the list of skills for a prompt.
pub(crate) async fn prompt_xml(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let names = call.names().await?;
    let skills = named(&call, &names).map(|(skill, name)| (name, skill.description().into()));
    Ok(skills_over_mcp::prompt_xml(skills).into_bytes())
}

/// Iterates over all skills that can be requested by a name.
fn named<'a>(
    call: &'a OwnedCall,
    names: &'a LookupNames,
) -> impl Iterator<Item = (&'a Arc<Skill>, &'a str)> {
    let skills = call.snapshot.listed();
    skills.filter_map(|skill| Some((skill, names.of_skill(&call.snapshot, skill)?)))
}
