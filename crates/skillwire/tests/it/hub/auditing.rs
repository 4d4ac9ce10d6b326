//! Who read what.

use serde_json::{Value, json};

use super::TestHub;
use crate::support::{HttpServer, TEST_TIMEOUT};

/// The reads of a content that the log has, once it has as many as expected.
async fn reads_of(hub: &TestHub, content: &str, expected: usize, more: &[&str]) -> Vec<Value> {
    let arguments =
        [&["hub", "audit", "--content", content, "--action", "read", "--json"], more].concat();
    let start = std::time::Instant::now();
    loop {
        let events = hub.run(&arguments).await.assert_exit(0).json();
        let events = events.as_array().unwrap().clone();
        if events.len() >= expected || start.elapsed() > TEST_TIMEOUT {
            return events;
        }
    }
}

/// Stops a hub as an operator does, and returns its log.
async fn stop(server: HttpServer) -> String {
    server.process.signal("TERM");
    server.process.wait().await.assert_exit(0).stderr
}

#[tokio::test]
async fn who_read_a_content_between_two_moments_is_in_the_log() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "one");
    let content = hub.publish("refunds").await["version"]["content"].clone();
    let content = content.as_str().unwrap();
    hub.run(&["hub", "namespace", "grant", "acme", "ana", "reader"]).await.assert_exit(0);
    let ana = hub.new_token("ana", &["--scope", "read"]).await;
    let last = hub.run(&["hub", "audit", "--limit", "1", "--json"]).await.assert_exit(0).json();
    let before = last[0]["at"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        let read = hub.read("/mcp", &ana, "skill://acme/refunds/a").await;
        assert_eq!(read["result"]["contents"][0]["text"], "one");
    }
    // By number, by a tool, and by the API.
    hub.read("/mcp", &ana, "skill://acme/_v/1.0.0/refunds/SKILL.md").await;
    let path = "/skills/acme/refunds/versions/1.0.0/files/a";
    assert_eq!(hub.api("GET", path, b"").await.status, 200);
    // A read that is refused is none.
    hub.read("/mcp", &ana, "skill://acme/refunds/nothing").await;
    let mut counted = 0;
    let start = std::time::Instant::now();
    let mut events = Vec::new();
    while counted < 5 {
        assert!(start.elapsed() < TEST_TIMEOUT, "{events:?}");
        events = reads_of(&hub, content, 1, &["--since", &before]).await;
        let count = |event: &Value| {
            let details: Value = serde_json::from_str(event["details"].as_str().unwrap()).unwrap();
            let files = details["files"].as_object().unwrap();
            files.values().map(|count| count.as_u64().unwrap()).sum::<u64>()
        };
        counted = events.iter().map(count).sum();
    }
    assert_eq!(counted, 5, "{events:?}");
    assert!(events.iter().all(|event| event["target"] == "acme/refunds@1.0.0"), "{events:?}");
    let by = |actor: &str| events.iter().filter(|event| event["actor"] == actor).count();
    assert!(by("ana") >= 2 && by("admin") == 1, "{events:?}");
    let until = ["--until", before.as_str()];
    assert!(reads_of(&hub, content, 0, &until).await.is_empty());
}

#[tokio::test]
async fn the_log_of_a_skill_has_what_happened_to_its_versions() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").skill("refunds-more");
    hub.publish("refunds").await;
    hub.publish("refunds-more").await;
    hub.read("/mcp", &hub.token, "skill://acme/refunds/SKILL.md").await;
    let revoke = ["hub", "revoke", "acme/refunds@1.0.0", "--reason", "leaked key"];
    hub.run(&revoke).await.assert_exit(0);
    let TestHub { folder, server, .. } = hub;
    let log = stop(server).await;
    let actions = async |skill: &str| {
        let audit = ["hub", "audit", "--hub", "hub", "--skill", skill, "--json"];
        let events = crate::support::run(&folder, &audit).await.assert_exit(0).json();
        let mut actions: Vec<String> = events
            .as_array()
            .unwrap()
            .iter()
            .map(|event| format!("{} {}", event["action"], event["target"]).replace('"', ""))
            .collect();
        actions.sort();
        actions
    };
    let of_version = ["publish", "read", "transition"].map(|it| format!("{it} acme/refunds@1.0.0"));
    assert_eq!(actions("acme/refunds@1.0.0").await, of_version, "{log}");
    let of_skill = [&["move-channel acme/refunds".to_owned()], &of_version[..]].concat();
    assert_eq!(actions("acme/refunds").await, of_skill);
    let lunch = ["hub", "audit", "--hub", "hub", "--action", "lunch"];
    crate::support::run(&folder, &lunch).await.assert_refused(2, "`publish`, `transition`");
}

#[tokio::test]
async fn a_hub_that_stops_writes_the_reads_that_waited() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    let content = hub.publish("refunds").await["version"]["content"].clone();
    hub.read("/mcp", &hub.token, "skill://acme/refunds/SKILL.md").await;
    let TestHub { folder, server, .. } = hub;
    let log = stop(server).await;
    let arguments =
        ["hub", "audit", "--hub", "hub", "--content", content.as_str().unwrap(), "--json"];
    let events = crate::support::run(&folder, &arguments).await.assert_exit(0).json();
    assert_eq!(events[0]["action"], "read", "{events} {log}");
}

#[tokio::test]
async fn reads_are_not_recorded_where_the_operator_wants_none() {
    let hub = TestHub::configured(|text| text.replace("reads = \"all\"", "reads = \"off\"")).await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.read("/mcp", &hub.token, "skill://acme/refunds/SKILL.md").await;
    let TestHub { folder, server, .. } = hub;
    stop(server).await;
    let arguments = ["hub", "audit", "--hub", "hub", "--action", "read", "--json"];
    let events = crate::support::run(&folder, &arguments).await.assert_exit(0).json();
    assert_eq!(events, json!([]));
}

#[tokio::test]
async fn the_chain_of_a_log_is_checked_on_request() {
    let hub = TestHub::start().await;
    hub.run(&["hub", "audit", "--verify"]).await.assert_exit(0);
    let TestHub { folder, server, .. } = hub;
    stop(server).await;
    let check = ["hub", "audit", "--verify", "--hub", "hub", "--json"];
    let checked = crate::support::run(&folder, &check).await.assert_exit(0).json();
    assert!(checked["events"].as_u64().unwrap() > 1 && checked.get("broken_at").is_none());
}
