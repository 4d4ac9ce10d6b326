//! Adds one entry to a configuration file, or takes it out, and leaves the rest as it is.
//!
//! An editor for each format changes the text. Here the old and the new text are read once more and
//! compared: an edit that would change anything but the one entry is an error, never a file.

mod json;
mod toml;
mod yaml;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The name of the entry.
const ENTRY: &str = "skillwire";

/// The largest file that is changed.
const MOST_BYTES: usize = 32 << 20;

/// How a configuration file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    Toml,
    Yaml,
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The text already is as it should be.
    Unchanged,
    /// The new text.
    Changed(String),
}

/// What a file becomes without the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It has no entry to take out.
    Unchanged,
    /// The new text.
    Changed(String),
    /// The file holds nothing else, and there was none before the entry was added.
    Empty,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file does not follow its format.
    #[error("it is not valid {format}: {message}")]
    Syntax {
        /// JSON, TOML or YAML.
        format: &'static str,
        /// What its reader said.
        message: String,
    },
    /// Something else stands where the table of servers should be.
    #[error("`{0}` is not a table")]
    NotATable(String),
    /// The file is written in a way in which one entry cannot be changed alone.
    #[error("one entry cannot be changed without touching the rest")]
    NotAlone,
    /// The file is larger than such a file can be.
    #[error("it has {0} bytes, more than {MOST_BYTES}")]
    TooLarge(usize),
}

impl Format {
    pub(crate) fn read(self, text: &str) -> Result<Map<String, Value>, EditError> {
        if text.len() > MOST_BYTES {
            return Err(EditError::TooLarge(text.len()));
        }
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }
}

/// Returns the table that `names` lead to, if it is there.
fn table<'a>(
    mut map: &'a Map<String, Value>,
    names: &[String],
) -> Result<Option<&'a Map<String, Value>>, EditError> {
    for name in names {
        map = match map.get(name) {
            Some(Value::Object(inner)) => inner,
            // YAML reads `extensions:` with nothing below it as null.
            None | Some(Value::Null) => return Ok(None),
            Some(_) => return Err(EditError::NotATable(name.clone())),
        };
    }
    Ok(Some(map))
}

/// Whether `names` lead to a table that holds nothing but tables, as one of servers does.
pub(crate) fn has_tables(format: Format, text: &str, names: &[String]) -> Result<bool, EditError> {
    let map = format.read(text)?;
    Ok(matches!(table(&map, names), Ok(Some(table)) if table.values().all(Value::is_object)))
}

pub(crate) fn current(
    format: Format,
    text: &str,
    names: &[String],
) -> Result<Option<Value>, EditError> {
    let map = format.read(text)?;
    Ok(table(&map, names)?.and_then(|servers| servers.get(ENTRY)).cloned())
}

pub(crate) fn add(
    format: Format,
    text: &str,
    names: &[String],
    entry: &Map<String, Value>,
) -> Result<Edit, EditError> {
    let old = current(format, text, names)?;
    let mut wanted = match &old {
        Some(Value::Object(settings)) => settings.clone(),
        _ => Map::new(),
    };
    merge(&mut wanted, entry);
    if old.as_ref() == Some(&Value::Object(wanted.clone())) {
        return Ok(Edit::Unchanged);
    }
    let new = match format {
        Format::Json => json::set(text, names, &wanted),
        Format::Toml => toml::set(text, names, &wanted),
        Format::Yaml => yaml::set(text, names, &wanted),
    }?;
    check(format, text, &new, names, Some(&Value::Object(wanted)))?;
    Ok(Edit::Changed(new))
}

/// Takes the entry out. `before` is the text from before the entry was added, if there was a file: it
/// comes back as it was if nothing else changed since.
pub(crate) fn remove(
    format: Format,
    text: &str,
    names: &[String],
    before: Option<&str>,
) -> Result<Removal, EditError> {
    let Some(entry) = current(format, text, names)? else { return Ok(Removal::Unchanged) };
    let without = without_entry(format, text, names)?;
    let before = before.filter(|before| matches!(current(format, before, names), Ok(None)));
    if let (Some(before), Value::Object(entry)) = (before, &entry)
        && let Ok(Edit::Changed(added)) = add(format, before, names, entry)
        && without_entry(format, &added, names).is_ok_and(|again| again == without)
    {
        return Ok(Removal::Changed(before.to_owned()));
    }
    let new = without_tables(format, without, names, before)?;
    check(format, text, &new, names, None)?;
    let rest: String = new.chars().filter(|c| !c.is_whitespace()).collect();
    if before.is_none() && (rest.is_empty() || rest == "{}") {
        return Ok(Removal::Empty);
    }
    Ok(Removal::Changed(new))
}

fn without_entry(format: Format, text: &str, names: &[String]) -> Result<String, EditError> {
    let new = match format {
        Format::Json => json::remove(text, names),
        Format::Toml => toml::remove(text, names),
        Format::Yaml => yaml::remove(text, names),
    }?;
    check(format, text, &new, names, None)?;
    Ok(new)
}

/// Drops tables on the way to the entry that are empty now and were not there before.
fn without_tables(
    format: Format,
    mut text: String,
    names: &[String],
    before: Option<&str>,
) -> Result<String, EditError> {
    let old = before.map(|before| format.read(before)).transpose()?.unwrap_or_default();
    for depth in (1..=names.len()).rev() {
        let path = &names[..depth];
        let now = format.read(&text)?;
        if table(&now, path)?.is_some_and(|table| !table.is_empty()) || is_there(&old, path) {
            break;
        }
        text = match format {
            Format::Json => json::remove_table(&text, path)?,
            // The table of the entry has no line of its own there.
            Format::Toml => text,
            Format::Yaml => yaml::remove_table(&text, path)?,
        };
    }
    Ok(text)
}

/// Whether something stands where `names` lead to, if only an empty value.
fn is_there(map: &Map<String, Value>, names: &[String]) -> bool {
    let Some((last, above)) = names.split_last() else { return true };
    matches!(table(map, above), Ok(Some(table)) if table.contains_key(last))
}

/// Sets what `entry` sets and keeps what else the user wrote.
fn merge(settings: &mut Map<String, Value>, entry: &Map<String, Value>) {
    for (name, value) in entry {
        match (settings.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(old), _) => *old = value.clone(),
            (None, _) => drop(settings.insert(name.clone(), value.clone())),
        }
    }
}

/// Reads both texts and refuses `new` if it differs from `old` by more than the entry.
fn check(
    format: Format,
    old: &str,
    new: &str,
    names: &[String],
    entry: Option<&Value>,
) -> Result<(), EditError> {
    let (mut old, mut new) = (format.read(old)?, format.read(new)?);
    if take(&mut new, names).as_ref() != entry {
        return Err(EditError::NotAlone);
    }
    take(&mut old, names);
    if old == new { Ok(()) } else { Err(EditError::NotAlone) }
}

/// Takes the entry out, and tables on the way to it that hold nothing else.
fn take(map: &mut Map<String, Value>, names: &[String]) -> Option<Value> {
    let Some((name, rest)) = names.split_first() else { return map.shift_remove(ENTRY) };
    let taken = match map.get_mut(name) {
        Some(Value::Object(inner)) => {
            let taken = take(inner, rest);
            if !inner.is_empty() {
                return taken;
            }
            taken
        }
        Some(Value::Null) => None,
        _ => return None,
    };
    map.shift_remove(name);
    taken
}
