//! What the operator of a hub limits, records and counts.

use serde_json::Value;
use skillwire_testkit::HttpConnection;

use super::TestHub;
use crate::support::TEST_TIMEOUT;

/// Reads the numbers of a hub as its administrator.
pub(super) async fn numbers(hub: &TestHub) -> String {
    let bearer = format!("Bearer {}", hub.token);
    let mut connection = HttpConnection::open(hub.server.address).await;
    connection.send("GET", "/metrics", &[("Authorization", &bearer)], b"").await;
    let reply = connection.reply().await;
    assert_eq!(reply.status, 200);
    reply.text()
}

#[tokio::test]
async fn a_subject_is_limited_on_all_mounts_together_and_its_neighbours_are_not() {
    let hub = TestHub::configured(|text| text.replace("500/s:2000", "1/m:40")).await;
    let flood = [hub.new_token("flood", &[]).await, hub.new_token("flood", &[]).await];
    let quiet = hub.new_token("quiet", &[]).await;
    // Both tokens, the endpoint and the API count together.
    let mut answered = 0;
    for number in 0..60 {
        let token = &flood[number % 2];
        let status = if number % 3 == 0 {
            hub.api_as(token, "GET", "/skills", b"").await.status
        } else {
            hub.mcp("/mcp", token, "skills/list", Value::Null).await.status
        };
        answered += usize::from(status == 200);
    }
    assert_eq!(answered, 40);
    let refused = hub.api_as(&flood[0], "GET", "/skills", b"").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.header("retry-after").is_some());
    let problem: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(problem["type"], "urn:skillwire:problem:too-often");
    assert_eq!(hub.mcp("/mcp", &quiet, "skills/list", Value::Null).await.status, 200);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(hub.server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn numbers_of_all_mounts_stand_together() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.run(&["hub", "promote", "acme/refunds", "1.0.0", "stable"]).await.assert_exit(0);
    for mount in ["/mcp", "/mcp/c/stable"] {
        assert_eq!(hub.uris(mount, &hub.token).await.len(), 1);
    }
    assert_eq!(hub.mcp("/mcp/c/stable", "", "skills/list", Value::Null).await.status, 401);
    let text = numbers(&hub).await;
    for line in [
        r#"skillwire_requests_total{method="skills/list",code="0",mount="/mcp",outcome="ok"} 1"#,
        r#"{method="skills/list",code="0",mount="/mcp/c/stable",outcome="ok"} 1"#,
        r#"skillwire_skills{mount="/mcp/c/stable"} 1"#,
        r#"skillwire_auth_refusals_total{mount="/mcp/c/stable",reason="no-token"} 1"#,
        r#"skillwire_api_requests_total{method="POST",status="#,
        "skillwire_build_info",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    assert_eq!(text.matches("# EOF").count(), 1);
}

#[tokio::test]
async fn the_access_log_of_a_hub_names_mount_subject_and_content_and_is_switched_on_while_it_runs()
{
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    let published = hub.publish("refunds").await;
    let file = hub.folder.join("hub/hub.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("access = \"off\"", "access = \"access.log\"")).unwrap();
    let log = hub.folder.join("hub/access.log");
    let start = std::time::Instant::now();
    let uri = "skill://acme/refunds/SKILL.md";
    let said = loop {
        hub.read("/mcp", &hub.token, uri).await;
        hub.api("GET", "/skills", b"").await;
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        if said.contains("/api/v1/skills") && said.contains(uri) {
            break said;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "{said}");
    };
    let read = said.lines().find(|line| line.contains(uri)).unwrap();
    let content = published["version"]["content"].as_str().unwrap();
    for words in ["mount=/mcp ", "method=resources/read", "decision=admitted", content] {
        assert!(read.contains(words), "{words} is missing in {read}");
    }
    let listed = said.lines().find(|line| line.contains("/api/v1/skills")).unwrap();
    assert!(listed.contains("mount=/api/v1 method=GET") && listed.contains("caller="), "{listed}");
    assert!(!said.contains(&hub.token));
    // The log is switched on a moment before the reload is counted.
    while !numbers(&hub).await.contains(r#"reloads_total{what="configuration",outcome="ok"}"#) {
        assert!(start.elapsed() < TEST_TIMEOUT, "the reload is never counted");
    }
}
