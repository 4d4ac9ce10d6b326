//! The paragraph that tells a model what a server offers.

use crate::snapshot::{Snapshot, after_scheme};

/// The most skills that the paragraph names.
const NAMED: usize = 12;

/// Describes a snapshot's listed skills; `skills/get` answers every URI that the text names.
pub(crate) fn describe(snapshot: &Snapshot) -> String {
    let count = snapshot.listed_skills().len();
    let Some(first) = snapshot.listed_skills().iter().next() else {
        return "This server offers Agent Skills over the MCP Skills extension; its listing is \
                empty, but a skill known by its URI can be read."
            .to_owned();
    };
    let named: Vec<&str> = snapshot
        .listed_skills()
        .iter()
        .take(NAMED)
        .map(|skill| after_scheme(skill.uri.root().as_str()))
        .collect();
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    let noun = if count == 1 { "Agent Skill" } else { "Agent Skills" };
    format!(
        "This server offers {count} {noun}: {}{more}. A skill is a set of instructions and files \
         for one kind of task. `skills/list` gives the description of each, and `resources/read` \
         reads it, for example `{}`; load a skill before doing the task it describes.",
        named.join(", "),
        first.uri,
    )
}
