//! What older dialects say about a skill that the extension leaves in its frontmatter.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};
use skillwire_source::Skill;

/// The priority of a skill among the things a server offers.
pub(super) const SKILL_PRIORITY: f64 = 0.8;

/// A skill's frontmatter, read for the members of older dialects.
///
/// Each is taken from the field of its name, or from `metadata`, whose values are texts: a list is
/// separated by commas there, and anything else is JSON.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    fields: Map<String, Value>,
}

/// An argument that a skill's instructions take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
}

#[derive(Deserialize)]
struct Entry {
    frontmatter: Map<String, Value>,
    #[serde(rename = "resources")]
    _resources: IgnoredAny,
}

impl Card {
    /// Reads a skill's entry.
    pub(crate) fn of(skill: &Skill) -> Self {
        let entry = serde_json::from_str::<Entry>(&skill.entry);
        // Entries are written here, so they can be read.
        Self { fields: entry.map(|entry| entry.frontmatter).unwrap_or_default() }
    }

    /// The description.
    pub(crate) fn description(&self) -> &str {
        self.fields.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole frontmatter.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The author's own keys and values, and the licence.
    pub(crate) fn metadata(&self) -> Map<String, Value> {
        let own = self.fields.get("metadata").and_then(Value::as_object);
        let mut all = own.cloned().unwrap_or_default();
        for key in ["license", "compatibility"] {
            if let Some(value) = self.fields.get(key) {
                all.entry(key).or_insert_with(|| value.clone());
            }
        }
        all
    }

    /// A name for people.
    pub(crate) fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// The author's version.
    pub(crate) fn version(&self) -> Option<&str> {
        self.text("version")
    }

    /// Words it is filed under.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.list("tags").unwrap_or_default()
    }

    /// Words it is found by; what it is filed under, unless the author says otherwise.
    pub(crate) fn keywords(&self) -> Vec<String> {
        self.list("keywords").unwrap_or_else(|| self.tags())
    }

    /// What its instructions take.
    pub(crate) fn arguments(&self) -> Vec<Argument> {
        let Some(Value::Array(items)) = self.json("arguments") else { return Vec::new() };
        items.iter().filter_map(argument).collect()
    }

    /// What it needs, as the author wrote it.
    pub(crate) fn dependencies(&self) -> Option<Map<String, Value>> {
        match self.json("dependencies")? {
            Value::Object(dependencies) => Some(dependencies),
            _ => None,
        }
    }

    /// Pictures for people.
    pub(crate) fn icons(&self) -> Option<Value> {
        self.json("icons").filter(Value::is_array)
    }

    /// Whom it is for, how much it matters, and when its author changed it.
    pub(crate) fn annotations(&self) -> Value {
        let mut annotations = json!({ "audience": ["assistant"], "priority": SKILL_PRIORITY });
        if let Some(when) = self.text("lastModified").filter(|when| is_time(when)) {
            annotations["lastModified"] = when.into();
        }
        annotations
    }

    fn field(&self, key: &str) -> Option<&Value> {
        let in_metadata = || self.fields.get("metadata").and_then(|metadata| metadata.get(key));
        self.fields.get(key).or_else(in_metadata)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.field(key).and_then(Value::as_str)
    }

    fn list(&self, key: &str) -> Option<Vec<String>> {
        match self.field(key)? {
            Value::Array(items) => {
                Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Value::String(text) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Some(words.map(str::to_owned).collect())
            }
            _ => None,
        }
    }

    fn json(&self, key: &str) -> Option<Value> {
        match self.field(key)? {
            Value::String(text) => serde_json::from_str(text).ok(),
            other => Some(other.clone()),
        }
    }
}

fn argument(item: &Value) -> Option<Argument> {
    let name = item.get("name")?.as_str().filter(|name| !name.is_empty())?;
    Some(Argument {
        name: name.to_owned(),
        description: item.get("description").and_then(Value::as_str).map(str::to_owned),
        required: item.get("required").and_then(Value::as_bool).unwrap_or(false),
    })
}

impl Argument {
    /// The argument as it is declared on the wire.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({ "name": self.name, "required": self.required });
        if let Some(description) = &self.description {
            json["description"] = description.as_str().into();
        }
        json
    }
}

/// Tells whether a text begins like a date; nobody should have to guess what another is.
fn is_time(text: &str) -> bool {
    let digits = |part: Option<&str>, count| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut date = text.get(..10).unwrap_or_default().split('-');
    text.is_ascii()
        && digits(date.next(), 4)
        && digits(date.next(), 2)
        && digits(date.next(), 2)
        && text.len() <= 40
        && (text.len() == 10 || text.as_bytes().get(10) == Some(&b'T'))
}
