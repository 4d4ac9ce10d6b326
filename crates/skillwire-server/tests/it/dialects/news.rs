//! Notifications of changes, for each dialect.

use serde_json::{Value, json};
use skillwire_testkit::{StdioClient, initialize_params, legacy_request, modern_request};

use super::fixture;
use crate::{peers::legacy_stream, support::text};

/// Reads events up to and including one about a file, as method and URI.
async fn hear(stream: &mut skillwire_testkit::HttpConnection, last: &str) -> Vec<(String, Value)> {
    let mut heard = Vec::new();
    loop {
        let event = stream.event().await.expect("an event");
        let uri = event["params"].get("uri").cloned().unwrap_or_default();
        heard.push((text(&event["method"]), uri.clone()));
        if uri == last || (last.is_empty() && heard.len() == 2) {
            return heard;
        }
    }
}

#[tokio::test]
async fn legacy_hears_both_lists_and_each_followed_alias_c_30_c_31() {
    let every = ["skilljack=on", "skills-over-mcp=on"];
    let (folder, mut legacy) = fixture(&every).await;
    let followed = [
        "skill://",
        "skill://acme/billing/refunds/_manifest",
        "skill://acme/billing/refunds/examples/email.md",
        "skill://git-workflow",
        "skill://index.json",
        "skill://refunds",
        "skill://refunds/",
        "skill://refunds/examples/email.md",
    ];
    for uri in followed {
        legacy.call("resources/subscribe", json!({ "uri": uri })).await;
    }
    let unknown = json!({ "uri": "skill://nope" });
    assert_eq!(legacy.code("resources/subscribe", unknown).await, super::LEGACY_NOT_FOUND);
    let mut stream = legacy_stream(&legacy.server, &legacy.session).await;
    folder.file("acme/billing/refunds/examples/email.md", "Hi.\n");
    legacy.server.refresh();
    let heard = hear(&mut stream, "skill://refunds/examples/email.md").await;
    let methods: Vec<_> = heard.iter().take(4).map(|(method, _)| method.as_str()).collect();
    assert_eq!(
        methods,
        [
            "notifications/resources/list_changed",
            "notifications/skills/list_changed",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
        ]
    );
    let uris: Vec<_> = heard[4..].iter().map(|(_, uri)| text(uri)).collect();
    // Everything except the other skill, whose bytes have not changed.
    let expected: Vec<_> = followed.iter().filter(|uri| !uri.contains("git")).collect();
    assert_eq!(uris.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn without_names_there_is_no_such_notification_c_30() {
    let (folder, mut legacy) = fixture(&["sep-2076=off", "skills-page=off"]).await;
    legacy.call("resources/subscribe", json!({ "uri": "skill://index.json" })).await;
    let mut stream = legacy_stream(&legacy.server, &legacy.session).await;
    folder.skill("new");
    legacy.server.refresh();
    let heard = hear(&mut stream, "skill://index.json").await;
    let methods: Vec<_> = heard.iter().map(|(method, _)| method.as_str()).collect();
    let expected = ["notifications/resources/list_changed", "notifications/resources/updated"];
    assert_eq!(methods, expected);
}

#[tokio::test]
async fn strict_hears_of_resources_and_of_the_index_and_of_nothing_else_c_30() {
    let (folder, mut legacy) = fixture(&["skilljack=on"]).await;
    let mut client = StdioClient::in_process(legacy.server.engine());
    let wanted = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "skillsListChanged": true,
        "resourceSubscriptions": ["skill://index.json", "skill://refunds", "skill://"],
    });
    let listen = modern_request(7, "subscriptions/listen", json!({ "notifications": wanted }));
    let acknowledged = client.request(&listen).await.0;
    let honoured = &acknowledged["params"]["notifications"];
    let index = json!(["skill://index.json"]);
    assert_eq!(*honoured, json!({ "resourcesListChanged": true, "resourceSubscriptions": index }));
    folder.skill("new");
    legacy.server.refresh();
    let first = client.next().await.expect("a change");
    assert_eq!(first["method"], "notifications/resources/list_changed");
    let second = client.next().await.expect("another");
    assert_eq!(second["params"]["uri"], "skill://index.json");
    // Any other notification would arrive before this answer.
    let answer = client.request(&modern_request(8, "tools/list", json!({}))).await;
    assert_eq!(answer.0["id"], 8);
}

#[tokio::test]
async fn a_session_on_pipes_hears_of_skills_by_name_d5_d6() {
    let (folder, mut legacy) = fixture(&[]).await;
    let mut client = StdioClient::in_process(legacy.server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-11-25"))).await;
    folder.skill("new");
    legacy.server.refresh();
    for expected in ["notifications/resources/list_changed", "notifications/skills/list_changed"] {
        assert_eq!(client.next().await.expect("a change")["method"], expected);
    }
}
