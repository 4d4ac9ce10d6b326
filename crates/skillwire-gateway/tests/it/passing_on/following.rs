//! Changes that servers announce, and that the gateway announces to its clients.

use serde_json::{Value, json};
use skillwire_testkit::{HostileServer, modern_headers, modern_request};

use super::support::Gateway;

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";
const X: &str = "skill://refunds/x";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("x", "x")]).dynamic_skill("live", [("x", "x")])
}

/// Subscribes to everything and returns the stream, past its acknowledgment.
async fn listen(gateway: &Gateway, uris: &[&str]) -> skillwire_testkit::HttpConnection {
    let params = json!({ "notifications": {
        "resourcesListChanged": true, "resourceSubscriptions": uris,
    } });
    let body = modern_request(1, "subscriptions/listen", params).to_string();
    let mut connection = gateway.server.connect().await;
    let headers = modern_headers("subscriptions/listen");
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    assert_eq!(connection.head().await.unwrap().0, 200);
    let acknowledged = connection.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    connection
}

/// Reads notifications until one of each has come.
async fn hears(stream: &mut skillwire_testkit::HttpConnection, mut wanted: Vec<(&str, Value)>) {
    while !wanted.is_empty() {
        let event = stream.event().await.unwrap();
        let text = event.to_string();
        assert!(!text.contains("skill://refunds"), "{text}");
        wanted.retain(|(method, uri)| {
            event["method"] != *method || event["params"].get("uri").unwrap_or(&Value::Null) != uri
        });
    }
}

#[tokio::test]
async fn a_changed_listing_is_told_under_rewritten_uris_gw_25() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    // The first listing may be cached, and the cached page must not outlive the change.
    gateway.uris().await;
    let mut stream = listen(&gateway, &[REFUNDS, "skill://acme/refunds/x"]).await;
    server.rotate(X, "newer");
    server.set_skill("more", [("x", "x")]);
    server.notify_list_changed();
    hears(
        &mut stream,
        vec![
            ("notifications/resources/list_changed", Value::Null),
            ("notifications/resources/updated", json!(REFUNDS)),
            ("notifications/resources/updated", json!("skill://acme/refunds/x")),
        ],
    )
    .await;
    assert_eq!(gateway.uris().await.len(), 3);
    assert_eq!(gateway.text("skill://acme/refunds/x").await, "newer");
}

#[tokio::test]
async fn one_changed_skill_is_asked_for_alone_gw_25() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    // The gateway subscribes to the listing first, and then to the skills in it.
    server.wait_for("subscriptions/listen", 2).await;
    let mut stream = listen(&gateway, &[REFUNDS]).await;
    server.rotate(X, "newer");
    server.notify_updated("skill://refunds/SKILL.md");
    hears(&mut stream, vec![("notifications/resources/updated", json!(REFUNDS))]).await;
    assert_eq!(gateway.text("skill://acme/refunds/x").await, "newer");
    assert_eq!(server.count("skills/list"), 1);
    assert_eq!(server.count("skills/get"), 1);
}

#[tokio::test]
async fn content_without_digests_changes_when_its_server_says_so_gw_25() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.wait_for("subscriptions/listen", 2).await;
    let live = "skill://acme/live/SKILL.md";
    let mut stream = listen(&gateway, &[live]).await;
    server.notify_updated("skill://live/SKILL.md");
    hears(&mut stream, vec![("notifications/resources/updated", json!(live))]).await;
}

#[tokio::test]
async fn a_skill_that_is_gone_is_gone_here_gw_25() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.remove("skill://refunds/SKILL.md");
    server.notify_list_changed();
    gateway.until_listed(|skills| skills.len() == 1).await;
    assert_eq!(gateway.read("skill://acme/refunds/x").await.code(), -32602);
}

#[tokio::test]
async fn the_subscription_to_the_listing_is_never_replaced_gw_25() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.wait_for("subscriptions/listen", 2).await;
    server.set_skill("more", [("x", "x")]);
    server.notify_list_changed();
    gateway.until_listed(|skills| skills.len() == 3).await;
    server.wait_for("subscriptions/listen", 3).await;
    let wanted = |(listing, names): (bool, &[&str])| {
        let uris: Vec<String> =
            names.iter().map(|name| format!("skill://{name}/SKILL.md")).collect();
        json!({ "resourcesListChanged": listing, "resourceSubscriptions": uris })
    };
    let subscriptions: Vec<Value> = server
        .log()
        .into_iter()
        .filter(|logged| logged.method == "subscriptions/listen")
        .map(|logged| logged.params["notifications"].clone())
        .collect();
    let expected: [(bool, &[&str]); 3] =
        [(true, &[]), (false, &["live", "refunds"]), (false, &["live", "more", "refunds"])];
    assert_eq!(subscriptions, expected.map(wanted));
}
