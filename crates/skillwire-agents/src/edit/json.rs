//! JSON, with the comments and trailing commas that editors' settings have.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::{Map, Value};

use super::{ENTRY, EditError};

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(text, &options)
        .map_err(|error| EditError::Syntax { format: "JSON", message: error.to_string() })
}

pub(super) fn read(text: &str) -> Result<Map<String, Value>, EditError> {
    match parse(text)?.to_serde_value() {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(EditError::NotATable("the file".to_owned())),
    }
}

pub(super) fn set(
    text: &str,
    names: &[String],
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let root = parse(text)?;
    let mut servers =
        root.object_value_or_create().ok_or_else(|| EditError::NotATable("the file".to_owned()))?;
    for name in names {
        servers = servers
            .object_value_or_create(name)
            .ok_or_else(|| EditError::NotATable(name.clone()))?;
    }
    servers.ensure_multiline();
    match servers.get(ENTRY) {
        Some(old) => update(&old.object_value_or_set(), entry),
        None => drop(servers.append(ENTRY, object(entry))),
    }
    let mut new = root.to_string();
    if text.trim().is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    Ok(new)
}

/// Changes only the values that differ, so that comments between them stay.
fn update(settings: &CstObject, entry: &Map<String, Value>) {
    for (name, value) in entry {
        match settings.get(name) {
            Some(old)
                if old.value().and_then(|old| old.to_serde_value()).as_ref() == Some(value) => {}
            Some(old) => old.set_value(input(value)),
            None => drop(settings.append(name, input(value))),
        }
    }
}

pub(super) fn remove(text: &str, names: &[String]) -> Result<String, EditError> {
    let root = parse(text)?;
    let mut servers = root.object_value();
    for name in names {
        servers = servers.and_then(|object| object.object_value(name));
    }
    if let Some(entry) = servers.and_then(|servers| servers.get(ENTRY)) {
        entry.remove();
    }
    Ok(root.to_string())
}

/// Removes the table that `names` lead to, if nothing stands in it.
pub(super) fn remove_table(text: &str, names: &[String]) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some((last, above)) = names.split_last() else { return Ok(text.to_owned()) };
    let mut outer = root.object_value();
    for name in above {
        outer = outer.and_then(|object| object.object_value(name));
    }
    let found = outer.and_then(|outer| outer.get(last));
    // One with a comment in it stays.
    let is_blank = |table: &CstObject| {
        table.to_string().chars().all(|c| "{}".contains(c) || c.is_whitespace())
    };
    if let Some(found) = found.filter(|it| it.object_value().is_some_and(|table| is_blank(&table)))
    {
        found.remove();
    }
    Ok(root.to_string())
}

fn object(map: &Map<String, Value>) -> CstInputValue {
    CstInputValue::Object(map.iter().map(|(name, value)| (name.clone(), input(value))).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(map) => object(map),
    }
}
