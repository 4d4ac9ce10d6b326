//! Clients that open with `initialize`: SRV-105 and the rules that differ for them.

use serde_json::json;
use skillwire_testkit::{
    HttpReply, LEGACY_HEADERS, SkillFolder, StdioClient, TestOptions, TestServer,
    initialize_params, legacy_request,
};

use crate::peers::{legacy_stream, tasks, tasks_at_most};

const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async fn server() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

/// Sends a request of HTTP within a session.
async fn within(server: &TestServer, method: &str, session: &str) -> HttpReply {
    let mut connection = server.connect().await;
    connection.send(method, "/mcp", &[("Mcp-Session-Id", session)], b"").await;
    connection.reply().await
}

#[tokio::test]
async fn every_legacy_version_is_negotiated_and_served_srv_105() {
    let (_folder, server) = server().await;
    for version in VERSIONS {
        let (session, result) = server.initialize(version).await;
        assert_eq!(result["protocolVersion"], version);
        // The two oldest revisions have no version header.
        for header in [Some(version), None] {
            let mut headers = LEGACY_HEADERS.to_vec();
            headers.push(("Mcp-Session-Id", &session));
            headers.extend(header.map(|header| ("MCP-Protocol-Version", header)));
            let body = legacy_request("x", "resources/list", json!({})).to_string();
            let reply = server.post(&headers, body.as_bytes()).await;
            assert_eq!(reply.status, 200, "{version}");
            let message = reply.message();
            assert_eq!(message.0["id"], "x");
            assert_eq!(message.result()["resources"][0]["uri"], "skill://a/SKILL.md");
        }
        let mut client = StdioClient::in_process(server.engine());
        let request = legacy_request(0, "initialize", initialize_params(version));
        assert_eq!(client.request(&request).await.result()["protocolVersion"], version);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let reply = client.request(&legacy_request(1, "skills/list", json!({}))).await;
        assert_eq!(reply.result()["skills"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_unknown_version_is_answered_with_the_newest_that_has_a_handshake_srv_105() {
    let (_folder, server) = server().await;
    for version in ["1999-01-01", "2026-07-28", "2030-01-01", ""] {
        let (_, result) = server.initialize(version).await;
        assert_eq!(result["protocolVersion"], "2025-11-25", "{version}");
    }
    let body = legacy_request(0, "initialize", json!({ "capabilities": {} })).to_string();
    let reply = server.post(&LEGACY_HEADERS, body.as_bytes()).await;
    assert_eq!((reply.status, reply.message().code()), (200, -32602));
    assert_eq!(reply.header("mcp-session-id"), None, "a failed handshake opens nothing");
}

#[tokio::test]
async fn results_have_no_members_of_the_modern_era_srv_105() {
    let (folder, mut server) = server().await;
    folder.file("a/notes.md", "text");
    server.refresh();
    let (session, initialized) = server.initialize("2025-11-25").await;
    let mut results = vec![initialized];
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://a/SKILL.md" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "skill://a/notes.md" })),
        ("resources/directory/read", json!({ "uri": "skill://a" })),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("ping", json!({})),
    ] {
        let reply = server.legacy(&session, method, params).await;
        assert_eq!(reply.status, 200, "{method}");
        results.push(reply.message().result().clone());
    }
    for result in results {
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(result.get(member).is_none(), "{member} in {result}");
        }
    }
}

#[tokio::test]
async fn errors_come_with_200_and_an_unknown_resource_has_its_old_code_srv_105() {
    let (_folder, server) = server().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-11-25"))).await;
    let unknown = json!({ "uri": "skill://a/none" });
    for (method, params, code) in [
        ("resources/read", unknown.clone(), -32002),
        ("resources/subscribe", unknown.clone(), -32002),
        ("resources/read", json!({}), -32602),
        ("skills/get", unknown.clone(), -32602),
        ("resources/directory/read", unknown, -32602),
        ("no/such/method", json!({}), -32601),
        ("server/discover", json!({}), -32601),
        ("subscriptions/listen", json!({ "notifications": {} }), -32601),
        ("resources/list", json!({ "cursor": "x" }), -32602),
    ] {
        let reply = server.legacy(&session, method, params.clone()).await;
        assert_eq!((reply.status, reply.message().code()), (200, code), "{method}");
        let over_stdio = client.request(&legacy_request(1, method, params)).await;
        assert_eq!(over_stdio.0, reply.message().0, "{method}");
    }
}

#[tokio::test]
async fn session_ids_cannot_be_guessed_srv_105() {
    let (_folder, server) = server().await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..50 {
        let (session, _) = server.initialize("2025-11-25").await;
        assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(seen.insert(session));
    }
    for session in ["0", "", "../x", &"a".repeat(5_000)] {
        assert_eq!(server.legacy(session, "resources/list", json!({})).await.status, 404);
        assert_eq!(within(&server, "GET", session).await.status, 404);
        assert_eq!(within(&server, "DELETE", session).await.status, 404);
    }
}

#[tokio::test]
async fn a_session_ends_with_delete_srv_105() {
    let (_folder, server) = server().await;
    let (kept, _) = server.initialize("2025-11-25").await;
    let (session, _) = server.initialize("2025-11-25").await;
    assert_eq!(server.legacy(&session, "ping", json!({})).await.status, 200);
    assert_eq!(within(&server, "DELETE", &session).await.status, 204);
    assert_eq!(server.legacy(&session, "ping", json!({})).await.status, 404);
    assert_eq!(within(&server, "GET", &session).await.status, 404);
    assert_eq!(within(&server, "DELETE", &session).await.status, 404);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.push(("Mcp-Session-Id", &session));
    let reply = server.post(&headers, notification.to_string().as_bytes()).await;
    assert_eq!(reply.status, 404, "a notification of a session that ended");
    assert_eq!(server.legacy(&kept, "ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn deleting_a_session_ends_its_stream_srv_105() {
    let (folder, mut server) = server().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let before = tasks();
    let mut stream = legacy_stream(&server, &session).await;
    assert_eq!(within(&server, "DELETE", &session).await.status, 204);
    folder.skill("b");
    server.refresh();
    assert_eq!(stream.event().await, None);
    drop(stream);
    tasks_at_most(before).await;
}

#[tokio::test]
async fn a_session_has_one_stream_at_a_time_srv_105() {
    let (folder, mut server) = server().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let before = tasks();
    let first = legacy_stream(&server, &session).await;
    assert_eq!(within(&server, "GET", &session).await.status, 409);
    drop(first);
    tasks_at_most(before).await;
    let mut second = legacy_stream(&server, &session).await;
    folder.skill("b");
    server.refresh();
    let event = second.event().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/list_changed");
    assert!(event.get("id").is_none());
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_who_opened_it_srv_105_srv_107() {
    let folder = SkillFolder::with_skills(&["acme/a", "b"]);
    let tokens = Some("one 0123456789abcdef\ntwo fedcba9876543210\n".to_owned());
    let server =
        TestServer::with(folder.path(), TestOptions { tokens, ..Default::default() }).await;
    let one = ("Authorization", "Bearer 0123456789abcdef");
    let two = ("Authorization", "Bearer fedcba9876543210");
    let body = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.push(one);
    let reply = server.post(&headers, body.as_bytes()).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let ping = legacy_request(1, "ping", json!({})).to_string();
    for (method, mine, theirs) in [("POST", 200, 404), ("GET", 200, 404), ("DELETE", 204, 404)] {
        for (caller, status) in [(two, theirs), (one, mine)] {
            let mut headers = LEGACY_HEADERS.to_vec();
            headers.extend([caller, ("Mcp-Session-Id", session.as_str())]);
            let mut connection = server.connect().await;
            connection.send(method, "/mcp", &headers, ping.as_bytes()).await;
            let (found, _) = connection.head().await.unwrap();
            assert_eq!(found, status, "{method} {}", caller.1);
        }
    }
}

#[tokio::test]
async fn requests_without_a_session_are_served_when_they_name_their_version_srv_105() {
    let (_folder, server) = server().await;
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.push(("MCP-Protocol-Version", "2025-06-18"));
    let body = legacy_request(1, "skills/list", json!({})).to_string();
    let reply = server.post(&headers, body.as_bytes()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.message().result()["skills"].as_array().unwrap().len(), 1);
    headers.pop();
    headers.push(("MCP-Protocol-Version", "2025-06-19"));
    assert_eq!(server.post(&headers, body.as_bytes()).await.status, 400);
}

#[tokio::test]
async fn both_eras_share_one_endpoint_srv_105() {
    let (_folder, server) = server().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let legacy = server.legacy(&session, "skills/list", json!({})).await.message();
    let modern = server
        .modern_with(&[("Mcp-Session-Id", &session)], "skills/list", json!({}))
        .await
        .message();
    let (old, new) = (&legacy.result()["skills"], &modern.result()["skills"]);
    assert_eq!(old.as_array().unwrap().len(), new.as_array().unwrap().len());
    for (old, new) in old.as_array().unwrap().iter().zip(new.as_array().unwrap()) {
        // Older dialects add members and change none.
        for (member, value) in new.as_object().unwrap() {
            assert_eq!(old[member], *value, "{member}");
        }
    }
    assert_eq!(modern.result()["resultType"], "complete");
}
