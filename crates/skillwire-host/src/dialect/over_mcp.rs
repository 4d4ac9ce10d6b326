//! `skill://index`, a list of skills whose other files are documents.

use serde_json::Value;
use skillwire_core::{
    RelPath,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{FetchRoute, Offer, Origin, Promise, Refusal, UnreadSkill};

use super::{
    Dialect,
    found::{Found, uri_of_name},
    skilljack::bare_name,
};

/// Where the list is.
pub(super) const INDEX: &str = "skill://index";

/// A resource that only this dialect has.
pub(super) const PROMPT: &str = "skill://prompt-xml";

/// Reads the list: a bare array, or the object that some servers put there.
pub(super) fn read(
    origin: &Origin,
    text: &str,
    most: usize,
) -> Result<Vec<Result<UnreadSkill, Refusal>>, String> {
    let limits = JsonLimits { depth: 24, nodes: 40 * most };
    // Strict reading is for objects, and a list is one member of an object.
    let is_list = text.trim_ascii_start().starts_with('[');
    let wrapped = if is_list { format!("{{\"skills\":{text}}}") } else { text.to_owned() };
    let document = strict_json::object(&wrapped, limits).map_err(|error| error.to_string())?;
    let skills = document.get("skills").and_then(Value::as_array).ok_or("no list of skills")?;
    if skills.len() > most {
        return Err(format!("{} entries", skills.len()));
    }
    Ok(skills.iter().map(|entry| skill(origin, entry)).collect())
}

fn skill(origin: &Origin, entry: &Value) -> Result<UnreadSkill, Refusal> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let address = text("uri").unwrap_or_default();
    let name = text("name").or_else(|| bare_name(address)).unwrap_or_default();
    let documents =
        text("documentsUri").map_or_else(|| format!("{address}/documents"), str::to_owned);
    let uri = uri_of_name(name);
    let route = FetchRoute::Documents(address.to_owned(), documents);
    let found = Found { uri: &uri, name, description: text("description"), frontmatter: None };
    found.listed(origin, Offer::new(Dialect::SkillsOverMcp, route))
}

/// Finds a file among the documents of a skill: where it is read, and what is promised about it.
pub(super) fn document(text: &str, address: &str, path: &RelPath) -> Option<(String, Promise)> {
    let document = strict_json::object(text, JsonLimits { depth: 8, nodes: 10_000 }).ok()?;
    let documents = document.get("documents").and_then(Value::as_array)?;
    let found = documents
        .iter()
        .find(|document| document.get("path").and_then(Value::as_str) == Some(path.as_str()))?;
    let uri = found.get("uri").and_then(Value::as_str)?;
    // Only what lies below the skill's own address is one of its documents.
    uri.strip_prefix(address)?.strip_prefix("/document/").filter(|rest| !rest.contains(".."))?;
    let size = found.get("size").and_then(Value::as_u64);
    Some((uri.to_owned(), Promise { digest: None, size }))
}

/// Tells whether content is an error in disguise: this dialect answers failures with text.
pub(super) fn is_error(bytes: &[u8]) -> bool {
    bytes.starts_with(b"# Error")
}
