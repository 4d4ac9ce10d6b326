//! Clients that are slow or gone, and streams that are quiet: SRV-102, SRV-110, V-24.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::json;
use skillwire_core::{Finding, RelPath, SkillPath};
use skillwire_server::http::ConnectionLimits;
use skillwire_source::{MemorySource, ScanRequest, SkillSource, SourceChange, SourceUnavailable};
use skillwire_testkit::{TestOptions, TestServer, modern_headers, modern_request, skill_md};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::{limited, list_body, server};
use crate::peers::{
    listen, read_until, request_bytes, statuses, tasks, tasks_at_most, until_closed,
};

#[tokio::test]
async fn headers_that_do_not_come_cost_only_a_moment_v_24() {
    let header_time = Duration::from_millis(100);
    let (_folder, server) = limited(ConnectionLimits::default().header_time(header_time)).await;
    let before = tasks();
    for start in ["", "P", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow:"] {
        let text = until_closed(&server, start).await;
        assert!(matches!(*statuses(&text), [] | [408]), "{text}");
    }
    // A connection that was used once may not be idle for ever either.
    let mut connection = server.connect().await;
    connection.write(request_bytes("", &list_body(), "skills/list")).await;
    assert_eq!(connection.reply().await.status, 200);
    assert!(connection.is_closed().await);
    tasks_at_most(before).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up_v_24() {
    let (_folder, server) = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = request_bytes("", &list_body(), "skills/list");
    // No other task runs, so the paused clock advances to the server's own limit.
    stream.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
    let answer = timeout(Duration::from_mins(1), read_until(&mut stream, "}}")).await;
    let text = answer.expect("the server gives up within a minute");
    assert_eq!(statuses(&text), [408]);
}

#[tokio::test]
async fn a_peer_that_never_reads_is_dropped_v_24() {
    let stall_time = Duration::from_millis(100);
    let (folder, mut server) = limited(ConnectionLimits::default().stall_time(stall_time)).await;
    folder.file("a/large.txt", "x".repeat(4 << 20));
    server.refresh();
    let before = tasks();
    let params = json!({ "uri": "skill://a/large.txt" });
    let body = modern_request(1, "resources/read", params).to_string();
    let one = request_bytes("Mcp-Name: skill://a/large.txt\r\n", &body, "resources/read");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(one.repeat(20).as_bytes()).await.unwrap();
    // The server has begun to answer, and from now on the client does not read.
    stream.read_exact(&mut [0]).await.unwrap();
    assert!(tasks() > before);
    tasks_at_most(before).await;
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received).await;
    assert!(received.len() < 20 * (4 << 20), "{} bytes were sent", received.len());
}

#[tokio::test]
async fn a_peer_that_takes_a_few_bytes_now_and_then_is_dropped_sec_01() {
    let stall_time = Duration::from_millis(400);
    let (folder, mut server) = limited(ConnectionLimits::default().stall_time(stall_time)).await;
    folder.file("a/large.txt", "x".repeat(8 << 20));
    server.refresh();
    let before = tasks();
    let params = json!({ "uri": "skill://a/large.txt" });
    let body = modern_request(1, "resources/read", params).to_string();
    let request = request_bytes("Mcp-Name: skill://a/large.txt\r\n", &body, "resources/read");
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    // The client takes something all the time, but at this pace the answer would take a minute.
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    for _ in 0..1_000 {
        pace.tick().await;
        if stream.read(&mut [0; 2048]).await.is_err() || tasks() <= before {
            break;
        }
    }
    assert!(tasks() <= before, "the server still holds the answer");
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

impl SkillSource for Versions {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
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
async fn a_listener_that_never_reads_is_dropped_v_24() {
    let limits = ConnectionLimits::default().stall_time(Duration::from_millis(100));
    let versions = Versions::default();
    let options = TestOptions { limits, ..Default::default() };
    let mut server = TestServer::with_sources(vec![Box::new(versions.clone())], options).await;
    let before = tasks();
    // A small receive window, so that the system itself buffers little.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let params = json!({ "notifications": { "resourceSubscriptions": Versions::uris() } });
    let body = modern_request(1, "subscriptions/listen", params).to_string();
    let request = request_bytes("", &body, "subscriptions/listen");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "data: ").await;
    assert!(tasks() > before);
    // More than half a megabyte each time, and the client does not read.
    for version in 1..=10 {
        versions.0.store(version, Ordering::Relaxed);
        server.refresh();
    }
    tasks_at_most(before).await;
}

#[tokio::test]
async fn closing_a_stream_ends_everything_behind_it_srv_102() {
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
async fn streams_pass_through_proxies_unbuffered_srv_110() {
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
async fn a_stream_may_be_quiet_for_longer_than_its_client_v_24() {
    let header_time = Duration::from_secs(1);
    let (_folder, server) = limited(ConnectionLimits::default().header_time(header_time)).await;
    let body = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    let request = request_bytes("", &body.to_string(), "subscriptions/listen");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\n\n").await;
    // The first keep-alive comment arrives long after the time limit for headers.
    let sign = timeout(Duration::from_secs(30), read_until(&mut stream, ":\n\n")).await;
    sign.expect("the stream goes on");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_shows_that_it_lives_srv_110() {
    let (_folder, server) = server().await;
    let body = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    let request = request_bytes("", &body.to_string(), "subscriptions/listen");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\n\n").await;
    // No other task runs, so the paused clock advances to the next keep-alive comment.
    for _ in 0..5 {
        let sign = timeout(Duration::from_secs(30), read_until(&mut stream, ":\n\n")).await;
        sign.expect("a sign of life twice a minute");
    }
}
