//! D5, SEP-2076: skills as a primitive that is addressed by name.

use std::sync::Arc;

use skillwire_core::RelPath;
use skillwire_dialects::{
    FileText, SkillCard,
    sep_2076::{ArgumentValues, SkillAnswer, SkillFile, extend_entry, link_label, linked_paths},
};
use skillwire_protocol::{RpcError, truncated};
use skillwire_source::Skill;

use super::dependencies;
use crate::engine::{Outcome, OwnedCall, about_name, body, media_type, uri_of};

/// Extends the entry of a skill with the members of this dialect and of the "Skills" page.
pub(crate) fn superset(call: &OwnedCall, skill: &Skill, name: &str) -> String {
    let entry = skill.entry.text();
    let card = SkillCard::of_entry(&entry);
    extend_entry(&entry, name, &card, dependencies::served(call, &card))
}

/// Answers `skills/get` by name.
pub(crate) async fn get(call: OwnedCall, name: String, arguments: ArgumentValues) -> Outcome {
    let skill = call.named(&name).await?.map_err(|unnamed| {
        let message = if unnamed.candidates.is_empty() {
            format!("Unknown skill: `{}`.", truncated(&name))
        } else {
            format!("Several skills are named `{}`; name one of them.", truncated(&name))
        };
        RpcError::invalid_params(message).with_data(about_name(&name, unnamed.candidates))
    })?;
    let card = SkillCard::of_entry(&skill.entry.text());
    let body = body(call.skill_file_for(&skill, &card, &arguments).await?.as_bytes())?;
    let files = files(&call, &skill, &card, &body).await?;
    let answer = SkillAnswer {
        description: Some(card.description().into()),
        instructions: body.into(),
        dependencies: dependencies::served(&call, &card),
        files,
    };
    let mut result = call.style.begin();
    result.members(&answer);
    Ok(result.finish().into())
}

/// Lists all files besides `SKILL.md`; those that the instructions link to are required.
async fn files(
    call: &OwnedCall,
    skill: &Arc<Skill>,
    card: &SkillCard,
    body: &str,
) -> Result<Vec<SkillFile>, RpcError> {
    let linked = linked_paths(body);
    let paths = call.paths(skill).await?;
    let others = paths.iter().filter(|path| **path != RelPath::skill_file());
    let file = others.map(|path| {
        // The author may describe a file in the frontmatter; else a link to it has its title.
        let FileText { title, description } = card.file_text(path.as_str());
        SkillFile {
            name: path.file_name().to_owned(),
            title: title.or_else(|| link_label(body, path.as_str())),
            description,
            uri: uri_of(skill, path).to_string(),
            media_type: Some(media_type(skill, path, b"")),
            required: linked.iter().any(|linked| linked == path.as_str()),
        }
    });
    Ok(file.collect())
}
