//! Members that older dialects have and the extension leaves in the frontmatter: titles, tags,
//! arguments, dependencies.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value, json};
use skillwire_core::annotations as annotations_of;

/// The priority of a skill among everything that a server lists.
pub const SKILL_PRIORITY: f64 = 0.8;

/// A skill's frontmatter, read for the members of older dialects.
///
/// Each is taken from the field of its name, or from `metadata`, whose values are texts: a list is
/// separated by commas there, and anything else is JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillCard {
    fields: Map<String, Value>,
}

/// An argument that a skill's instructions take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillArgument {
    /// The name, which stands in the instructions as `{{name}}`.
    pub name: String,
    /// Whether the instructions need it.
    pub required: bool,
    /// The author's words about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The author's words about a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileText {
    /// A title for people.
    pub title: Option<String>,
    /// What the file is for.
    pub description: Option<String>,
}

#[derive(Deserialize)]
struct CardEntry {
    frontmatter: Map<String, Value>,
    #[serde(rename = "resources")]
    _resources: IgnoredAny,
}

impl SkillCard {
    /// Reads the frontmatter out of an entry of `skills/list`.
    ///
    /// The caller wrote the entry, so it can be read; text that cannot gives an empty card.
    pub fn of_entry(entry: &str) -> Self {
        let entry = serde_json::from_str::<CardEntry>(entry);
        Self { fields: entry.map(|entry| entry.frontmatter).unwrap_or_default() }
    }

    /// Returns the description.
    pub fn description(&self) -> &str {
        self.fields.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the whole frontmatter.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns the author's own keys and values, with the licence and the compatibility.
    pub fn metadata(&self) -> Map<String, Value> {
        let own = self.fields.get("metadata").and_then(Value::as_object);
        let mut all = own.cloned().unwrap_or_default();
        for key in ["license", "compatibility"] {
            if let Some(value) = self.fields.get(key) {
                all.entry(key).or_insert_with(|| value.clone());
            }
        }
        all
    }

    /// Returns the title that clients show to the user.
    pub fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// Returns the author's version.
    pub fn version(&self) -> Option<&str> {
        self.text("version")
    }

    /// Returns the tags of the skill.
    pub fn tags(&self) -> Vec<String> {
        self.list("tags").unwrap_or_default()
    }

    /// Returns the keywords of the skill, which are its tags unless the author gives others.
    pub fn keywords(&self) -> Vec<String> {
        self.list("keywords").unwrap_or_else(|| self.tags())
    }

    /// Returns the arguments that the skill's instructions take.
    pub fn arguments(&self) -> Vec<SkillArgument> {
        let Some(Value::Array(items)) = self.json("arguments") else { return Vec::new() };
        items.iter().filter_map(argument).collect()
    }

    /// Returns the tools, prompts and resources that the skill needs, as the author wrote them.
    pub fn dependencies(&self) -> Option<Map<String, Value>> {
        match self.json("dependencies")? {
            Value::Object(dependencies) => Some(dependencies),
            _ => None,
        }
    }

    /// Pictures for people.
    pub fn icons(&self) -> Option<Value> {
        self.json("icons").filter(Value::is_array)
    }

    /// Returns the skill's audience, its priority, and when its author changed it; a skill is for
    /// the model unless its author says otherwise.
    pub fn annotations(&self) -> Value {
        let mut annotations = json!({ "audience": ["assistant"], "priority": SKILL_PRIORITY });
        for (key, value) in annotations_of(&self.fields).into_iter().flatten() {
            annotations[key] = value;
        }
        annotations
    }

    /// Returns what the author writes about a file of the skill, in `files` of the frontmatter: a
    /// text, or an object with `title` and `description`.
    pub fn file_text(&self, path: &str) -> FileText {
        let Some(Value::Object(mut files)) = self.json("files") else { return FileText::default() };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        match files.remove(path) {
            Some(Value::String(description)) => {
                FileText { title: None, description: Some(description) }
            }
            Some(file) => FileText {
                title: text(file.get("title")),
                description: text(file.get("description")),
            },
            None => FileText::default(),
        }
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

pub(crate) fn argument(item: &Value) -> Option<SkillArgument> {
    let name = item.get("name")?.as_str().filter(|name| !name.is_empty())?;
    Some(SkillArgument {
        name: name.to_owned(),
        description: item.get("description").and_then(Value::as_str).map(str::to_owned),
        required: item.get("required").and_then(Value::as_bool).unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(frontmatter: &Value) -> SkillCard {
        SkillCard::of_entry(&json!({ "frontmatter": frontmatter, "resources": [] }).to_string())
    }

    #[test]
    fn members_come_from_the_field_or_from_metadata_d5_d6() {
        let card = card(&json!({
            "description": "x", "license": "MIT", "tags": ["a", 5],
            "metadata": {
                "title": "T", "keywords": "b, ,c", "lastModified": "2026-01-15T10:30:00Z",
                "arguments": r#"[{"name":"country","required":true},{"name":""},5]"#,
                "dependencies": r#"{"tools":["t"]}"#,
            },
        }));
        assert_eq!((card.title(), card.version()), (Some("T"), None));
        assert_eq!(card.tags(), ["a"]);
        assert_eq!(card.keywords(), ["b", "c"]);
        let country = SkillArgument { name: "country".into(), required: true, description: None };
        assert_eq!(card.arguments(), [country]);
        assert_eq!(card.dependencies().unwrap()["tools"], json!(["t"]));
        assert_eq!(card.annotations()["lastModified"], "2026-01-15T10:30:00Z");
        assert_eq!(card.metadata()["license"], "MIT");
    }

    #[test]
    fn what_cannot_be_read_is_left_out_d5_d6() {
        let card = card(&json!({ "metadata": {
            "arguments": "{", "dependencies": "[]", "icons": "{}", "lastModified": "yesterday",
        } }));
        assert!(card.arguments().is_empty() && card.dependencies().is_none());
        assert!(card.icons().is_none() && card.annotations().get("lastModified").is_none());
        assert_eq!(SkillCard::of_entry("5").fields().len(), 0);
    }
}
