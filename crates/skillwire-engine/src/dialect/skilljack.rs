//! D8, skilljack: all files of a skill in one answer.

use std::sync::Arc;

use skillwire_core::RelPath;
use skillwire_dialects::skilljack::{file_uri, is_collected};
use skillwire_source::{Skill, SkillContent};

use super::skills_page::push_content;
use crate::{
    engine::{Outcome, OwnedCall, media_type},
    payload::Payload,
};

/// The most bytes of one collection; files beyond that are left out.
const MAX_COLLECTION_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a collection: every file except `SKILL.md`, hidden files and those that are too large.
pub(crate) async fn read_collection(call: OwnedCall, skill: Arc<Skill>, asked: String) -> Outcome {
    let paths = call.paths(&skill).await?;
    let sizes = paths.iter().filter_map(|path| size(&skill, path));
    let known = sizes.fold(0, u64::saturating_add).min(MAX_COLLECTION_BYTES);
    // The text is a third longer than the files and is copied into the answer.
    let memory = call.reserve(known.saturating_mul(3)).await?;
    let mut contents = String::from("[");
    let mut total = 0;
    for path in paths {
        if !is_collected(&path, size(&skill, &path)) {
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
        let uri = file_uri(&asked, &path);
        push_content(&mut contents, &uri, media_type(&skill, &path, &bytes), &bytes);
    }
    contents.push(']');
    let mut result = call.style.begin();
    result.json("contents", &contents);
    result.cacheable();
    result.server_info();
    Ok(Payload::from(result.finish()).within(memory))
}

fn size(skill: &Skill, path: &RelPath) -> Option<u64> {
    match &skill.content {
        SkillContent::Files(tree) => tree.file(path).map(|file| file.size),
        SkillContent::Generated(_) => None,
    }
}
