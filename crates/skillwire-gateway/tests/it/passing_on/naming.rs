//! Skills that clients ask for by URI: unlisted ones, and those under their server's own URI.

use serde_json::json;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};

use super::support::{Gateway, Plan};

#[tokio::test]
async fn a_skill_that_no_listing_mentions_is_asked_for_and_then_served_gw_11() {
    let server = HostileServer::new().skill("refunds", [("x.md", "Details.")]);
    let server = server.fault(Fault::ListsNothing);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.uris().await, [""; 0]);
    assert_eq!(gateway.read("skill://acme/refunds/x.md").await.code(), -32602);
    let reply = gateway.get("skill://acme/refunds/SKILL.md").await;
    assert_eq!(reply.result()["skill"]["uri"], "skill://acme/refunds/SKILL.md");
    // After a client has named the skill, its files can be read, and it is still not listed.
    assert_eq!(gateway.text("skill://acme/refunds/x.md").await, "Details.");
    assert_eq!(gateway.uris().await, [""; 0]);
    let listed = gateway.server.call("resources/list", json!({})).await;
    assert_eq!(listed["resources"], json!([]));
    // While the skill is known, the gateway does not ask the server again.
    gateway.get("skill://acme/refunds/SKILL.md").await.result();
    assert_eq!(server.count("skills/get"), 1);
}

#[tokio::test]
async fn only_the_server_that_is_named_is_asked_gw_11() {
    let one = HostileServer::new();
    let two = HostileServer::new().skill("refunds", [("x", "x")]).fault(Fault::ListsNothing);
    let gateway = Plan::default().start(&[("one", &one), ("two", &two)]).await;
    assert_eq!(gateway.get("skill://one/refunds/SKILL.md").await.code(), -32602);
    assert_eq!(gateway.get("skill://three/refunds/SKILL.md").await.code(), -32602);
    assert_eq!((one.count("skills/get"), two.count("skills/get")), (1, 0));
    gateway.get("skill://two/refunds/SKILL.md").await.result();
    assert_eq!((one.count("skills/get"), two.count("skills/get")), (1, 1));
}

#[tokio::test]
async fn an_entry_about_something_else_is_not_served_gw_11() {
    let server = HostileServer::new().skill("refunds", [("x", "x")]).fault(Fault::ListsNothing);
    let other = server.entry("skill://refunds/SKILL.md");
    let server =
        server.on("skills/get", move |_, _| ScriptedReply::Result(json!({ "skill": other })));
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.get("skill://acme/other/SKILL.md").await.code(), -32602);
}

#[tokio::test]
async fn content_may_call_a_skill_as_its_own_server_does_gw_06_g_04() {
    let cites = "---\nname: a\ndescription: Cites.\n---\nSee skill://team/b/SKILL.md.\n";
    let one = HostileServer::new().skill("a", [("SKILL.md", cites)]);
    let two = HostileServer::new().skill("team/b", [("x", "x")]);
    let gateway = Plan::default().start(&[("one", &one), ("two", &two)]).await;
    let reply = gateway.get("skill://team/b/SKILL.md").await;
    // The answer names the server that the skill is from.
    assert_eq!(reply.result()["skill"]["uri"], "skill://two/team/b/SKILL.md");
    assert_eq!(reply.result()["skill"]["_meta"]["dev.skillwire/upstream"]["label"], "two");
    // Only `skills/get` accepts the server's own URI; files are read under the URIs of the entry.
    assert_eq!(gateway.read("skill://team/b/SKILL.md").await.code(), -32602);
}

#[tokio::test]
async fn a_name_that_two_servers_have_is_nobodys_gw_06() {
    let one = HostileServer::new().skill("b", [("x", "1")]);
    let two = HostileServer::new().skill("b", [("x", "2")]);
    let gateway = Plan::default().start(&[("one", &one), ("two", &two)]).await;
    let reply = gateway.get("skill://b/SKILL.md").await;
    assert_eq!(reply.code(), -32602);
    for candidate in ["skill://one/b/SKILL.md", "skill://two/b/SKILL.md"] {
        assert!(reply.message().contains(candidate), "{reply:?}");
    }
    assert_eq!((one.count("skills/get"), two.count("skills/get")), (0, 0));
}

#[tokio::test]
async fn an_unlisted_skill_is_not_looked_for_everywhere_gw_06() {
    let server = HostileServer::new().skill("b", [("x", "1")]).fault(Fault::ListsNothing);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.get("skill://b/SKILL.md").await.code(), -32602);
    assert_eq!(server.count("skills/get"), 0);
}
