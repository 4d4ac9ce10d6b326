//! `skillwire serve --upstream`: a server that passes on skills of other servers.

use serde_json::json;
use skillwire_testkit::{HostileServer, SkillFolder};

use super::user::{TestUser, refunds};
use crate::support::{HttpServer, StdioServer};

const REFUNDS: &str = "skill://shop/acme/refunds/SKILL.md";
const POLICY: &str = "skill://shop/acme/refunds/references/policy.md";

#[tokio::test]
async fn a_started_server_is_passed_on_and_ends_with_us_gw_05() {
    let (user, folder) = (TestUser::new(), refunds());
    user.add_folder_server("shop", &folder).await;
    let own = SkillFolder::with_skills(&["own"]);
    let own = own.path().to_str().unwrap();
    let mut gateway =
        StdioServer::start(user.command(&["serve", "--no-index", "--upstream", "shop", own]));
    assert_eq!(gateway.uris().await, ["skill://own/SKILL.md", REFUNDS]);
    let read = gateway.modern("resources/read", json!({ "uri": POLICY })).await;
    assert_eq!(read.result()["contents"][0]["text"], "Refund within 30 days.\n");
    // A change at the upstream server reaches the clients of this one.
    folder.skill("acme/more");
    gateway
        .until_listed(&["skill://own/SKILL.md", "skill://shop/acme/more/SKILL.md", REFUNDS])
        .await;
    gateway.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_server_that_is_away_is_told_and_the_rest_is_served_gw_10() {
    let user = TestUser::new();
    user.run_ok(&["server", "add", "dead", "http://127.0.0.1:1/mcp", "--no-connect"]).await;
    let own = SkillFolder::with_skills(&["own"]);
    let own = own.path().to_str().unwrap();
    let mut gateway =
        StdioServer::start(user.command(&["serve", "--no-index", "--upstream=dead", own]));
    gateway.process.wait_for_line("`dead` cannot be listed").await;
    assert_eq!(gateway.uris().await, ["skill://own/SKILL.md"]);
    gateway.close().await.assert_exit(0);
}

#[tokio::test]
async fn an_unknown_label_is_a_mistake_of_the_user() {
    let user = TestUser::new();
    let words = "`--upstream shop`: no server has this label.";
    user.run(&["serve", "--upstream", "shop"]).await.assert_refused(2, words);
    let words = "`--upstream ../x`: no server has this label.";
    user.run(&["serve", "--upstream", "../x"]).await.assert_refused(2, words);
}

#[tokio::test]
async fn what_comes_through_passes_every_check_of_a_host_gw_18() {
    let user = TestUser::new();
    let server = HostileServer::new()
        .skill("acme/refunds", [("references/policy.md", "Within 30 days."), ("a.bin", "\u{0}")])
        .skill("pdf", [("x", "x")]);
    let listening = server.http().await;
    user.add_http_server("shop", &listening).await;
    let gateway =
        HttpServer::start(user.command(&["serve", "--http", "127.0.0.1:0", "--upstream", "shop"]))
            .await;
    let url = format!("http://{}/mcp", gateway.address);
    user.run_ok(&["server", "add", "front", &url, "--no-connect"]).await;
    let passes = "2 skills listed, 5 files as promised: 0 errors, 0 warnings.\n";
    assert_eq!(user.run_ok(&["verify", "front"]).await, passes);
    user.approve("front:refunds").await;
    let loaded = user.run_ok(&["load", "front:refunds"]).await;
    assert!(loaded.contains("# refunds"), "{loaded}");
}
