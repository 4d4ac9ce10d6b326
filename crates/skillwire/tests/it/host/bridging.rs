//! `skillwire bridge` and `skillwire search`: skills of servers and folders for a client that knows
//! only tools and prompts.

use serde_json::{Value, json};
use skillwire_testkit::{initialize_params, legacy_request};

use super::user::{TestUser, refunds};
use crate::support::{HttpServer, StdioServer, TEST_TIMEOUT};

/// Calls a tool over pipes and returns its result.
async fn call(bridge: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    bridge.modern("tools/call", params).await.result().clone()
}

/// Calls `list_skills` until its answer is the expected one.
async fn until_listing(bridge: &mut StdioServer, is_expected: impl Fn(&str) -> bool) {
    let listed =
        async { while !is_expected(text(&call(bridge, "list_skills", json!({})).await)) {} };
    tokio::time::timeout(TEST_TIMEOUT, listed).await.expect("the listing changes in time");
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
    let command = format!("`SKILLWIRE_HOME={} skillwire approve acme:refunds`", home.display());
    assert!(text(&refused).contains(&command), "{refused}");
    user.approve("acme:refunds").await;
    let loaded = call(&mut bridge, "load_skill", json!({ "name": "acme:refunds" })).await;
    assert!(text(&loaded).contains("Origin: MCP server acme"), "{loaded}");
    // A client that knows the extension can use the extension's own methods.
    bridge.until_listed(&["skill://acme/acme/refunds/SKILL.md"]).await;
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn the_first_answer_names_each_skill_of_folders_and_servers_once_fu_21() {
    let (user, skills) = (TestUser::new(), refunds());
    user.home.skill(".agents/skills/notes");
    user.add_folder_server("acme", &skills).await;
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let opened =
        bridge.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let instructions = opened.result()["instructions"].as_str().unwrap();
    assert!(instructions.contains("does not control this client's other tools"), "{instructions}");
    assert!(!instructions.contains("skills/list"), "models call no methods: {instructions}");
    let tools = bridge.request(&legacy_request(1, "tools/list", json!({}))).await;
    let tools = tools.result()["tools"].as_array().unwrap();
    let load = tools.iter().find(|tool| tool["name"] == "load_skill").unwrap();
    let description = load["description"].as_str().unwrap();
    for part in ["- local:notes: ", "- acme:refunds: "] {
        assert_eq!(description.matches(part).count(), 1, "{part} in {description}");
        assert!(!instructions.contains(part), "fu_21: {instructions}");
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
    until_listing(&mut bridge, |listing| listing.contains("- local:notes:")).await;
    bridge.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_change_behind_a_link_in_a_folder_becomes_known_rs_02() {
    let user = TestUser::new();
    user.home.skill("work/notes");
    user.home.skill("work/team/first");
    user.home.directory(".agents/skills");
    for name in ["notes", "team"] {
        let link = user.home.join(&format!(".agents/skills/{name}"));
        std::os::unix::fs::symlink(user.home.join(&format!("work/{name}")), link).unwrap();
    }
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    until_listing(&mut bridge, |text| text.contains("local:notes:") && text.contains("first:"))
        .await;
    user.home.file(
        "work/notes/SKILL.md",
        "---\nname: notes\ndescription: Use when linked texts change.\n---\n",
    );
    until_listing(&mut bridge, |text| text.contains("linked texts change")).await;
    user.home.skill("work/team/second");
    until_listing(&mut bridge, |text| text.contains("second:")).await;
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

#[tokio::test]
async fn a_server_that_is_added_or_removed_later_is_followed_p_21() {
    let (user, skills) = (TestUser::new(), refunds());
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let listed = call(&mut bridge, "list_skills", json!({})).await;
    assert!(text(&listed).starts_with("0 skills found."), "{listed}");
    user.add_folder_server("acme", &skills).await;
    until_listing(&mut bridge, |listing| listing.contains("- acme:refunds")).await;
    user.approve("acme:refunds").await;
    let loaded = call(&mut bridge, "load_skill", json!({ "name": "acme:refunds" })).await;
    assert!(text(&loaded).contains("Origin: MCP server acme"), "{loaded}");
    bridge.until_listed(&["skill://acme/acme/refunds/SKILL.md"]).await;
    user.run_ok(&["server", "remove", "acme", "--yes"]).await;
    until_listing(&mut bridge, |listing| listing.starts_with("0 skills found.")).await;
    bridge.until_listed(&[]).await;
    bridge.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn on_a_terminal_the_bridge_says_what_it_is_and_how_to_add_it_fu_21() {
    let user = TestUser::new();
    let mut bridge = user.start_on_terminal(&["bridge"]);
    let said = bridge.wait_for_screen("Ctrl-C ends it.").await;
    assert!(said.contains("claude mcp add --scope user skillwire -- skillwire bridge"), "{said}");
    // Ctrl-D ends the input.
    bridge.type_line("\u{4}");
    assert_eq!(bridge.wait().await, Some(0));
}
