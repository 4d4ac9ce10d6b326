//! D2 and D3: `skill://index.json`, one document that suits every form it had.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillwire_core::RelPath;
use skillwire_dialects::index::{IndexDocument, IndexEntry, SCHEMA, SKILL_MD};
use skillwire_protocol::RpcError;
use skillwire_source::{Skill, SkillContent};

use super::{DialectPart, archives::PublishedArchives};
use crate::engine::OwnedCall;

#[derive(Deserialize)]
struct IndexedSkill<'a> {
    #[serde(borrow)]
    frontmatter: &'a RawValue,
    #[serde(borrow)]
    resources: &'a RawValue,
}

/// Writes the document.
pub(crate) async fn document(call: OwnedCall) -> Result<Vec<u8>, RpcError> {
    let archived = PublishedArchives::for_index(&call).await?;
    let nested = call.shows(DialectPart::IndexNested);
    let skills = call.snapshot.listed();
    // Older clients take whatever lies below a skill for a part of that skill.
    let shown = skills.filter(|skill| nested || !call.snapshot.is_inside_a_listed_skill(skill));
    let shown: Vec<_> = shown.map(|skill| (skill, skill.entry.text())).collect();
    let entries = shown.iter().filter_map(|(skill, text)| entry(skill, text, &archived));
    let skills = entries.chain(templates(&call)).collect();
    Ok(IndexDocument { schema: Some(SCHEMA), skills }.write())
}

fn entry<'a>(
    skill: &'a Skill,
    text: &'a str,
    archived: &PublishedArchives,
) -> Option<IndexEntry<'a>> {
    let IndexedSkill { frontmatter, resources } = serde_json::from_str(text).ok()?;
    let record = match &skill.content {
        SkillContent::Files(tree) => tree.file(&RelPath::skill_file()),
        SkillContent::Generated(_) => None,
    };
    let uri = skill.uri.as_str();
    Some(IndexEntry {
        name: Some(skill.name().into()),
        kind: Some(SKILL_MD),
        description: Some(skill.description().into()),
        // The URL and its digest are given together or not at all.
        url: record.map(|_| uri.into()),
        digest: record.map(|record| record.digest),
        frontmatter: Some(frontmatter),
        archives: archived.of(skill),
        uri: Some(uri),
        resources: record.map(|_| resources),
    })
}

/// Lists templates as entries of their own; clients that know only skills skip them.
fn templates(call: &OwnedCall) -> Vec<IndexEntry<'static>> {
    if !call.shows(DialectPart::IndexTemplates) {
        return Vec::new();
    }
    let entry = |scheme: &str| {
        let url = format!("{scheme}://{{+skillPath}}/SKILL.md");
        IndexEntry::template("The instructions of one skill.", url)
    };
    call.snapshot.schemes().map(entry).collect()
}
