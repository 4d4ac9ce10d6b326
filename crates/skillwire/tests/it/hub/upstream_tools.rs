//! Tools of a followed server beside its reviewed skills: none of them hands out what was not reviewed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::TestHub;
use crate::support::{HttpServer, skill_with};

/// What the upstream lists after the review.
const CHANGED: &str = "Not reviewed.";

/// The upstream's own tools that hand out skills, and the arguments with which each is called.
fn skill_tools() -> [(&'static str, Value); 4] {
    [
        ("list_skills", json!({})),
        ("search_skills", json!({"query": "refunds"})),
        ("load_skill", json!({"name": "refunds"})),
        ("read_skill_file", json!({"name": "refunds", "path": "notes.md"})),
    ]
}

/// The names of the tools of a mount.
async fn tools(hub: &TestHub, mount: &str) -> Vec<String> {
    let reply = hub.mcp(mount, &hub.token, "tools/list", json!({})).await.message();
    let tools = reply.result()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn call(hub: &TestHub, mount: &str, name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    hub.mcp(mount, &hub.token, "tools/call", params).await.message().0.to_string()
}

#[tokio::test]
async fn no_tool_of_a_reviewed_upstream_hands_out_skills_in_place_of_the_hub_gw_16() {
    for mode in ["pin", "admit"] {
        let hub = TestHub::start().await;
        // The skill itself asks for the tools, and the operator names every tool.
        let asks = "allowed-tools: load_skill, read_skill_file, search_skills\n";
        let write = |words: &str, notes: &str| {
            let text = skill_with("refunds", asks).replace("Does refunds.", words) + words;
            hub.folder.file("up/refunds/SKILL.md", text);
            hub.folder.file("up/refunds/notes.md", notes);
        };
        write("Reviewed.\n", "one\n");
        let upstream = HttpServer::serve(&hub.folder, &["up"]).await;
        let url = format!("http://{}/mcp", upstream.address);
        let add = ["hub", "upstream", "add", "docs", &url, "--mode", mode];
        let open = ["--tool", "*", "--resource", "**"];
        hub.run(&[&add[..], &open].concat()).await.assert_exit(0);
        let id = next_review(&hub).await;
        hub.run(&["hub", "review", "approve", &id, "--reason", "read it"]).await.assert_exit(0);
        let own = "/mcp/u/docs";
        until(async || {
            call(&hub, own, "load_skill", &json!({"name": "refunds"})).await.contains("Reviewed.")
        })
        .await;
        write(&format!("{CHANGED}\n"), CHANGED);
        next_review(&hub).await;
        for (mount, prefix) in [(own, ""), ("/mcp", "docs__")] {
            let listed = tools(&hub, mount).await;
            for (name, arguments) in skill_tools() {
                let named = format!("{prefix}{name}");
                // At the upstream's own address the name is the hub's.
                assert_eq!(listed.contains(&named), prefix.is_empty(), "{mode} {mount} {listed:?}");
                let said = call(&hub, mount, &named, &arguments).await;
                assert!(!said.contains(CHANGED), "{mode} {mount} {named}: {said}");
                let unknown = said.contains("There is no tool");
                assert_eq!(unknown, !prefix.is_empty(), "{mode} {mount} {named}: {said}");
            }
        }
        let said = call(&hub, own, "load_skill", &json!({"name": "refunds"})).await;
        assert_eq!(said.contains("Reviewed."), mode == "pin", "{mode}: {said}");
    }
}

/// Waits until a check holds.
async fn until(check: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !check().await {
        assert!(start.elapsed().as_secs() < 30, "it never comes to be so");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until one review waits, and returns its number.
async fn next_review(hub: &TestHub) -> String {
    let start = Instant::now();
    loop {
        let waiting = hub.run(&["hub", "review", "--json"]).await.assert_exit(0).json();
        if let Some(review) = waiting.as_array().and_then(|all| all.first()) {
            return review["id"].to_string();
        }
        assert!(start.elapsed().as_secs() < 30, "no content ever waits");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
