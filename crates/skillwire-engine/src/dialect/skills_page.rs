//! The "Skills" page: `skills/read`, `skills/read_reference` and `skills/execute`.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use skillwire_core::{
    links::{self, Target},
    name::SkillName,
    path::RelPath,
};
use skillwire_protocol::{
    error::{ErrorCode, RpcError, truncated},
    version::Era,
};
use skillwire_source::Skill;

use super::card::Card;
use crate::engine::{OwnedCall, about_name, media_type, uri_of};
use crate::{engine::Outcome, offer::Progress};

/// Runs scripts of skills; a server that has none offers no `skills/execute`.
pub trait RunScripts: Send + Sync + fmt::Debug {
    /// Runs one script and returns the result of the call, an object with `content` and `isError`.
    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>>;
}

/// A script that somebody wants to have run.
#[derive(Debug)]
pub struct Script {
    /// The skill it belongs to.
    pub skill: Arc<Skill>,
    /// Where it is in the skill; it is one of the skill's files.
    pub path: RelPath,
    /// What it is given: an object, or nothing.
    pub arguments: Option<Value>,
    /// The name of whoever asks; empty where nobody has one.
    pub caller: String,
    /// How whoever asks is told that it runs on.
    pub progress: Progress,
}

/// A script that could not be run at all; one that failed by itself has a result that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotRun(pub String);

/// Answers `skills/read`.
pub(crate) async fn read(call: OwnedCall, name: String) -> Outcome {
    let skill = find(&call, &name).await?;
    let body = call.instructions(&skill).await?;
    let items = items(&call, &skill, &body).await?;
    let of_kind = |kind| -> Value {
        items.iter().filter(|item| item.kind == kind).map(Item::to_json).collect()
    };
    let card = Card::of(&skill);
    let read = json!({
        "name": name,
        "description": card.description(),
        "instructions": body,
        "scripts": of_kind(Kind::Script),
        "references": of_kind(Kind::Reference),
        "assets": of_kind(Kind::Asset),
        "metadata": card.metadata(),
        "annotations": card.annotations(),
    });
    let mut result = call.style.begin();
    result.json("skill", &read.to_string());
    Ok(result.finish().into())
}

/// Answers `skills/read_reference`.
pub(crate) async fn read_reference(call: OwnedCall, name: String, reference: String) -> Outcome {
    let skill = find(&call, &name).await?;
    let body = call.instructions(&skill).await?;
    let items = items(&call, &skill, &body).await?;
    let found = resolve(&items, &reference);
    let not_found = || {
        let message = format!("The skill has no reference `{}`.", truncated(&reference));
        let data = json!({ "name": truncated(&name), "reference": truncated(&reference) });
        RpcError::new(code(call.era(), ErrorCode::LegacyReferenceNotFound), message).with_data(data)
    };
    let path = &found.ok_or_else(not_found)?.path;
    let bytes = call.bytes(&skill, path).await?.ok_or_else(not_found)?;
    let mut content = String::new();
    let uri = uri_of(&skill, path);
    push_content(&mut content, uri.as_str(), media_type(&skill, path, &bytes), &bytes);
    let mut result = call.style.begin();
    result.json("content", &content);
    Ok(result.finish().into())
}

/// Answers `skills/execute`.
pub(crate) async fn execute(
    call: OwnedCall,
    runner: Arc<dyn RunScripts>,
    (name, script, arguments): (String, String, Option<Value>),
    progress: Progress,
) -> Outcome {
    let skill = find(&call, &name).await?;
    let failed = |reason: String| {
        let failed = match call.era() {
            Era::Legacy => ErrorCode::LegacyScriptFailed,
            Era::Modern => ErrorCode::Internal,
        };
        let data = json!({
            "name": truncated(&name), "script": truncated(&script), "reason": reason
        });
        RpcError::new(failed, format!("`{}` was not run: {reason}", truncated(&script)))
            .with_data(data)
    };
    let body = call.instructions(&skill).await?;
    let mut items = items(&call, &skill, &body).await?;
    items.retain(|item| item.kind == Kind::Script);
    let path = resolve(&items, &script).map(|item| item.path.clone());
    let path = path.ok_or_else(|| failed("The skill has no such script.".to_owned()))?;
    let wanted = Script { skill, path, arguments, caller: call.caller.name.clone(), progress };
    let ran = runner.run(wanted).await.map_err(|NotRun(reason)| failed(reason))?;
    let mut result = call.style.begin();
    for (member, value) in ran.as_object().into_iter().flatten() {
        result.json(member, &value.to_string());
    }
    Ok(result.finish().into())
}

