//! Which hosts and origins are accepted: SRV-97, V-21, V-22.

use serde_json::json;
use skillwire_server::http::{AccessRules, HttpOptions};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, modern_headers};

use super::{list_body, server};
use crate::peers::until_closed;

const EVIL_ORIGINS: [&str; 8] = [
    "https://evil.example",
    "http://evil.example:80",
    "null",
    "file://",
    "http://localhost.evil.example",
    "http://127.0.0.1:1",
    "http://[::1]",
    "*",
];

#[tokio::test]
async fn pages_of_other_origins_are_kept_out_srv_97_v_21() {
    let (_folder, server) = server().await;
    for origin in EVIL_ORIGINS {
        for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
            let mut headers = modern_headers("skills/list");
            headers.push(("Origin", origin));
            let mut connection = server.connect().await;
            connection.send(method, "/mcp", &headers, list_body().as_bytes()).await;
            let reply = connection.reply().await;
            assert_eq!(reply.status, 403, "{method} {origin}");
            let message = reply.message();
            assert!(message.0.get("id").is_none() && message.code() == -32600);
            let cors = reply.headers.iter().find(|(name, _)| name.starts_with("access-control"));
            assert_eq!(cors, None, "{method} {origin}");
        }
    }
    let two = [("Origin", "https://a.example"), ("Origin", "https://b.example")];
    assert_eq!(server.modern_with(&two, "skills/list", json!({})).await.status, 403);
}

#[tokio::test]
async fn pages_of_the_server_itself_and_of_allowed_origins_are_let_in_srv_97() {
    let folder = SkillFolder::with_skills(&["a"]);
    let access = AccessRules::default().origins(["https://app.example".into()]);
    let http = HttpOptions::default().access(access);
    let server = TestServer::with(folder.path(), TestOptions { http, ..Default::default() }).await;
    let host = format!("127.0.0.1:{}", server.address.port());
    let own = format!("http://{host}");
    let headers = [("Host", host.as_str()), ("Origin", own.as_str())];
    assert_eq!(server.modern_with(&headers, "skills/list", json!({})).await.status, 200);
    let foreign = [("Origin", "https://app.example")];
    let reply = server.modern_with(&foreign, "skills/list", json!({})).await;
    assert_eq!(reply.status, 200);
    // The response allows this origin and no other.
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(reply.header("vary").is_some_and(|vary| vary.contains("Origin")));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    // Two origins are refused, even if the first one is allowed.
    let two = [foreign[0], ("Origin", "https://evil.example")];
    assert_eq!(server.modern_with(&two, "skills/list", json!({})).await.status, 403);
    for close in ["https://app.example.evil", "http://app.example", "https://app.example:444"] {
        let reply = server.modern_with(&[("Origin", close)], "skills/list", json!({})).await;
        assert_eq!(reply.status, 403, "{close}");
    }
}

#[tokio::test]
async fn names_that_were_rebound_to_this_machine_are_kept_out_srv_97_v_21() {
    let (_folder, server) = server().await;
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
        "0.0.0.0",
        "[::2]",
        "localhost:80:evil",
        "",
    ] {
        let reply = server.modern_with(&[("Host", host)], "skills/list", json!({})).await;
        assert_eq!(reply.status, 403, "{host:?}");
    }
    for host in ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:80"] {
        let reply = server.modern_with(&[("Host", host)], "skills/list", json!({})).await;
        assert_eq!(reply.status, 200, "{host:?}");
    }
}

#[tokio::test]
async fn an_absolute_target_cannot_name_another_host_than_the_header_v_21() {
    let (_folder, server) = server().await;
    for (target, host, status) in [
        ("http://evil.example/mcp", "127.0.0.1", 403),
        ("http://127.0.0.1/mcp", "evil.example", 403),
        ("http://127.0.0.1@evil.example/mcp", "127.0.0.1", 403),
        ("http://localhost/mcp", "localhost", 200),
    ] {
        let mut headers = modern_headers("skills/list");
        headers.push(("Host", host));
        let mut connection = server.connect().await;
        connection.send("POST", target, &headers, list_body().as_bytes()).await;
        assert_eq!(connection.reply().await.status, status, "{target} {host}");
    }
    // Without a host, the server cannot decide and refuses.
    let bare = format!(
        "POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        list_body().len(),
        list_body()
    );
    let reply = until_closed(&server, bare).await;
    assert!(reply.starts_with("HTTP/1.0 403"), "{reply}");
}

#[tokio::test]
async fn what_a_page_may_send_without_asking_is_refused_v_22() {
    let (_folder, server) = server().await;
    for media_type in [
        Some("text/plain"),
        Some("text/plain; application/json"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("application/json-patch+json"),
        Some("application/jsonx"),
        Some(""),
        None,
    ] {
        let mut headers = modern_headers("skills/list");
        headers.retain(|(name, _)| *name != "Content-Type");
        headers.extend(media_type.map(|media_type| ("Content-Type", media_type)));
        let reply = server.post(&headers, list_body().as_bytes()).await;
        assert_eq!(reply.status, 415, "{media_type:?}");
        assert_eq!(reply.message().code(), -32600);
    }
    for media_type in ["application/json; charset=utf-8", "Application/JSON"] {
        let mut headers = modern_headers("skills/list");
        headers[0].1 = media_type;
        assert_eq!(server.post(&headers, list_body().as_bytes()).await.status, 200);
    }
}

#[tokio::test]
async fn a_preflight_is_granted_to_allowed_origins_only_v_22() {
    let folder = SkillFolder::with_skills(&["a"]);
    let access = AccessRules::default().origins(["https://app.example".into()]);
    let http = HttpOptions::default().access(access);
    let server = TestServer::with(folder.path(), TestOptions { http, ..Default::default() }).await;
    for (origin, status, granted) in [
        (Some("https://evil.example"), 403, None),
        (None, 405, None),
        (Some("https://app.example"), 204, Some("https://app.example")),
    ] {
        let mut headers = vec![("Access-Control-Request-Method", "POST")];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let mut connection = server.connect().await;
        connection.send("OPTIONS", "/mcp", &headers, b"").await;
        let (found, reply) = connection.head().await.unwrap();
        let header = reply.iter().find(|(name, _)| name == "access-control-allow-origin");
        assert_eq!((found, header.map(|(_, value)| value.as_str())), (status, granted));
    }
}
