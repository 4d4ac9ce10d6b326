//! The dependencies that skills declare on the server they come from.

use serde_json::{Map, Value};
use skillwire_catalog::Snapshot;
use skillwire_dialects::SkillCard;

use crate::{
    caller::Caller,
    engine::{EngineState, OwnedCall},
};

/// A dependency of a skill that its server does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The skill's URI.
    pub skill: String,
    /// `tool`, `prompt` or `resource`.
    pub kind: &'static str,
    /// The name or URI of what is missing.
    pub name: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { skill, kind, name } = self;
        write!(
            f,
            "`{skill}` depends on the {kind} `{name}`, which this server does not have. \
             Clients are not told of it; offer it, or take it out of `dependencies`."
        )
    }
}

/// Each kind of dependency: its member, and the member that holds the name in an item that is an
/// object.
const KINDS: [(&str, &str, &str); 3] =
    [("tools", "tool", "name"), ("prompts", "prompt", "name"), ("resources", "resource", "uri")];

/// Returns the dependencies of a skill that this server has; it cannot promise others.
pub(super) fn served(call: &OwnedCall, card: &SkillCard) -> Option<Value> {
    let mut declared = card.dependencies()?;
    let has = |kind: &str, name: &str| has(&call.state, &call.snapshot, &call.caller, kind, name);
    let mut kept = Map::new();
    for (member, kind, key) in KINDS {
        if let Some(Value::Array(mut items)) = declared.remove(member) {
            items.retain(|item| name(item, key).is_some_and(|name| has(kind, name)));
            kept.insert(member.to_owned(), items.into());
        }
    }
    (!kept.is_empty()).then(|| kept.into())
}

/// Lists everything that listed skills need and their server does not have; looks at every skill.
pub(crate) fn missing(state: &EngineState, snapshot: &Snapshot) -> Vec<Missing> {
    let caller = Caller::default();
    // Most skills have no dependencies; searching their text for the word is cheaper than parsing
    // it.
    let entries = snapshot.listed().map(|skill| (skill, skill.entry.text()));
    let declaring = entries.filter(|(_, entry)| entry.contains("dependencies"));
    let mut found = Vec::new();
    for (skill, entry) in declaring {
        let Some(declared) = SkillCard::of_entry(&entry).dependencies() else { continue };
        for (member, kind, key) in KINDS {
            let items = declared.get(member).and_then(Value::as_array);
            let names = items.into_iter().flatten().filter_map(|item| name(item, key));
            let absent = names.filter(|name| !has(state, snapshot, &caller, kind, name));
            found.extend(absent.map(|name| Missing {
                skill: skill.uri.to_string(),
                kind,
                name: name.to_owned(),
            }));
        }
    }
    found
}

fn name<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
    item.as_str().or_else(|| item.get(key)?.as_str())
}

fn has(state: &EngineState, snapshot: &Snapshot, caller: &Caller, kind: &str, name: &str) -> bool {
    match kind {
        "tool" => {
            state.offers.with_tool(caller, name).is_some()
                || state.config.host_tools.iter().any(|tool| tool == name)
        }
        "prompt" => state.offers.with_prompt(caller, name).is_some(),
        _ => snapshot.file(name).is_some(),
    }
}