/// One element of `contents`, as JSON.
pub(super) fn push_content(out: &mut String, uri: &str, media_type: &str, bytes: &[u8]) {
    let head = json!({ "uri": uri, "mimeType": media_type }).to_string();
    out.push_str(head.trim_end_matches('}'));
    // Rendered content is JSON, so it is UTF-8.
    out.push_str(&String::from_utf8_lossy(&crate::engine::contents::render(bytes)));
}

async fn find(call: &OwnedCall, name: &str) -> Result<Arc<Skill>, RpcError> {
    call.named(name).await?.map_err(|unnamed| {
        let message = if unnamed.candidates.is_empty() {
            "Skill not found."
        } else {
            "Several skills have this name; name one of them."
        };
        RpcError::new(code(call.era(), ErrorCode::LegacyResourceNotFound), message)
            .with_data(about_name(name, unnamed.candidates))
    })
}

/// The page's own code where it means nothing else.
fn code(era: Era, legacy: ErrorCode) -> ErrorCode {
    match era {
        Era::Legacy => legacy,
        Era::Modern => ErrorCode::InvalidParams,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Script,
    Reference,
    Asset,
}

/// A file of a skill as the page lists it.
#[derive(Debug)]
struct Item {
    kind: Kind,
    path: RelPath,
    description: String,
}

impl Item {
    fn to_json(&self) -> Value {
        json!({
            "name": self.path.file_name(),
            "description": self.description,
            "path": self.path.as_str(),
        })
    }
}

/// All files besides `SKILL.md`, described by the text of the link that leads to them.
async fn items(call: &OwnedCall, skill: &Arc<Skill>, body: &str) -> Result<Vec<Item>, RpcError> {
    let labels = labels(body);
    let paths = call.paths(skill).await?;
    let others = paths.into_iter().filter(|path| *path != RelPath::skill_file());
    Ok(others
        .map(|path| {
            let kind = match path.segments().next() {
                Some("scripts") => Kind::Script,
                Some("assets") => Kind::Asset,
                _ => Kind::Reference,
            };
            let label = labels.iter().find(|(linked, _)| linked == path.as_str());
            let description = label.map_or_else(
                || format!("`{path}` of the skill {}", skill.name()),
                |(_, label)| label.clone(),
            );
            Item { kind, path, description }
        })
        .collect())
}

/// The paths a text links to, each with the text of its link.
fn labels(body: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for link in links::find(body, 0) {
        let Target::Inside(path) = links::resolve("", &link.target) else { continue };
        let before = body[..link.span.start].trim_end_matches(['<', '(', ' ']);
        let label = before.strip_suffix(']').and_then(|text| text.rsplit('[').next());
        let label = label.map(str::trim).filter(|label| !label.is_empty() && label.len() < 1_024);
        found.extend(label.map(|label| (path, label.to_owned())));
    }
    found
}

/// Finds an item by its path, its name, its name without extension, or its description; what fits
/// several items fits none.
fn resolve<'a>(items: &'a [Item], asked: &str) -> Option<&'a Item> {
    let stem = |item: &Item| {
        let name = item.path.file_name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    let slug = |item: &Item| SkillName::suggest(&item.description).map(|slug| slug.to_string());
    let ways: [&dyn Fn(&Item) -> bool; 4] = [
        &|item| item.path.as_str() == asked,
        &|item| item.path.file_name() == asked,
        &|item| stem(item) == asked,
        &|item| slug(item).as_deref() == Some(asked),
    ];
    ways.iter().find_map(|fits| {
        let mut fitting = items.iter().filter(|item| fits(item));
        let first = fitting.next()?;
        // Asked for by something that two have, it is found by nothing weaker either.
        Some(fitting.next().is_none().then_some(first))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_by_path_name_stem_and_description_d6() {
        let item = |path: &str, description: &str| Item {
            kind: Kind::Reference,
            path: RelPath::parse(path).unwrap(),
            description: description.to_owned(),
        };
        let items = [
            item("references/templates.md", "Slide templates"),
            item("a/same.md", "one"),
            item("b/same.md", "two"),
            item("c/same", "three"),
        ];
        let found = |asked| resolve(&items, asked).map(|item| item.path.to_string());
        for asked in ["references/templates.md", "templates.md", "templates", "slide-templates"] {
            assert_eq!(found(asked).as_deref(), Some("references/templates.md"), "{asked}");
        }
        assert_eq!(found("same.md"), None, "two files have this name");
        assert_eq!(found("same").as_deref(), Some("c/same"), "a name wins over a stem");
        assert_eq!(found("../a/same.md"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn descriptions_are_the_texts_of_links_d6() {
        let found = labels("See [Model answer](examples/email.md) and `x`, [out](../y).\n");
        assert_eq!(found, [("examples/email.md".to_owned(), "Model answer".to_owned())]);
    }
}
