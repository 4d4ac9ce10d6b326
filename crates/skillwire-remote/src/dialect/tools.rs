//! Tools that return skills: the host mentions them to the user and does nothing else with them.
//!
//! The output of a tool has no identity and no digests, so it never becomes a skill.

use serde::Deserialize;
use skillwire_client::ServerDescription;
use skillwire_dialects::hands_out_skills;
use skillwire_protocol::{NextPage, PageLimits, Pager, method};

use super::{SkillServer, detection::declares};

/// The most tools that the host looks at.
const LIMITS: PageLimits = PageLimits::new(5, 5_000);

#[derive(Deserialize)]
struct ToolsPage {
    tools: Vec<ListedTool>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct ListedTool {
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
    let mut pager = Pager::new(LIMITS);
    loop {
        // The user did not ask for tools, so a failed request is not reported.
        let answer = server.ask(method::TOOLS_LIST, pager.params()).await;
        let Ok(answer) = answer else { break };
        let Ok(page) = answer.read::<ToolsPage>() else { break };
        let names = page.tools.iter().filter(|tool| hands_out_skills(&tool.name));
        found.extend(names.map(|tool| format!("`{}`", tool.name)));
        if pager.received(page.tools.len(), page.next) != NextPage::Ask {
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
