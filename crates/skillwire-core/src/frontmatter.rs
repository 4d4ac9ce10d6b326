//! The frontmatter of a skill: what the author wrote, and whether the format allows it.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{finding::Finding, name::SkillName, visible::truncated, yaml::Document};

mod checks;

/// The longest description, in code points.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The longest compatibility note, in code points.
pub const MAX_COMPATIBILITY_CHARS: usize = 500;

/// Frontmatter with a valid name and a description; every other field is as the author wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter {
    fields: Map<String, Value>,
    name: SkillName,
}

impl Frontmatter {
    /// Checks a parsed document; the value is there when `name` and `description` can be carried.
    pub fn check(document: Document, file: &[u8]) -> (Option<Self>, Vec<Finding>) {
        let (name, described, findings) = checks::run(&document, file);
        let frontmatter =
            name.filter(|_| described).map(|name| Self { fields: document.map, name });
        (frontmatter, findings)
    }

    /// Takes fields that a server or another parser read from a file; unlike [`Self::check`], it
    /// stops at the first one that the format forbids.
    pub fn from_fields(fields: Map<String, Value>) -> Result<Self, InvalidField> {
        let text = |key| match fields.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(InvalidField::new(key, "a string", checks::kind(other))),
        };
        let name = text("name")?.ok_or_else(|| InvalidField::new("name", "a name", "nothing"))?;
        let name = SkillName::parse(&name).map_err(|error| {
            let shown = truncated(&name);
            InvalidField::new("name", "a valid name", format!("`{shown}`, which {error}"))
        })?;
        let description = text("description")?.filter(|text| !text.trim().is_empty());
        let description = description
            .ok_or_else(|| InvalidField::new("description", "a description", "nothing"))?;
        let at_most = |key, text: &str, most| match text.chars().count() {
            length if length > most => {
                let expected = format!("at most {most} characters");
                Err(InvalidField::new(key, expected, format!("{length} characters")))
            }
            _ => Ok(()),
        };
        at_most("description", &description, MAX_DESCRIPTION_CHARS)?;
        if let Some(text) = text("compatibility")? {
            at_most("compatibility", &text, MAX_COMPATIBILITY_CHARS)?;
        }
        Ok(Self { fields: exact(fields), name })
    }

    /// Returns the skill's name.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the skill's description.
    pub fn description(&self) -> &str {
        // Kept once, among the fields: a listing holds very many of these.
        self.fields.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the path of the skill's file that declares the arguments of its scripts:
    /// `metadata.skillwire-scripts`.
    pub fn script_declarations(&self) -> Option<&str> {
        self.fields.get("metadata")?.get("skillwire-scripts")?.as_str()
    }

    /// Returns every field the author wrote.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// Gives an object no more room than it needs: a listing holds very many of these, and one that was read
/// field by field takes almost twice as much.
fn exact(fields: Map<String, Value>) -> Map<String, Value> {
    let mut exact = Map::with_capacity(fields.len());
    for (key, value) in fields {
        let value = match value {
            Value::Object(fields) => Value::Object(self::exact(fields)),
            value => value,
        };
        exact.insert(key, value);
    }
    exact
}

impl Serialize for Frontmatter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

/// A field that the format does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: expected {expected}, found {actual}")]
pub struct InvalidField {
    key: &'static str,
    expected: String,
    actual: String,
}

impl InvalidField {
    fn new(key: &'static str, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { key, expected: expected.into(), actual: actual.into() }
    }

    /// Tells whether the skill's name is the problem.
    pub fn about_name(&self) -> bool {
        self.key == "name"
    }

    /// Returns what the format demands of the field.
    pub fn expected(&self) -> String {
        format!("{} as `{}`", self.expected, self.key)
    }

    /// Returns what the field says instead.
    pub fn actual(&self) -> &str {
        &self.actual
    }
}
