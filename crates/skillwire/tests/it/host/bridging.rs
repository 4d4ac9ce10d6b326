//! `skillwire bridge` and `skillwire search`: skills of servers and folders for a client that knows
//! only tools and prompts.

use serde_json::{Value, json};
use skillwire_testkit::{initialize_params, legacy_request};

use super::user::{TestUser, refunds};
use crate::support::{HttpServer, StdioServer};

/// Calls a tool over pipes and returns its result.
async fn call(bridge: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    bridge.modern("tools/call", params).await.result().clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_skill_is_refused_approved_in_a_terminal_and_loaded() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let refused = call(&mut bridge, "load_skill", json!({ "name": "acme:refunds" })).await;
    assert_eq!(refused["isError"], true);
    let home = user.home.join("sw");
    let command = format!(
        "`SKILLWIRE_HOME={} skillwire approve acme:skill://acme/refunds/SKILL.md`",
        home.display()
    );
    assert!(text(&refused).contains(&command), "{refused}");
    user.approve("acme:refunds").await;
    let loaded = call(&mut bridge, "load_skill", json!({ "name": "acme:refunds" })).await;
    assert!(text(&loaded).contains("Origin: MCP server acme"), "{loaded}");
    // A client that knows the extension can use the extension's own methods.
    bridge.until_listed(&["skill://acme/acme/refunds/SKILL.md"]).await;
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn the_first_answer_names_the_skills_of_folders_and_servers() {
    let (user, skills) = (TestUser::new(), refunds());
    user.home.skill(".agents/skills/notes");
    user.add_folder_server("acme", &skills).await;
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let opened =
        bridge.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let instructions = opened.result()["instructions"].as_str().unwrap();
    for part in ["`local:notes`", "`acme:refunds`", "does not control this client's other tools"] {
        assert!(instructions.contains(part), "{part} in {instructions}");
    }
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_skill_that_is_put_into_a_folder_becomes_known() {
    let user = TestUser::new();
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let listed = call(&mut bridge, "list_skills", json!({})).await;
    assert!(text(&listed).starts_with("0 skills found."), "{listed}");
    user.home.skill(".agents/skills/notes");
    while !text(&call(&mut bridge, "list_skills", json!({})).await).contains("- local:notes ") {}
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn over_http_it_wants_a_token_and_a_loopback_address() {
    let user = TestUser::new();
    user.home.file("work/token", "0123456789abcdef\n");
    user.home.file("work/short", "0123\n");
    user.run(&["bridge", "--http", "127.0.0.1:0"]).await.assert_exit(2);
    let elsewhere = ["bridge", "--http", "0.0.0.0:0", "--token-file", "token"];
    user.run(&elsewhere).await.assert_refused(8, "acts with one user's");
    let short = ["bridge", "--http", "127.0.0.1:0", "--token-file", "short"];
    user.run(&short).await.assert_refused(2, "at least 16 characters");
    let open = ["bridge", "--http", "127.0.0.1:0", "--token-file", "token"];
    let bridge = HttpServer::start(user.command(&open)).await;
    let asked = bridge.request(&[], "tools/list", json!({})).await;
    assert_eq!(asked.status, 401);
    let token = [("Authorization", "Bearer 0123456789abcdef")];
    assert_eq!(bridge.request(&token, "tools/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn search_finds_by_words_of_every_origin() {
    let (user, skills) = (TestUser::new(), refunds());
    user.home.skill(".agents/skills/notes");
    user.add_folder_server("acme", &skills).await;
    let found = user.run_json(&["search", "refund", "--json"]).await;
    assert_eq!(found["skills"][0]["handle"], "acme:refunds");
    assert_eq!(found["skills"].as_array().unwrap().len(), 1, "{found}");
    let shown = user.run_ok(&["search", "notes"]).await;
    assert!(shown.starts_with("local:notes  approved\n"), "{shown}");
}
