//! How a server starts, answers and ends.

use serde_json::{Value, json};
use skillwire_testkit::{
    HttpConnection, SkillFolder, StdioClient, initialize_params, legacy_request, modern_headers,
    modern_request,
};
#[cfg(target_os = "linux")]
use tokio::net::TcpStream;

#[cfg(unix)]
use crate::host::terminal::TerminalSession;
use crate::support::{BINARY, HttpServer, StdioServer, command, run, uris};

#[tokio::test]
async fn the_server_listens_where_it_says_and_only_on_loopback_srv_98() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = HttpServer::serve(&folder, &["."]).await;
    assert!(server.address.ip().is_loopback() && server.address.port() != 0);
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    // The port is taken on one address of the machine and free on all others.
    #[cfg(target_os = "linux")]
    TcpStream::connect(("127.0.0.2", server.address.port())).await.expect_err("nothing listens");
}

#[tokio::test]
async fn every_loopback_address_answers_to_its_own_name_srv_98() {
    let folder = SkillFolder::with_skills(&["a"]);
    let addresses: &[&str] =
        if cfg!(target_os = "linux") { &["127.0.0.1:0", "127.1.2.3:0"] } else { &["127.0.0.1:0"] };
    for address in addresses {
        let server = HttpServer::start(command(&folder, &["serve", ".", "--http", address])).await;
        let host = server.address.to_string();
        let reply = server.request(&[("Host", &host)], "skills/list", Value::Null).await;
        assert_eq!(reply.status, 200, "{host}: {}", reply.text());
    }
}

#[tokio::test]
async fn both_eras_are_served_by_one_process_over_http() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = HttpServer::serve(&folder, &["."]).await;
    let mut connection = HttpConnection::open(server.address).await;
    let initialize = legacy_request(1, "initialize", initialize_params("2025-06-18")).to_string();
    let headers = skillwire_testkit::LEGACY_HEADERS;
    connection.send("POST", "/mcp", &headers, initialize.as_bytes()).await;
    let reply = connection.reply().await;
    assert_eq!(reply.message().result()["protocolVersion"], "2025-06-18");
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
}

#[tokio::test]
async fn both_eras_are_served_over_stdio_srv_105() {
    let folder = SkillFolder::with_skills(&["a"]);
    let dir = folder.path().to_str().unwrap();
    for flags in [&["serve", dir][..], &["serve", "--stdio", dir]] {
        let mut modern = StdioClient::spawn(BINARY.as_ref(), flags);
        let discovered = modern.modern(1, "server/discover", json!({})).await;
        assert!(discovered.result()["capabilities"]["resources"].is_object());
        assert_eq!(uris(&modern.modern(2, "skills/list", json!({})).await), ["skill://a/SKILL.md"]);
        assert_eq!(modern.close().await.code, Some(0));

        let mut legacy = StdioClient::spawn(BINARY.as_ref(), flags);
        let request = legacy_request(1, "initialize", initialize_params("2025-11-25"));
        let initialized = legacy.request(&request).await;
        assert_eq!(initialized.result()["protocolVersion"], "2025-11-25");
        assert_eq!(initialized.result()["serverInfo"]["name"], "skillwire");
        legacy.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let listed = legacy.request(&legacy_request(2, "skills/list", json!({}))).await;
        assert_eq!(uris(&listed), ["skill://a/SKILL.md"]);
        assert_eq!(legacy.close().await.code, Some(0));
    }
}

#[tokio::test]
async fn stdin_that_is_closed_at_once_is_an_ordinary_end_v_29() {
    let folder = SkillFolder::with_skills(&["a"]);
    let ran = run(&folder, &["serve", "."]).await.assert_exit(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[tokio::test]
async fn requests_before_the_end_of_input_are_answered_srv_103() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut server = StdioServer::serve(&folder, &["."]);
    for id in 0..50 {
        server.send(&modern_request(id, "skills/list", json!({}))).await;
    }
    server.input = None;
    let mut ids = Vec::new();
    while let Some(message) = server.next().await {
        ids.push(message["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
    server.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn signals_stop_a_server_on_pipes_in_order() {
    let folder = SkillFolder::with_skills(&["a"]);
    for signal in ["TERM", "INT"] {
        let mut server = StdioServer::serve(&folder, &["."]);
        assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
        let filter = json!({ "notifications": { "resourcesListChanged": true } });
        server.request(&modern_request(2, "subscriptions/listen", filter)).await;
        server.process.signal(signal);
        // Standard input stays open, so only the signal can end the server.
        let completion = server.next().await.expect("the subscription is completed");
        assert_eq!(
            (&completion["id"], &completion["result"]["resultType"]),
            (&json!(2), &json!("complete"))
        );
        assert_eq!(server.next().await, None);
        let input = server.input.take();
        server.close().await.assert_exit(0);
        drop(input);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn signals_stop_a_server_on_a_port_in_order() {
    let folder = SkillFolder::with_skills(&["a"]);
    for signal in ["TERM", "INT"] {
        let server = HttpServer::serve(&folder, &["."]).await;
        // One connection is idle, and one has a stream that does not end by itself.
        let mut idle = HttpConnection::open(server.address).await;
        idle.send("GET", "/healthz", &[], b"").await;
        assert_eq!(idle.reply().await.status, 200);
        let mut stream = HttpConnection::open(server.address).await;
        let filter = json!({ "notifications": { "resourcesListChanged": true } });
        let listen = modern_request(1, "subscriptions/listen", filter).to_string();
        let headers = modern_headers("subscriptions/listen");
        stream.send("POST", "/mcp", &headers, listen.as_bytes()).await;
        assert_eq!(stream.head().await.expect("there is an answer").0, 200);
        assert!(stream.event().await.is_some(), "the subscription is acknowledged");
        server.process.signal(signal);
        while stream.event().await.is_some() {}
        assert!(idle.is_closed().await);
        let ended = server.process.wait().await.assert_exit(0);
        assert!(ended.stderr.ends_with("stopping"), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = HttpServer::serve(&folder, &["."]).await;
    let address = server.address.to_string();
    let ran = run(&folder, &["serve", ".", "--http", &address]).await;
    assert!(ran.stderr.contains("port 0 for a free one"), "{ran:?}");
    ran.assert_refused(2, &format!("{address} cannot be listened on"));
}

#[cfg(unix)]
#[tokio::test]
async fn closing_the_terminal_ends_a_server_fu_18() {
    let folder = SkillFolder::with_skills(&["a"]);
    let arguments = ["serve", ".", "--http", "127.0.0.1:0"];
    let mut session = TerminalSession::start(command(&folder, &arguments));
    session.wait_for_screen("listening on").await;
    session.signal("HUP");
    assert_eq!(session.wait().await, Some(0));
}
