//! Streamable HTTP itself: SRV-97, SRV-101, SRV-102, SRV-110, V-21 to V-27.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::json;
use skillwire_core::finding::Finding;
use skillwire_core::path::{RelPath, SkillPath};
use skillwire_server::http::{AccessRules, ConnectionLimits, HttpOptions};
use skillwire_source::{
    memory::MemorySource,
    source::{Look, Report, Source, Unavailable},
};
use skillwire_testkit::{
    fixture::{SkillFolder, skill_md},
    server::{TestOptions, TestServer, modern_headers},
    wire::{legacy_request, modern_request},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::peers::{
    listen, listen_with, read_until, request_bytes, statuses, tasks, tasks_at_most, until_closed,
};

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

async fn server() -> (SkillFolder, TestServer) {
    limited(ConnectionLimits::default()).await
}

async fn limited(limits: ConnectionLimits) -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a"]);
    let options = TestOptions { limits, ..Default::default() };
    let server = TestServer::with(folder.path(), options).await;
    (folder, server)
}

/// A body that lists skills.
fn list_body() -> String {
    modern_request(1, "skills/list", json!({})).to_string()
}

#[tokio::test]
async fn srv_97_v_21_pages_of_other_origins_are_kept_out() {
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
async fn srv_97_pages_of_the_server_itself_and_of_allowed_origins_are_let_in() {
    let folder = SkillFolder::with_skills(&["a"]);
    let access = AccessRules { origins: vec!["https://app.example".into()], ..Default::default() };
    let http = HttpOptions { access, ..Default::default() };
    let server = TestServer::with(folder.path(), TestOptions { http, ..Default::default() }).await;
    let host = format!("127.0.0.1:{}", server.address.port());
    let own = format!("http://{host}");
    let headers = [("Host", host.as_str()), ("Origin", own.as_str())];
    assert_eq!(server.modern_with(&headers, "skills/list", json!({})).await.status, 200);
    let foreign = [("Origin", "https://app.example")];
    let reply = server.modern_with(&foreign, "skills/list", json!({})).await;
    assert_eq!(reply.status, 200);
    // The browser is told of this origin and of no other.
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(reply.header("vary").is_some_and(|vary| vary.contains("Origin")));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    // Two origins are none, also when the first is a good one.
    let two = [foreign[0], ("Origin", "https://evil.example")];
    assert_eq!(server.modern_with(&two, "skills/list", json!({})).await.status, 403);
    for close in ["https://app.example.evil", "http://app.example", "https://app.example:444"] {
        let reply = server.modern_with(&[("Origin", close)], "skills/list", json!({})).await;
        assert_eq!(reply.status, 403, "{close}");
    }
}

#[tokio::test]
async fn srv_97_v_21_names_that_were_rebound_to_this_machine_are_kept_out() {
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
async fn v_21_an_absolute_target_cannot_name_another_host_than_the_header() {
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
    // Without any host there is nothing to judge by.
    let bare = format!(
        "POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        list_body().len(),
        list_body()
    );
    let reply = until_closed(&server, bare).await;
    assert!(reply.starts_with("HTTP/1.0 403"), "{reply}");
}

#[tokio::test]
async fn v_22_what_a_page_may_send_without_asking_is_refused() {
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
async fn v_22_a_preflight_is_granted_to_allowed_origins_only() {
    let folder = SkillFolder::with_skills(&["a"]);
    let access = AccessRules { origins: vec!["https://app.example".into()], ..Default::default() };
    let http = HttpOptions { access, ..Default::default() };
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

#[tokio::test]
async fn srv_101_a_request_is_answered_with_one_json_object() {
    let (_folder, server) = server().await;
    let reply = server.modern_with(&[], "skills/list", json!({})).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert!(reply.message().0.is_object());
}

#[tokio::test]
async fn srv_101_a_notification_is_accepted_without_a_body() {
    let (_folder, server) = server().await;
    for method in ["notifications/cancelled", "notifications/initialized", "notifications/x"] {
        let body = json!({ "jsonrpc": "2.0", "method": method }).to_string();
        let reply = server.post(&modern_headers(method), body.as_bytes()).await;
        assert_eq!((reply.status, reply.body.len()), (202, 0), "{method}");
    }
}

#[tokio::test]
async fn srv_101_an_unknown_method_is_404_with_its_code() {
    let (_folder, server) = server().await;
    for method in ["no/such/method", "initialize", "ping", "resources/subscribe", "", "roots/list"]
    {
        let reply = server.modern_with(&[], method, json!({})).await;
        let message = reply.message();
        assert_eq!((reply.status, message.code(), &message.0["id"]), (404, -32601, &json!(1)));
    }
}

#[tokio::test]
async fn srv_101_v_26_other_methods_of_http_are_not_allowed() {
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
async fn srv_101_v_26_session_and_event_ids_mean_nothing_to_a_modern_request() {
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
async fn srv_101_other_paths_are_not_the_endpoint() {
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
async fn srv_101_v_23_ambiguous_lengths_never_make_a_second_request() {
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
        // Lengths that differ, or are none.
        format!("{head}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}"),
        format!("{head}Content-Length: {length}, 0\r\n\r\n{body}"),
        format!("{head}Content-Length: +{length}\r\n\r\n{body}"),
        format!("{head}Content-Length: -1\r\n\r\n{body}"),
        format!("{head}Content-Length: 0x10\r\n\r\n{body}"),
        format!("{head}Content-Length: 99999999999999999999999\r\n\r\n{body}"),
        // Codings that are not what they seem.
        format!("{head}Transfer-Encoding: xchunked\r\n\r\n{chunk}"),
        format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n{chunk}"),
        format!("{head}Transfer-Encoding: \u{b}chunked\r\n\r\n{chunk}"),
        // Lines that are not what they seem.
        format!("{head}Transfer-Encoding : chunked\r\n\r\n{chunk}"),
        format!("{head}X-Folded: a\r\n Transfer-Encoding: chunked\r\n\r\n{chunk}"),
        format!("{head}Content-Length: {length}\rX: y\r\n\r\n{body}"),
        format!("{head}Content-Length\0: {length}\r\n\r\n{body}"),
        // Chunks that are not what they seem.
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
    // The hidden request by itself is a good one.
    let mut connection = server.connect().await;
    connection.write(&hidden).await;
    assert_eq!(connection.reply().await.status, 200);
}

#[tokio::test]
async fn srv_101_requests_may_follow_each_other_without_waiting() {
    let (_folder, server) = server().await;
    let mut connection = server.connect().await;
    let one = request_bytes("", &list_body(), "skills/list");
    connection.write(one.repeat(50)).await;
    for _ in 0..50 {
        connection.reply().await.message().result();
    }
}

#[tokio::test]
async fn v_24_headers_that_do_not_come_cost_only_a_moment() {
    let header_time = Duration::from_millis(100);
    let (_folder, server) =
        limited(ConnectionLimits { header_time, ..ConnectionLimits::default() }).await;
    let before = tasks();
    for start in ["", "P", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow:"] {
        let text = until_closed(&server, start).await;
        assert!(matches!(*statuses(&text), [] | [408]), "{text}");
    }
    // A connection that was used once may not idle for ever either.
    let mut connection = server.connect().await;
    connection.write(request_bytes("", &list_body(), "skills/list")).await;
    assert_eq!(connection.reply().await.status, 200);
    assert!(connection.is_closed().await);
    tasks_at_most(before).await;
}

#[tokio::test(start_paused = true)]
async fn v_24_a_body_that_does_not_come_is_given_up() {
    let (_folder, server) = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = request_bytes("", &list_body(), "skills/list");
    // Nothing else happens, so the clock runs to the server's own limit.
    stream.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
    let answer = timeout(Duration::from_mins(1), read_until(&mut stream, "}}")).await;
    let text = answer.expect("the server gives up within a minute");
    assert_eq!(statuses(&text), [408]);
}

#[tokio::test]
async fn v_24_a_peer_that_never_reads_is_dropped() {
    let stall_time = Duration::from_millis(100);
    let (folder, mut server) =
        limited(ConnectionLimits { stall_time, ..ConnectionLimits::default() }).await;
    folder.file("a/large.txt", "x".repeat(4 << 20));
    server.refresh();
    let before = tasks();
    let params = json!({ "uri": "skill://a/large.txt" });
    let body = modern_request(1, "resources/read", params).to_string();
    let one = request_bytes("Mcp-Name: skill://a/large.txt\r\n", &body, "resources/read");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(one.repeat(20).as_bytes()).await.unwrap();
    // The server has begun to answer, and from now on nobody reads.
    stream.read_exact(&mut [0]).await.unwrap();
    assert!(tasks() > before);
    tasks_at_most(before).await;
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received).await;
    assert!(received.len() < 20 * (4 << 20), "{} bytes were sent", received.len());
}

/// Many files with long names, all of which change with the version.
#[derive(Debug, Clone, Default)]
struct Versions(Arc<AtomicUsize>);

impl Versions {
    const SKILLS: usize = 3;
    const FILES: usize = 500;

    fn file(number: usize) -> String {
        format!("{}{number}.md", "n".repeat(200))
    }

    fn uris() -> Vec<String> {
        let skills = 0..Self::SKILLS;
        let files = |skill| (0..Self::FILES).map(move |n| (skill, n));
        skills
            .flat_map(files)
            .map(|(skill, n)| format!("skill://s{skill}/{}", Self::file(n)))
            .collect()
    }
}

impl Source for Versions {
    fn scan(
        &self,
        look: &Look,
        report: &mut (dyn FnMut(Report) + Send),
    ) -> Result<Vec<Finding>, Unavailable> {
        let version = Bytes::from(self.0.load(Ordering::Relaxed).to_string());
        let mut source = MemorySource::new("memory");
        for skill in 0..Self::SKILLS {
            let name = format!("s{skill}");
            let files = (0..Self::FILES)
                .map(|n| (RelPath::parse(&Self::file(n)).expect("a path"), version.clone()))
                .chain([(RelPath::skill_file(), Bytes::from(skill_md(&name)))]);
            let path = SkillPath::parse(&name).expect("a path");
            source.add(&path, files).expect("names differ");
        }
        source.scan(look, report)
    }
}

#[tokio::test]
async fn v_24_a_listener_that_never_reads_is_dropped() {
    let limits =
        ConnectionLimits { stall_time: Duration::from_millis(100), ..ConnectionLimits::default() };
    let versions = Versions::default();
    let options = TestOptions { limits, ..Default::default() };
    let mut server = TestServer::with_sources(vec![Box::new(versions.clone())], options).await;
    let before = tasks();
    // A small window, so that the system itself takes little.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let params = json!({ "notifications": { "resourceSubscriptions": Versions::uris() } });
    let body = modern_request(1, "subscriptions/listen", params).to_string();
    let request = request_bytes("", &body, "subscriptions/listen");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "data: ").await;
    assert!(tasks() > before);
    // More than half a megabyte each time, and nobody reads.
    for version in 1..=10 {
        versions.0.store(version, Ordering::Relaxed);
        server.refresh();
    }
    tasks_at_most(before).await;
}

#[tokio::test]
async fn v_24_connections_beyond_the_cap_wait_for_their_turn() {
    let (_folder, server) =
        limited(ConnectionLimits { connections: 2, ..ConnectionLimits::default() }).await;
    let filter = json!({ "resourcesListChanged": true });
    let (first, _) = listen(&server, filter.clone()).await;
    let (second, _) = listen(&server, filter).await;
    let before = tasks();
    let mut third = server.connect().await;
    third.write(request_bytes("", &list_body(), "skills/list")).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks(), before, "a third connection was taken");
    drop(first);
    assert_eq!(third.reply().await.status, 200);
    drop(second);
}

#[tokio::test]
async fn v_25_headers_have_limits() {
    let (_folder, server) = server().await;
    let body = list_body();
    let many = "X-Many: 1\r\n".repeat(5_000);
    let large = format!("X-Large: {}\r\n", "x".repeat(1 << 20));
    let name = format!("{}: 1\r\n", "X".repeat(1 << 17));
    for extra in [many, large, name] {
        let text = until_closed(&server, request_bytes(&extra, &body, "skills/list")).await;
        assert!(matches!(*statuses(&text), [] | [431]), "{text}");
    }
    let target = format!("POST /{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "x".repeat(1 << 20));
    let text = until_closed(&server, target).await;
    assert!(matches!(*statuses(&text), [] | [414 | 431]), "{text}");
    assert_eq!(server.modern_with(&[], "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn v_25_v_10_a_body_that_is_announced_too_large_is_refused_before_it_is_sent() {
    let (_folder, server) = server().await;
    for length in ["4194305", "1073741824", "9223372036854775807"] {
        let mut connection = server.connect().await;
        connection
            .write(format!(
                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                 Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
            ))
            .await;
        let reply = connection.reply().await;
        assert_eq!((reply.status, reply.message().code()), (413, -32600), "{length}");
    }
}

#[tokio::test]
async fn v_25_v_10_a_body_that_grows_too_large_is_refused() {
    let (_folder, server) = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 18, " ".repeat(1 << 18));
    // Exactly one byte too many, so that nothing unread makes the system drop the answer.
    for _ in 0..16 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    stream.write_all(b"1\r\n \r\n").await.unwrap();
    assert_eq!(statuses(&read_until(&mut stream, "}}").await), [413]);
}

#[tokio::test]
async fn v_25_compressed_bodies_are_not_taken() {
    let (_folder, server) = server().await;
    for coding in ["gzip", "deflate", "br", "zstd", "identity, gzip", "x"] {
        let extra = [("Content-Encoding", coding)];
        let reply = server.modern_with(&extra, "skills/list", json!({})).await;
        assert_eq!(reply.status, 415, "{coding}");
    }
    let extra = [("Content-Encoding", "identity")];
    assert_eq!(server.modern_with(&extra, "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn v_27_every_accept_header_has_a_defined_answer() {
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
async fn v_22_v_25_v_27_every_line_of_a_repeated_header_counts() {
    let (_folder, server) = server().await;
    for extra in [
        &[("Content-Type", "text/plain")][..],
        &[("Content-Encoding", "identity"), ("Content-Encoding", "gzip")],
    ] {
        let reply = server.modern_with(extra, "skills/list", json!({})).await;
        assert_eq!(reply.status, 415, "{extra:?}");
    }
    // A client may list in a second line what it did not list in the first.
    let mut headers = modern_headers("skills/list");
    headers.retain(|(name, _)| *name != "Accept");
    headers.extend([("Accept", "text/event-stream"), ("Accept", "application/json")]);
    assert_eq!(server.post(&headers, list_body().as_bytes()).await.status, 200);
}

#[tokio::test]
async fn srv_102_closing_a_stream_ends_everything_behind_it() {
    let (folder, mut server) = server().await;
    let before = tasks();
    let filter = json!({ "resourcesListChanged": true });
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(listen(&server, filter.clone()).await.0);
    }
    assert!(tasks() >= before + 40, "each stream has a connection and a follower");
    drop(streams);
    tasks_at_most(before).await;
    folder.skill("b");
    server.refresh();
    assert_eq!(tasks(), before);
}

#[tokio::test]
async fn srv_110_streams_pass_through_proxies_unbuffered() {
    let (_folder, server) = server().await;
    let body = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    let mut connection = server.connect().await;
    let headers = modern_headers("subscriptions/listen");
    connection.send("POST", "/mcp", &headers, body.to_string().as_bytes()).await;
    let modern = connection.head().await.unwrap();
    let (session, _) = server.initialize("2025-11-25").await;
    let mut connection = server.connect().await;
    connection.send("GET", "/mcp", &[("Mcp-Session-Id", &session)], b"").await;
    let legacy = connection.head().await.unwrap();
    for (status, headers) in [modern, legacy] {
        let header =
            |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        assert_eq!(status, 200);
        assert_eq!(header("x-accel-buffering"), Some("no"));
        assert_eq!(header("content-type"), Some("text/event-stream"));
        assert_eq!(header("cache-control"), Some("no-cache"));
    }
}

#[tokio::test(start_paused = true)]
async fn v_24_a_stream_may_be_quiet_for_longer_than_its_client() {
    let header_time = Duration::from_secs(1);
    let (_folder, server) =
        limited(ConnectionLimits { header_time, ..ConnectionLimits::default() }).await;
    let body = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    let request = request_bytes("", &body.to_string(), "subscriptions/listen");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\n\n").await;
    // The first sign of life comes long after the time for headers.
    let sign = timeout(Duration::from_secs(30), read_until(&mut stream, ":\n\n")).await;
    sign.expect("the stream goes on");
}

#[tokio::test(start_paused = true)]
async fn srv_110_a_quiet_stream_shows_that_it_lives() {
    let (_folder, server) = server().await;
    let body = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    let request = request_bytes("", &body.to_string(), "subscriptions/listen");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\n\n").await;
    // Nothing else happens, so the clock runs to the next sign of life.
    for _ in 0..5 {
        let sign = timeout(Duration::from_secs(30), read_until(&mut stream, ":\n\n")).await;
        sign.expect("a sign of life twice a minute");
    }
}

#[tokio::test]
async fn srv_101_a_legacy_message_without_a_session_is_told_what_is_missing() {
    let (_folder, server) = server().await;
    let body = legacy_request(1, "resources/list", json!({})).to_string();
    let reply = server.post(&[("Content-Type", "application/json")], body.as_bytes()).await;
    assert_eq!((reply.status, reply.message().code()), (400, -32020));
}
