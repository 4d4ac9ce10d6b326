//! TOML, with its comments and its order.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as TomlValue};

use super::{ENTRY, EditError};

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| EditError::Syntax {
        format: "TOML",
        message: error.message().to_owned(),
    })
}

pub(super) fn read(text: &str) -> Result<Map<String, Value>, EditError> {
    ::toml::from_str(text)
        .map_err(|error| EditError::Syntax { format: "TOML", message: error.message().to_owned() })
}

pub(super) fn set(
    text: &str,
    names: &[String],
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let mut servers = document.as_table_mut();
    for name in names {
        let item = servers.entry(name).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // A table in braces, on one line, cannot hold a block.
        servers = item.as_table_mut().ok_or(EditError::NotAlone)?;
    }
    let item = servers.entry(ENTRY).or_insert_with(|| Item::Table(Table::new()));
    let settings =
        item.as_table_like_mut().ok_or_else(|| EditError::NotATable(ENTRY.to_owned()))?;
    for (name, value) in entry {
        if settings.get(name).and_then(Item::as_value).map(plain).as_ref() != Some(value) {
            settings.insert(name, Item::Value(input(value)));
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, names: &[String]) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let mut servers = Some(document.as_item_mut());
    for name in names {
        servers = servers.and_then(|item| item.get_mut(name));
    }
    if let Some(servers) = servers.and_then(Item::as_table_like_mut) {
        servers.remove(ENTRY);
    }
    Ok(document.to_string())
}

fn input(value: &Value) -> TomlValue {
    match value {
        // TOML has no null, and no entry has one.
        Value::Null => TomlValue::from(""),
        Value::Bool(value) => TomlValue::from(*value),
        Value::Number(value) => value
            .as_i64()
            .map_or_else(|| TomlValue::from(value.as_f64().unwrap_or_default()), TomlValue::from),
        Value::String(value) => TomlValue::from(value.as_str()),
        Value::Array(values) => TomlValue::Array(values.iter().map(input).collect::<Array>()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(name, value)| (name.as_str(), input(value)));
            TomlValue::InlineTable(pairs.collect::<InlineTable>())
        }
    }
}

/// A value as the entry has it, to be compared; what no entry has compares unequal.
fn plain(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => text.value().as_str().into(),
        TomlValue::Integer(number) => (*number.value()).into(),
        TomlValue::Boolean(value) => (*value.value()).into(),
        TomlValue::Array(values) => values.iter().map(plain).collect(),
        TomlValue::InlineTable(table) => {
            table.iter().map(|(name, value)| (name.to_owned(), plain(value))).collect()
        }
        TomlValue::Float(_) | TomlValue::Datetime(_) => Value::Null,
    }
}
