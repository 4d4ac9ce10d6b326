//! The text of a skill that is searched.

use serde_json::{Map, Value};

/// How many fields of a skill are searched.
pub(crate) const FIELDS: usize = 4;

/// How much a word counts in each field: name, tags, description, context.
pub(crate) const FIELD_BOOSTS: [f64; FIELDS] = [4.0, 2.0, 1.0, 0.5];

/// The text of a skill that is searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillText {
    name: String,
    tags: String,
    description: String,
    /// Where the skill comes from, and the headings of its `SKILL.md`.
    context: String,
}

impl SkillText {
    /// Takes the text from a skill's name, the place where it is found (a handle or a path) and its
    /// frontmatter: its description, and its tags, which may also be under `metadata`.
    pub fn new(name: &str, place: &str, frontmatter: &Map<String, Value>) -> Self {
        let in_metadata = frontmatter.get("metadata").and_then(|metadata| metadata.get("tags"));
        let tags = frontmatter.get("tags").or(in_metadata);
        let description = frontmatter.get("description").and_then(Value::as_str);
        Self {
            name: name.to_owned(),
            tags: tags.map(Value::to_string).unwrap_or_default(),
            description: description.unwrap_or_default().to_owned(),
            context: place.to_owned(),
        }
    }

    /// Adds the headings of the skill's `SKILL.md`, one on each line.
    #[must_use]
    pub fn with_headings(mut self, headings: &str) -> Self {
        self.context.push('\n');
        self.context.push_str(headings);
        self
    }

    /// The fields, in the order of [`FIELD_BOOSTS`].
    pub(crate) fn fields(&self) -> [&str; FIELDS] {
        [&self.name, &self.tags, &self.description, &self.context]
    }
}
