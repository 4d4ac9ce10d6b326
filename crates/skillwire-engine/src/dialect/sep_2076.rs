//! SEP-2076: skills as a primitive that is addressed by name.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json, value::RawValue};
use skillwire_core::{
    links::{self, Target},
    path::RelPath,
};
use skillwire_protocol::error::{RpcError, truncated};
use skillwire_source::Skill;

use super::{
    card::{Argument, Card},
    dependencies,
};
use crate::engine::Outcome;
use crate::engine::{OwnedCall, about_name, media_type, uri_of};

/// The most bytes that instructions may have once their arguments are filled in.
const MAX_FILLED_BYTES: usize = 16 * 1024 * 1024;

/// What a caller gives a skill's instructions.
pub(crate) type Given = BTreeMap<String, String>;

/// Reads `params.arguments`: names with texts.
pub(crate) fn given(raw: Option<&RawValue>) -> Result<Given, RpcError> {
    let Some(raw) = raw else { return Ok(Given::new()) };
    let malformed = || RpcError::invalid_params("`params.arguments` must be an object of strings.");
    if !raw.get().starts_with('{') {
        return Err(malformed());
    }
    serde_json::from_str(raw.get()).map_err(|_| malformed())
}

/// Answers `skills/get` by name.
pub(crate) async fn get(call: OwnedCall, name: String, given: Given) -> Outcome {
    let skill = call.named(&name).await?.map_err(|unnamed| {
        let message = if unnamed.candidates.is_empty() {
            format!("Unknown skill: `{}`.", truncated(&name))
        } else {
            format!("Several skills are named `{}`; name one of them.", truncated(&name))
        };
        RpcError::invalid_params(message).with_data(about_name(&name, unnamed.candidates))
    })?;
    let card = Card::of(&skill);
    let body = call.instructions(&skill).await?;
    let files = files(&call, &skill, &body).await?;
    let instructions = fill(&body, &card.arguments(), &given)?;
    let mut result = call.style.begin();
    result.string("description", card.description());
    result.string("instructions", &instructions);
    if let Some(dependencies) = dependencies::served(&call, &card) {
        result.json("dependencies", &dependencies.to_string());
    }
    result.json("files", &Value::from(files).to_string());
    Ok(result.finish().into())
}

/// All files besides `SKILL.md`; those that the instructions link to are required.
async fn files(call: &OwnedCall, skill: &Arc<Skill>, body: &str) -> Result<Vec<Value>, RpcError> {
    let linked = linked(body);
    let paths = call.paths(skill).await?;
    let others = paths.iter().filter(|path| **path != RelPath::skill_file());
    Ok(others
        .map(|path| {
            json!({
                "name": path.file_name(),
                "uri": uri_of(skill, path),
                "mimeType": media_type(skill, path, b""),
                "required": linked.iter().any(|linked| linked == path.as_str()),
            })
        })
        .collect())
}

/// The paths a text links to.
fn linked(body: &str) -> Vec<String> {
    let found = links::find(body, 0);
    let inside = found.iter().filter_map(|link| match links::resolve("", &link.target) {
        Target::Inside(path) => Some(path),
        _ => None,
    });
    inside.collect()
}

/// Puts what was given where the instructions have `{{name}}`; nothing is looked at twice.
fn fill(body: &str, declared: &[Argument], given: &Given) -> Result<String, RpcError> {
    let unknown = given.keys().find(|name| !declared.iter().any(|known| known.name == **name));
    if let Some(name) = unknown {
        let text = format!("The skill has no argument `{}`.", truncated(name));
        return Err(RpcError::invalid_params(text));
    }
    let missing = declared.iter().find(|known| known.required && !given.contains_key(&known.name));
    if let Some(missing) = missing {
        let text = format!("The skill needs the argument `{}`.", truncated(&missing.name));
        return Err(RpcError::invalid_params(text));
    }
    if declared.is_empty() {
        return Ok(body.to_owned());
    }
    let mut filled = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(start) = rest.find("{{") {
        let (before, opened) = rest.split_at(start);
        filled.push_str(before);
        let name = opened[2..].split_once("}}").map(|(name, _)| name);
        if let Some(name) = name.filter(|name| declared.iter().any(|known| known.name == *name)) {
            // A value cannot ask for another value.
            let value = given.get(name).map(|value| value.replace("{{", "{ {"));
            filled.push_str(&value.unwrap_or_default());
            rest = &opened[name.len() + 4..];
        } else {
            filled.push_str("{{");
            rest = &opened[2..];
        }
        if filled.len() > MAX_FILLED_BYTES {
            return Err(RpcError::invalid_params("The arguments make the instructions too long."));
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(body: &str, given: &[(&str, &str)]) -> Result<String, RpcError> {
        let declared = [("country", false), ("amount", true)].map(|(name, required)| Argument {
            name: name.to_owned(),
            description: None,
            required,
        });
        let given = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        fill(body, &declared, &given)
    }

    #[test]
    fn arguments_are_filled_in_once_and_only_where_they_are_declared_d5() {
        let body = "{{amount}} to {{country}}, {{other}} {{ {{amount}}";
        let text = filled(body, &[("amount", "5"), ("country", "{{amount}}")]).unwrap();
        assert_eq!(text, "5 to { {amount}}, {{other}} {{ 5");
        assert_eq!(filled("{{country}}.", &[("amount", "1")]).unwrap(), ".");
    }

    #[test]
    fn missing_and_unknown_arguments_are_invalid_d5() {
        assert!(filled("", &[]).unwrap_err().message.contains("`amount`"));
        assert!(filled("", &[("amount", ""), ("x", "")]).unwrap_err().message.contains("`x`"));
        let long = "x".repeat(1 << 20);
        assert!(filled(&"{{amount}}".repeat(32), &[("amount", &long)]).is_err());
    }
}
