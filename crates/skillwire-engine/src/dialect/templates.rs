//! D12: resource templates of older dialects, and the values of their variables.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use skillwire_catalog::Page;
use skillwire_core::SKILL_FILE;
use skillwire_dialects::{
    fastmcp::{files_template, skill_of_template},
    templates::{ListedTemplate, OF_DIALECTS},
};
use skillwire_protocol::{RpcError, method};
use skillwire_source::{Skill, SkillContent};

use super::{
    Dialect,
    names::{LookupNames, NameLookup},
};
use crate::{
    engine::{Outcome, OwnedCall, item},
    offer::{self, Items},
};

fn spoken(call: &OwnedCall) -> impl Iterator<Item = &'static ListedTemplate<'static>> {
    let known = OF_DIALECTS.iter().filter(|(dialect, _)| call.speaks(*dialect));
    known.map(|(_, template)| template)
}

/// Answers `resources/templates/list` with our own templates, those of enabled dialects and, where
/// files are not listed one by one, a template for each skill.
pub(crate) fn list(
    call: &OwnedCall,
    own: Vec<String>,
    cursor: Option<&str>,
    lists: &[Arc<Items>],
) -> Outcome {
    let walk = (method::RESOURCES_TEMPLATES_LIST, "");
    let (after, size) = (call.after(walk, cursor)?, call.config().page_size);
    let offered = offer::offered_key(after.as_deref());
    let fixed = own.into_iter().map(Into::into).chain(spoken(call).map(item));
    // Fixed templates come first; their keys are numbers, which no URI is.
    let fixed = fixed.enumerate().map(|(index, json)| (format!("{index:04}"), json));
    let shown = after.clone().unwrap_or_default();
    let fixed = fixed.filter(|(key, _)| *key > shown);
    let per_skill = call.speaks(Dialect::FastMcp) && !call.snapshot.lists_files();
    let from = after.as_deref().filter(|key| key.contains("://"));
    let skills = call.snapshot.listed_after(from).filter(|_| per_skill);
    let template = |skill: &Arc<Skill>| item(&files_template(&skill.uri, skill.name()));
    let of_skills = skills.map(|skill| (skill.uri.to_string(), template(skill)));
    let mut page = match offered {
        Some(_) => Page::default(),
        None => Page::cut(size, fixed.chain(of_skills)),
    };
    offer::append(&mut page, lists, offered, size);
    let mut result = call.begin_page(walk, "resourceTemplates", &page);
    result.cacheable();
    result.server_info();
    Ok(result.finish().into())
}

/// Returns the values of a variable of one of these templates.
///
/// Returns `None` for an unknown template, and an empty list for a known one without values. More
/// than `most` values mean that the list is cut.
pub(crate) async fn complete(
    call: &OwnedCall,
    template: &str,
    (variable, typed): (&str, &str),
    known: &BTreeMap<String, String>,
    most: usize,
) -> Result<Option<Result<Vec<String>, UnknownVariable>>, RpcError> {
    if let Some(skill) = per_skill(call, template) {
        let values =
            if variable == "path" { Ok(files(skill, typed)) } else { Err(UnknownVariable) };
        return Ok(Some(values));
    }
    let Some(template) = spoken(call).find(|known| known.uri == template) else {
        return Ok(None);
    };
    if !template.has_variable(variable) {
        return Ok(Some(Err(UnknownVariable)));
    }
    let names = call.names().await?;
    let values = match variable {
        "filePath" | "documentPath" => {
            let skill = known.get("skillName").map(|name| names.find(&call.snapshot, name));
            match skill {
                Some(NameLookup::Skill(skill)) => {
                    let mut found = files(skill, typed);
                    found.retain(|path| variable == "filePath" || path != SKILL_FILE);
                    found
                }
                _ => Vec::new(),
            }
        }
        _ => {
            let with_documents = template.uri.contains("documentPath");
            self::names(call, &names, typed, with_documents, most)
        }
    };
    Ok(Some(Ok(values)))
}

/// The error for a variable that the template does not have.
pub(crate) struct UnknownVariable;

/// Finds the skill whose own template this is.
fn per_skill<'a>(call: &'a OwnedCall, template: &str) -> Option<&'a Skill> {
    let on = call.speaks(Dialect::FastMcp) && !call.snapshot.lists_files();
    let uri = skill_of_template(template).filter(|_| on)?;
    call.snapshot.skill(&uri).map(|skill| &**skill)
}

fn files(skill: &Skill, typed: &str) -> Vec<String> {
    let SkillContent::Files(tree) = &skill.content else { return Vec::new() };
    let paths = tree.files.iter().map(|file| file.path.as_str());
    paths.filter(|path| path.starts_with(typed)).map(str::to_owned).collect()
}

/// Finds names that begin with a text, ignoring case.
pub(super) fn names(
    call: &OwnedCall,
    names: &LookupNames,
    typed: &str,
    with_documents: bool,
    most: usize,
) -> Vec<String> {
    let typed = typed.to_ascii_lowercase();
    let has_documents = |skill: &Skill| match &skill.content {
        SkillContent::Files(tree) => tree.files.len() > 1,
        SkillContent::Generated(_) => false,
    };
    let skills = call.snapshot.named_from(&typed);
    let own = skills.take_while(|skill| skill.name().starts_with(&typed)).filter_map(|skill| {
        let name = names.of_skill(&call.snapshot, skill)?;
        // A skill with a longer name is found below, by that name.
        (name == skill.name()).then_some((name, &**skill))
    });
    let found: BTreeSet<String> = own
        .chain(names.longer(&typed))
        .filter(|(_, skill)| !with_documents || has_documents(skill))
        .map(|(name, _)| name.to_owned())
        .take(most + 1)
        .collect();
    found.into_iter().collect()
}
