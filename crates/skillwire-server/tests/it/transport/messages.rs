//! Which requests are accepted, and how they are answered: SRV-101, V-23, V-26, V-27.

use serde_json::json;
use skillwire_testkit::{legacy_request, modern_headers};

use super::{list_body, server};
use crate::peers::{listen_with, request_bytes, statuses, until_closed};

#[tokio::test]
async fn a_request_is_answered_with_one_json_object_srv_101() {
    let (_folder, server) = server().await;
    let reply = server.modern_with(&[], "skills/list", json!({})).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert!(reply.message().0.is_object());
}

#[tokio::test]
async fn a_notification_is_accepted_without_a_body_srv_101() {
    let (_folder, server) = server().await;
    for method in ["notifications/cancelled", "notifications/initialized", "notifications/x"] {
        let body = json!({ "jsonrpc": "2.0", "method": method }).to_string();
        let reply = server.post(&modern_headers(method), body.as_bytes()).await;
        assert_eq!((reply.status, reply.body.len()), (202, 0), "{method}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_404_with_its_code_srv_101() {
    let (_folder, server) = server().await;
    for method in ["no/such/method", "initialize", "ping", "resources/subscribe", "", "roots/list"]
    {
        let reply = server.modern_with(&[], method, json!({})).await;
        let message = reply.message();
        assert_eq!((reply.status, message.code(), &message.0["id"]), (404, -32601, &json!(1)));
    }
}

#[tokio::test]
async fn other_methods_of_http_are_not_allowed_srv_101_v_26() {
    let (_folder, server) = server().await;
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"] {
        let mut connection = server.connect().await;
        let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", "1")];
        connection.send(method, "/mcp", &headers, b"").await;
        let (status, headers) = connection.head().await.unwrap();
        assert_eq!(status, 405, "{method}");
        let allow = headers.iter().find(|(name, _)| name == "allow");
        assert_eq!(allow.map(|(_, value)| value.as_str()), Some("POST"), "{method}");
    }
    let upgrade = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, close\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    assert_eq!(statuses(&until_closed(&server, upgrade).await), [405]);
}

#[tokio::test]
async fn session_and_event_ids_mean_nothing_to_a_modern_request_srv_101_v_26() {
    let (_folder, server) = server().await;
    let plain = server.modern_with(&[], "skills/list", json!({})).await;
    let extra = [("Mcp-Session-Id", "0123"), ("Last-Event-ID", "7")];
    let reply = server.modern_with(&extra, "skills/list", json!({})).await;
    assert_eq!((reply.status, &reply.body), (200, &plain.body));
    assert_eq!(reply.header("mcp-session-id"), None);
    let (mut stream, first) =
        listen_with(&server, &extra, 7, json!({ "resourcesListChanged": true })).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    server.stop().await;
    assert_eq!(stream.event().await.unwrap()["id"], 7);
}

#[tokio::test]
async fn other_paths_are_not_the_endpoint_srv_101() {
    let (_folder, server) = server().await;
    for path in ["/", "/mcp/", "/MCP", "//mcp", "/mcp/../mcp", "/sse", "*"] {
        let mut connection = server.connect().await;
        let headers = modern_headers("skills/list");
        connection.send("POST", path, &headers, list_body().as_bytes()).await;
        let status = connection.reply().await.status;
        assert!(matches!(status, 400 | 404), "{path}: {status}");
    }
}

#[tokio::test]
async fn ambiguous_lengths_never_make_a_second_request_srv_101_v_23() {
    let (_folder, server) = server().await;
    let body = list_body();
    let hidden = request_bytes("X-Hidden: 1\r\n", &body, "skills/list");
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: skills/list\r\n";
    let length = body.len();
    let attempts = [
        // Both lengths, in both orders.
        format!("{head}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"),
        format!("{head}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n{chunk}"),
        // Lengths that differ, or are not numbers.
        format!("{head}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}"),
        format!("{head}Content-Length: {length}, 0\r\n\r\n{body}"),
        format!("{head}Content-Length: +{length}\r\n\r\n{body}"),
        format!("{head}Content-Length: -1\r\n\r\n{body}"),
        format!("{head}Content-Length: 0x10\r\n\r\n{body}"),
        format!("{head}Content-Length: 99999999999999999999999\r\n\r\n{body}"),
        // Misspelled or disguised codings.
        format!("{head}Transfer-Encoding: xchunked\r\n\r\n{chunk}"),
        format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n{chunk}"),
        format!("{head}Transfer-Encoding: \u{b}chunked\r\n\r\n{chunk}"),
        // Malformed header lines.
        format!("{head}Transfer-Encoding : chunked\r\n\r\n{chunk}"),
        format!("{head}X-Folded: a\r\n Transfer-Encoding: chunked\r\n\r\n{chunk}"),
        format!("{head}Content-Length: {length}\rX: y\r\n\r\n{body}"),
        format!("{head}Content-Length\0: {length}\r\n\r\n{body}"),
        // Malformed chunks.
        format!("{head}Transfer-Encoding: chunked\r\n\r\n-1\r\n{chunk}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{chunk}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}XX0\r\n\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n1;{}\r\n{chunk}", "e".repeat(20_000)),
    ];
    for attempt in attempts {
        let text = until_closed(&server, attempt.clone() + &hidden).await;
        let found = statuses(&text);
        assert!(found.len() <= 1, "{attempt}\n{text}");
        assert!(matches!(found.first(), None | Some(200 | 400)), "{attempt}\n{text}");
    }
    // The hidden request is valid by itself.
    let mut connection = server.connect().await;
    connection.write(&hidden).await;
    assert_eq!(connection.reply().await.status, 200);
}

#[tokio::test]
async fn requests_may_follow_each_other_without_waiting_srv_101() {
    let (_folder, server) = server().await;
    let mut connection = server.connect().await;
    let one = request_bytes("", &list_body(), "skills/list");
    connection.write(one.repeat(50)).await;
    for _ in 0..50 {
        connection.reply().await.message().result();
    }
}

#[tokio::test]
async fn every_accept_header_has_a_defined_answer_v_27() {
    let (_folder, server) = server().await;
    for (accept, status) in [
        (None, 200),
        (Some("application/json, text/event-stream"), 200),
        (Some("text/event-stream, application/json;q=0.1"), 200),
        (Some("application/json"), 200),
        (Some("application/*"), 200),
        (Some("*/*"), 200),
        (Some("APPLICATION/JSON"), 200),
        (Some("text/event-stream"), 406),
        (Some("text/html"), 406),
        (Some(""), 406),
        (Some(",;,"), 406),
        (Some("\u{e9}"), 406),
    ] {
        let mut headers = modern_headers("skills/list");
        headers.retain(|(name, _)| *name != "Accept");
        headers.extend(accept.map(|accept| ("Accept", accept)));
        let reply = server.post(&headers, list_body().as_bytes()).await;
        assert_eq!(reply.status, status, "{accept:?}");
        reply.message();
    }
}

#[tokio::test]
async fn every_line_of_a_repeated_header_counts_v_22_v_25_v_27() {
    let (_folder, server) = server().await;
    for extra in [
        &[("Content-Type", "text/plain")][..],
        &[("Content-Encoding", "identity"), ("Content-Encoding", "gzip")],
    ] {
        let reply = server.modern_with(extra, "skills/list", json!({})).await;
        assert_eq!(reply.status, 415, "{extra:?}");
    }
    // A second header line may list what the first one does not.
    let mut headers = modern_headers("skills/list");
    headers.retain(|(name, _)| *name != "Accept");
    headers.extend([("Accept", "text/event-stream"), ("Accept", "application/json")]);
    assert_eq!(server.post(&headers, list_body().as_bytes()).await.status, 200);
}

#[tokio::test]
async fn a_legacy_message_without_a_session_is_told_what_is_missing_srv_101() {
    let (_folder, server) = server().await;
    let body = legacy_request(1, "resources/list", json!({})).to_string();
    let reply = server.post(&[("Content-Type", "application/json")], body.as_bytes()).await;
    assert_eq!((reply.status, reply.message().code()), (400, -32020));
}
