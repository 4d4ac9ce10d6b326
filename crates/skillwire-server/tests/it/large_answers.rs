//! Large catalogues: compression, metrics, and files left on disk.

use std::{
    fs,
    io::Read,
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use skillwire_server::{Config, http::HttpOptions};
use skillwire_testkit::{
    HttpConnection, SkillFolder, TestOptions, TestServer, modern_headers, modern_request,
};

use crate::support::{ALICE, TOKENS, in_memory, read};

async fn many() -> TestServer {
    let paths = (0..300).map(|n| format!("skill-{n}"));
    TestServer::with_sources(vec![in_memory(paths)], TestOptions::default()).await
}

#[tokio::test]
async fn a_large_page_is_compressed_for_clients_that_accept_it_srv_56() {
    let server = many().await;
    let plain = server.modern_with(&[], "skills/list", json!({})).await;
    assert_eq!(plain.header("content-encoding"), None);
    let accept = [("Accept-Encoding", "gzip, br")];
    let packed = server.modern_with(&accept, "skills/list", json!({})).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 2 < plain.body.len());
    let mut text = String::new();
    GzDecoder::new(packed.body.as_slice()).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.text());
    let small = server.modern_with(&accept, "server/discover", json!({})).await;
    assert_eq!(small.header("content-encoding"), None);
}

async fn get(server: &TestServer, headers: &[(&str, &str)]) -> (u16, String) {
    let mut connection = server.connect().await;
    connection.send("GET", "/metrics", headers, b"").await;
    let reply = connection.reply().await;
    (reply.status, reply.text())
}

#[tokio::test]
async fn numbers_are_shown_only_where_they_are_wanted_and_to_whom_they_may_be_srv_109() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    assert_eq!(get(&server, &[]).await.0, 404);
    let http = HttpOptions::default().metrics(true);
    let options = TestOptions { http, tokens: Some(TOKENS.to_owned()), ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    assert_eq!(get(&server, &[]).await.0, 401);
    assert_eq!(get(&server, &[ALICE, ("Host", "evil.example")]).await.0, 403);
    for (method, times) in [("skills/list", 2), ("evil/method", 3)] {
        for _ in 0..times {
            server.modern_with(&[ALICE], method, json!({})).await;
        }
    }
    let (status, text) = get(&server, &[ALICE]).await;
    assert_eq!(status, 200);
    for line in [
        r#"skillwire_requests_total{method="skills/list",code="0",mount="/mcp",outcome="ok"} 2"#,
        r#"{method="other",code="-32601",mount="/mcp",outcome="unknown-method"} 3"#,
        r#"skillwire_auth_refusals_total{mount="/mcp",reason="no-token"} 1"#,
        r#"skillwire_auth_refusals_total{mount="/mcp",reason="foreign-host"} 1"#,
        "skillwire_connections 1",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
}

#[tokio::test]
async fn a_file_rotated_on_disk_is_never_sent_under_the_old_entry_srv_52() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/notes.md", "old bytes");
    // The cache holds nothing, so every read goes to the disk.
    let config = Config::default().cache_bytes(0);
    let options = TestOptions { config, ..TestOptions::default() };
    let mut server = TestServer::with(folder.path(), options).await;
    let uri = "skill://a/notes.md";
    assert_eq!(read(&server, uri).await, b"old bytes");
    for other in ["new bytes", "longer than before", ""] {
        folder.file("a/notes.md", other);
        let reply = server.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(reply.code(), -32602, "{other}");
        assert!(!reply.0.to_string().contains("bytes\""), "{}", reply.0);
    }
    fs::remove_file(folder.join("a/notes.md")).unwrap();
    assert_eq!(server.modern("resources/read", json!({ "uri": uri })).await.code(), -32602);
    folder.file("a/notes.md", "new bytes");
    server.refresh();
    assert_eq!(read(&server, uri).await, b"new bytes");
}

#[tokio::test]
async fn a_small_catalogue_is_served_from_memory_when_its_folder_goes_away_v_61() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/notes.md", "kept");
    let server = TestServer::start(folder.path()).await;
    server.engine().warm();
    folder.remove("a");
    assert_eq!(read(&server, "skill://a/notes.md").await, b"kept");
    let listed: Vec<Value> = server.skills().await;
    assert_eq!(listed.len(), 1);
}

/// Subscribes to some files and returns the stream with its acknowledgment.
async fn listen(server: &TestServer, uris: &[&str]) -> (HttpConnection, Value) {
    let params = json!({ "notifications": { "resourceSubscriptions": uris } });
    let body = modern_request(1, "subscriptions/listen", params).to_string();
    let mut connection = server.connect().await;
    let headers = modern_headers("subscriptions/listen");
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    connection.head().await.expect("a stream");
    let acknowledged = connection.event().await.expect("an acknowledgment");
    (connection, acknowledged)
}

#[tokio::test]
async fn a_uri_of_a_million_segments_costs_nothing_v_06() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let uri = format!("skill://{}", "a/".repeat(1_000_000));
    // Measures how long it takes to send and read as many bytes on this machine.
    let started = Instant::now();
    let plain = json!({ "uri": "a".repeat(uri.len()) });
    assert_eq!(server.modern("skills/get", plain).await.code(), -32602);
    // Milliseconds if the server checks the length first, tens of seconds per step if it does not.
    let most = Duration::from_secs(10).max(started.elapsed() * 50);
    let started = Instant::now();
    let in_time = || assert!(started.elapsed() < most, "work grows with the URI");
    for method in ["resources/directory/read", "skills/get"] {
        let reply = server.modern(method, json!({ "uri": uri })).await;
        assert_eq!(reply.code(), -32602, "{method}");
        assert!(reply.message().len() < 1_000);
        in_time();
    }
    let (session, _) = server.initialize("2025-11-25").await;
    let reply = server.legacy(&session, "resources/read", json!({ "uri": uri })).await.message();
    assert_eq!(reply.code(), -32002);
    let (_stream, acknowledged) = listen(&server, &[&uri]).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    in_time();
}

#[tokio::test]
async fn many_skills_of_one_name_are_told_in_few_words_srv_39() {
    let paths = (0..2_000).map(|n| format!("team-{n}/onboarding"));
    let sources = vec![in_memory(paths)];
    let mut server = TestServer::with_sources(sources, TestOptions::default()).await;
    let told = server.refresh();
    let longest = told.inspected().flat_map(|i| &i.findings).map(|f| f.message.len()).max();
    assert!(longest.is_some_and(|longest| longest < 400), "{longest:?}");
    assert_eq!(server.skills().await.len(), 2_000);
}

#[tokio::test]
async fn a_large_file_is_kept_too_v_61() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/data.bin", vec![0xff; 5 << 20]);
    let server = TestServer::start(folder.path()).await;
    server.engine().warm();
    folder.remove("a");
    assert_eq!(read(&server, "skill://a/data.bin").await.len(), 5 << 20);
}

#[tokio::test]
async fn a_skill_that_comes_back_is_told_too_srv_106() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let mut server = TestServer::start(folder.path()).await;
    let uri = "skill://a/SKILL.md";
    let (mut connection, _) = listen(&server, &[uri]).await;
    folder.remove("a");
    server.refresh();
    assert_eq!(connection.event().await.expect("it went")["params"]["uri"], uri);
    folder.skill("a");
    server.refresh();
    assert_eq!(connection.event().await.expect("it came back")["params"]["uri"], uri);
}
