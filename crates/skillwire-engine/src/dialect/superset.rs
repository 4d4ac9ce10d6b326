//! One entry of `skills/list` for three dialects at once: no member means two things.

use serde_json::{Map, Value, json};
use skillwire_source::Skill;

use super::{card::Card, dependencies};
use crate::engine::OwnedCall;

/// The extension's entry of a skill with the members of SEP-2076 and of the "Skills" page.
pub(crate) fn entry(call: &OwnedCall, skill: &Skill, name: &str) -> String {
    let members = Value::Object(members(call, skill, name)).to_string();
    let ours = skill.entry.strip_suffix('}').unwrap_or(&skill.entry);
    // The new members come without their opening brace.
    format!("{ours},{}", &members[1..])
}

fn members(call: &OwnedCall, skill: &Skill, name: &str) -> Map<String, Value> {
    let card = Card::of(skill);
    let mut members = Map::new();
    let mut add = |key: &str, value: Value| members.insert(key.to_owned(), value);
    add("name", name.into());
    add("description", card.description().into());
    if let Some(title) = card.title() {
        add("title", title.into());
    }
    if let Some(version) = card.version() {
        add("version", version.into());
    }
    add("tags", json!(card.tags()));
    add("keywords", json!(card.keywords()));
    let arguments = card.arguments();
    if !arguments.is_empty() {
        add("arguments", arguments.iter().map(super::card::Argument::to_json).collect());
    }
    if let Some(dependencies) = dependencies::served(call, &card) {
        add("dependencies", dependencies);
    }
    if let Some(icons) = card.icons() {
        add("icons", icons);
    }
    add("annotations", card.annotations());
    members
}
