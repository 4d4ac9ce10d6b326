//! Skills that are addressed by name: `skills/list` and `skills/get`.

use serde_json::Value;
use skillwire_core::{
    RelPath,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{FetchRoute, Offer, Origin, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
};

/// How much of an answer is read.
pub(super) const ANSWER: JsonLimits = JsonLimits { depth: 24, nodes: 200_000 };

/// One page of `skills/list`.
pub(super) struct NamedPage {
    pub(super) names: Vec<(String, Option<String>)>,
    pub(super) next: Option<String>,
}

/// Reads one page of names.
pub(super) fn page(text: &str) -> Result<NamedPage, String> {
    let page = strict_json::object(text, ANSWER).map_err(|error| error.to_string())?;
    let skills = page.get("skills").and_then(Value::as_array).ok_or("no list `skills`")?;
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let names = skills
        .iter()
        .map(|entry| (text(entry, "name").unwrap_or_default(), text(entry, "description")))
        .collect();
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok(NamedPage { names, next })
}

/// Makes a named skill known.
pub(super) fn skill(
    origin: &Origin,
    dialect: Dialect,
    name: &str,
    description: Option<&str>,
) -> Result<UnreadSkill, Refusal> {
    let route = match dialect {
        Dialect::SkillsPage => FetchRoute::Page(name.to_owned()),
        _ => FetchRoute::ByName(name.to_owned()),
    };
    let uri = uri_of_name(name);
    let found = Found { uri: &uri, name, description, frontmatter: None };
    found.listed(origin, Offer::new(dialect, route))
}

/// Puts a `SKILL.md` together from the parts of an answer, always in the same way.
///
/// A JSON string is a YAML string as well, so nothing in a description can become another field.
pub(super) fn skill_file(name: &str, description: &str, instructions: &str) -> Vec<u8> {
    let description = Value::from(description);
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{instructions}").into_bytes()
}

/// What `skills/get` says about a skill.
pub(super) struct NamedSkill {
    pub(super) description: Option<String>,
    pub(super) instructions: String,
    /// Other files, by name, with the resource each is.
    files: Vec<(String, String)>,
}

impl NamedSkill {
    /// Reads the answer to `skills/get`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let answer = strict_json::object(text, ANSWER).map_err(|error| error.to_string())?;
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let answer = Value::Object(answer);
        let instructions = text(&answer, "instructions").ok_or("no text `instructions`")?;
        let files = answer.get("files").and_then(Value::as_array);
        let files = files
            .into_iter()
            .flatten()
            .filter_map(|file| Some((text(file, "name")?, text(file, "uri")?)))
            .collect();
        Ok(Self { description: text(&answer, "description"), instructions, files })
    }

    /// The resource that is the file at a path: its URI ends in the path, or its name is the path.
    pub(super) fn resource(&self, path: &RelPath) -> Option<&str> {
        let ends =
            |uri: &str| uri.strip_suffix(path.as_str()).is_some_and(|rest| rest.ends_with('/'));
        let mut fitting =
            self.files.iter().filter(|(name, uri)| ends(uri) || name == path.as_str());
        match (fitting.next(), fitting.next()) {
            (Some((_, uri)), None) => Some(uri),
            // None, or one of several that nobody can choose among.
            _ => None,
        }
    }
}
