//! Tools that return skills: the host mentions them to the user and does nothing else with them.
//!
//! The output of a tool has no identity and no digests, so it never becomes a skill.

use serde::Deserialize;
use skillwire_client::ServerDescription;
use skillwire_protocol::{cursor_params, method};

use super::{SkillServer, ladder::declares};

/// Names of tools that return skills.
const NAMES: [&str; 8] = [
    "find_skill",
    "list_repo_skills",
    "list_skills",
    "load_skill",
    "read_skill",
    "skill",
    "skill-resource",
    "use_skill",
];

/// The most pages of tools that the host looks at.
const MOST_PAGES: usize = 5;

#[derive(Deserialize)]
struct Page {
    tools: Vec<Tool>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

/// Returns a sentence about a server's tools that return skills, if it has any.
pub(super) async fn that_hand_out_skills<S: SkillServer>(
    server: &S,
    description: &ServerDescription,
) -> Option<String> {
    if !declares(description, "tools") {
        return None;
    }
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        // The user did not ask for tools, so a failed request is not reported.
        let answer = server.ask(method::TOOLS_LIST, cursor_params(cursor.as_deref())).await;
        let Ok(answer) = answer else { break };
        let Ok(page) = answer.read::<Page>() else { break };
        let names = page.tools.iter().filter_map(|tool| {
            NAMES.into_iter().find(|name| *name == tool.name).map(|name| format!("`{name}`"))
        });
        found.extend(names);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => None,
        [tool] => Some(format!(
            "Its tool {tool} seems to hand out skills; what it returns is output of a tool, which \
             nothing here verifies or approves."
        )),
        tools => Some(format!(
            "Its tools {} seem to hand out skills; what they return is output of tools, which \
             nothing here verifies or approves.",
            tools.join(", ")
        )),
    }
}
