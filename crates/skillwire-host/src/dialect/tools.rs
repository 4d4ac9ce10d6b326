//! Tools that hand out skills: worth a word to the user, and nothing else.
//!
//! What a tool returns has no identity and no digests, so no skill comes of it.

use serde::Deserialize;
use serde_json::Value;
use skillwire_client::Client;
use skillwire_protocol::method;

use crate::{page::page_at, remote::Remote};

/// How such tools are called, as far as the name alone says it.
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

/// The most pages of tools that are looked at.
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

impl Remote {
    /// A sentence about the tools of a server that hand out skills, if it has any.
    pub(super) async fn tools_of_skills(&self, client: &Client) -> Option<String> {
        if !client.server().capabilities.get("tools").is_some_and(Value::is_object) {
            return None;
        }
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = page_at(cursor.take());
            // Nobody asked for tools: without an answer there is nothing to say about them.
            let answer = self.request(client, method::TOOLS_LIST, params, self.limits()).await;
            let Some(page) = answer.ok().and_then(|answer| answer.read::<Page>().ok()) else {
                break;
            };
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
}
