//! Turns a skill as its origin lists it into a skill as the gateway serves it.

use std::sync::Arc;

use serde_json::{Map, Value};
use skillwire_core::{Resources, media_type};
use skillwire_source::{
    EntryText, FileRecord, FileStore, FileTree, InspectedSkill, Skill, SkillContent,
};
use skillwire_trust::{ListedSkill, SkillId, UriMapping};

use crate::{
    followed::skills::PassedOnSkill,
    followed::source::SourceState,
    passing_on::entry::{NotPassedOn, passed_on_entry, text_of},
    passing_on::files::{ServerFiles, ServerGenerator},
    passing_on::provenance::GatewayId,
};

/// Makes the served skill of a server's skill, without fetching any of its files.
pub(crate) fn serve(
    source: &Arc<SourceState>,
    passed: &PassedOnSkill,
) -> Result<Skill, NotPassedOn> {
    let listed = &passed.skill.clone().passed_on();
    let (content, maker) = match &listed.entry().resources {
        Resources::Dynamic => {
            let generator = ServerGenerator::new(Arc::clone(source), passed.skill.clone());
            (SkillContent::Generated(Arc::new(generator)), None)
        }
        Resources::Listed(_) => {
            let store = Arc::new(ServerFiles::new(Arc::clone(source), listed.clone()));
            let tree = files(listed, Arc::clone(&store) as Arc<dyn FileStore>)?;
            (SkillContent::Files(tree), Some(store))
        }
    };
    let notes = source.rules.notes_of(listed);
    let mut skill = skill(listed, content, &source.rules.uris, &source.shared.gateway, &notes)?;
    skill.listed = passed.is_listed;
    if let Some(maker) = maker {
        // A server may list very many skills, each at several addresses.
        skill.entry = EntryText::made_by(maker, &skill.entry.text());
    }
    Ok(skill)
}

/// The files that an entry lists, to be read from a store.
pub(crate) fn files(
    listed: &ListedSkill,
    store: Arc<dyn FileStore>,
) -> Result<FileTree, NotPassedOn> {
    let resources = match &listed.entry().resources {
        Resources::Listed(resources) => resources.as_slice(),
        Resources::Dynamic => &[],
    };
    let records = resources.iter().map(|resource| {
        let path = listed.id().uri.below(&resource.uri).ok_or(NotPassedOn::Unreadable)?;
        // The bytes have not been fetched, so the name alone decides the media type.
        let media_type = media_type::of(path.file_name(), b"");
        let (digest, size) = (resource.digest, resource.size);
        Ok(FileRecord { path, digest, size, media_type })
    });
    let mut files = records.collect::<Result<Vec<_>, _>>()?;
    files.sort_unstable_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
    Ok(FileTree { files: files.into(), empty_directories: Box::default(), store })
}

/// Makes the served skill: the entry as its server wrote it, with the URIs it has here.
pub(crate) fn skill(
    listed: &ListedSkill,
    content: SkillContent,
    mapping: &UriMapping,
    instance: &GatewayId,
    notes: &Map<String, Value>,
) -> Result<Skill, NotPassedOn> {
    let uri = mapping.passed_on_skill(&listed.id().uri).ok_or(NotPassedOn::Unreadable)?;
    let entry = passed_on_entry(&text_of(listed), mapping, instance, notes)?;
    let skill = Skill { uri, entry: entry.into(), content, listed: true, provenance: None };
    Ok(skill.with_provenance(notes))
}

/// Makes the report of one skill; one that cannot be passed on is logged and left out.
pub(crate) fn inspected(id: &SkillId, made: Result<Skill, NotPassedOn>) -> Vec<InspectedSkill> {
    // The skill's root, to which findings add the path of a file.
    let origin = format!("{}:{}", id.origin, id.uri.root());
    let skill = match made {
        Ok(skill) => Some(Arc::new(skill)),
        Err(reason) => {
            tracing::warn!("{origin} is not passed on: {reason}.");
            None
        }
    };
    vec![InspectedSkill { origin, findings: Vec::new(), skill }]
}
