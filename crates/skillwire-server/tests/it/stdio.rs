//! Messages over pipes: SRV-103, V-29, and cancellation (SRV-102) there.

use serde_json::{Value, json};
use skillwire_server::stdio;
use skillwire_source::{DirectoryOptions, DirectorySource};
use skillwire_testkit::{
    SkillFolder, StdioClient, TestOptions, TestServer, initialize_params, legacy_request,
    modern_request,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Duration, timeout},
};

use crate::peers::{LiveSkill, Mood, pipe, soon, tasks, tasks_at_most};

async fn server() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// Parses what a server wrote; every line must be a message.
fn messages(written: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(written).expect("output is UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "half a message: {text}");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is a message")).collect()
}

fn cancelled(id: impl Into<Value>) -> Value {
    let params = json!({ "requestId": id.into(), "reason": "test" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

#[tokio::test]
async fn output_is_one_message_a_line_and_nothing_else_srv_103() {
    let (folder, mut server) = server().await;
    let text = "one\ntwo\r\nthree\u{2028}\u{85}four\u{b}\n\n";
    folder.file("a/lines.txt", text);
    server.refresh();
    let params = json!({ "uri": "skill://a/lines.txt" });
    let input = [
        line(&modern_request(1, "resources/read", params)),
        line(&modern_request("2\n", "no\nmethod", json!({}))),
        "\n   \r\n".to_owned(),
        "not JSON\n".to_owned(),
        line(&json!({ "jsonrpc": "2.0", "method": "notifications/whatever" })),
        line(&json!({ "jsonrpc": "2.0", "id": 9, "result": {} })),
        line(&modern_request(3, "skills/list", json!({}))),
    ]
    .concat();
    let found = messages(&pipe(server.engine(), input).await);
    assert_eq!(found.len(), 4, "{found:?}");
    // The server reads a file while it answers other requests, so answers are matched by id.
    let answer = |id: Value| found.iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(answer(json!(1))["result"]["contents"][0]["text"], text);
    assert_eq!(answer(json!("2\n"))["error"]["code"], -32601);
    assert_eq!(answer(Value::Null)["error"]["code"], -32700);
    assert!(answer(json!(3))["result"]["skills"].is_array());
}

#[tokio::test]
async fn the_end_of_input_ends_the_server_srv_103_v_29() {
    let (_folder, server) = server().await;
    let before = tasks();
    assert_eq!(pipe(server.engine(), "").await, b"");
    assert_eq!(StdioClient::in_process(server.engine()).close().await.code, Some(0));
    // The same with a subscription and a legacy session open.
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-11-25"))).await;
    client.modern(1, "subscriptions/listen", json!({ "notifications": {} })).await;
    assert_eq!(client.close().await.code, Some(0));
    tasks_at_most(before).await;
}

#[tokio::test]
async fn everything_asked_before_the_end_of_input_is_answered_srv_103() {
    let (_folder, server) = server().await;
    let input: String =
        (0..300).map(|id| line(&modern_request(id, "skills/list", json!({})))).collect();
    let ids: Vec<_> =
        messages(&pipe(server.engine(), input).await).iter().map(|m| m["id"].clone()).collect();
    assert_eq!(ids, (0..300).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_first_message_may_be_a_notification_srv_103() {
    let (_folder, server) = server().await;
    for first in ["notifications/initialized", "notifications/cancelled", "notifications/x"] {
        let input = [
            line(&json!({ "jsonrpc": "2.0", "method": first })),
            line(&json!({ "jsonrpc": "2.0", "method": first, "params": { "requestId": {} } })),
            line(&modern_request(1, "skills/list", json!({}))),
        ];
        let found = messages(&pipe(server.engine(), input.concat()).await);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["id"], 1);
    }
}

#[tokio::test]
async fn both_eras_may_use_one_pipe_srv_103() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    let bare = legacy_request(1, "skills/list", json!({}));
    client.modern(1, "skills/list", json!({})).await.result();
    assert_eq!(client.request(&bare).await.code(), -32602, "no handshake, no metadata");
    client.request(&legacy_request(2, "ping", json!({}))).await.result();
    client.request(&legacy_request(2, "initialize", initialize_params("2024-11-05"))).await;
    let legacy = client.request(&bare).await.result().clone();
    let modern = client.modern(3, "skills/list", json!({})).await.result().clone();
    assert_eq!(legacy["skills"][0]["resources"], modern["skills"][0]["resources"]);
    assert!(legacy.get("resultType").is_none());
    assert_eq!(modern["resultType"], "complete");
    assert_eq!(client.modern(4, "ping", json!({})).await.code(), -32601);
    assert_eq!(client.close().await.code, Some(0));
}

#[tokio::test]
async fn half_a_message_is_no_message_v_29() {
    let (_folder, server) = server().await;
    let whole = line(&modern_request(1, "skills/list", json!({})));
    for length in 0..whole.len() {
        let written = pipe(server.engine(), &whole.as_bytes()[..length]).await;
        assert!(written.is_empty(), "{length} bytes were answered");
    }
}

#[tokio::test]
async fn a_line_without_end_is_passed_over_without_being_kept_v_29() {
    let (_folder, server) = server().await;
    let mut input = vec![b' '; 9 << 20];
    input[0] = b'{';
    input.push(b'\n');
    input.extend(line(&modern_request(1, "skills/list", json!({}))).bytes());
    let found = messages(&pipe(server.engine(), input).await);
    assert_eq!(found[0]["error"]["code"], -32600);
    assert!(found[0].get("id").is_none());
    assert_eq!((found.len(), &found[1]["id"]), (2, &json!(1)));
    assert_eq!(pipe(server.engine(), vec![b'x'; 9 << 20]).await, b"");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_and_the_pipe_lives_v_29() {
    let (_folder, server) = server().await;
    let good = line(&modern_request(1, "skills/list", json!({})));
    for junk in [&b"\0"[..], b"\0\0{}\0", b"\xff\xfe", b"{\"a\":\"\xc0\xaf\"}", b"\x1b[2J", b"}{"] {
        let input = [junk, b"\n", good.as_bytes()].concat();
        let found = messages(&pipe(server.engine(), input).await);
        assert_eq!(found.len(), 2, "{junk:?}");
        assert_eq!(found[0]["error"]["code"], -32700, "{junk:?}");
        assert!(found[0].get("id").is_none());
        assert_eq!(found[1]["id"], 1);
    }
}

#[tokio::test]
async fn an_output_that_nobody_reads_any_more_ends_the_server_v_29() {
    let (_folder, server) = server().await;
    let (mut input, server_input) = tokio::io::duplex(64 * 1024);
    let (server_output, output) = tokio::io::duplex(64);
    let running = tokio::spawn(stdio::run(server.engine(), server_input, server_output));
    drop(output);
    // The input stays open, but the client does not read the answer.
    let request = line(&modern_request(1, "skills/list", json!({})));
    input.write_all(request.as_bytes()).await.unwrap();
    let ended = timeout(Duration::from_secs(20), running).await.expect("the server ends");
    ended.expect("no panic").expect("a reader that left is an ordinary end");
}

#[tokio::test]
async fn a_cancelled_request_is_never_answered_srv_102() {
    let live = LiveSkill::default();
    let server = TestServer::with_sources(vec![live.source()], TestOptions::default()).await;
    let mut client = StdioClient::in_process(server.engine());
    let read = |id| modern_request(id, "resources/read", json!({ "uri": "skill://live/now.txt" }));
    live.set(Mood::Stuck);
    client.send(&read(1)).await;
    client.send(&cancelled(1)).await;
    // Messages are handled in order, so the cancellation takes effect before the work continues.
    client.modern(2, "skills/list", json!({})).await.result();
    live.set(Mood::Willing);
    let next = client.request(&read(3)).await;
    assert_eq!(next.0["id"], 3, "{}", next.0);
    assert_eq!(next.result()["contents"][0]["text"], "now");
    // The id is free again.
    assert_eq!(client.request(&read(1)).await.0["id"], 1);
}

#[tokio::test]
async fn a_slow_request_does_not_hold_up_others_srv_102() {
    let live = LiveSkill::default();
    let server = TestServer::with_sources(vec![live.source()], TestOptions::default()).await;
    let mut client = StdioClient::in_process(server.engine());
    let read = modern_request("slow", "resources/read", json!({ "uri": "skill://live/now.txt" }));
    live.set(Mood::Stuck);
    client.send(&read).await;
    client.modern(2, "skills/list", json!({})).await.result();
    // A client may not reuse an id while its request is running.
    assert_eq!(client.request(&read).await.code(), -32600);
    live.set(Mood::Willing);
    assert_eq!(client.next().await.unwrap()["id"], "slow");
}

#[tokio::test]
async fn a_generator_that_never_ends_takes_a_bounded_number_of_threads_v_17() {
    const TURNS: usize = 32;
    let folder = SkillFolder::with_skills(&["a"]);
    // Too large to be read on the event loop.
    folder.file("a/large.txt", "x".repeat(100_000));
    let source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
    let live = LiveSkill::default();
    let sources = vec![live.source(), Box::new(source)];
    let server = TestServer::with_sources(sources, TestOptions::default()).await;
    let mut client = StdioClient::in_process(server.engine());
    live.set(Mood::Stuck);
    // A client that leaves and comes back requests what is still being made for it.
    for round in 0..3_i64 {
        let ids = round * 100..round * 100 + 64;
        for id in ids.clone() {
            let read = json!({ "uri": "skill://live/now.txt" });
            client.send(&modern_request(id, "resources/read", read)).await;
        }
        soon(async {
            while live.under_way() < TURNS {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let read = json!({ "uri": "skill://a/large.txt" });
        client.modern(1_000 + round, "resources/read", read).await.result();
        assert_eq!(live.under_way(), TURNS);
        for id in ids {
            client.send(&cancelled(id)).await;
        }
    }
    live.set(Mood::Willing);
    let read = json!({ "uri": "skill://live/now.txt" });
    client.modern(2_000, "resources/read", read).await.result();
}

#[tokio::test]
async fn cancelling_what_is_not_under_way_changes_nothing_srv_102() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    for id in [json!(1), json!("1"), json!(null), json!({}), json!(1.5), json!("\u{0}")] {
        client.send(&cancelled(id)).await;
    }
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" })).await;
    assert_eq!(client.modern(1, "skills/list", json!({})).await.0["id"], 1);
}

#[tokio::test]
async fn a_cancelled_subscription_is_silent_srv_102_srv_106() {
    let (folder, mut server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    let filter = json!({ "notifications": { "resourcesListChanged": true } });
    client.modern(1, "subscriptions/listen", filter.clone()).await;
    client.modern(2, "subscriptions/listen", filter).await;
    client.send(&cancelled(1)).await;
    client.modern(3, "skills/list", json!({})).await.result();
    folder.skill("b");
    server.refresh();
    let key = skillwire_protocol::meta::SUBSCRIPTION_ID;
    assert_eq!(client.next().await.unwrap()["params"]["_meta"][key], 2);
    assert_eq!(client.modern(4, "skills/list", json!({})).await.0["id"], 4);
}

#[tokio::test]
async fn a_server_that_stops_completes_its_subscriptions_and_its_work_srv_106() {
    let (folder, server) = server().await;
    folder.file("a/notes.md", "text");
    let (mut input, server_input) = tokio::io::duplex(64 * 1024);
    let (server_output, mut output) = tokio::io::duplex(64 * 1024);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running =
        tokio::spawn(stdio::run_until(server.engine(), server_input, server_output, async {
            let _ = stopped.await;
        }));
    for id in [7, 8] {
        let filter = json!({ "notifications": { "resourcesListChanged": true } });
        let request = line(&modern_request(id, "subscriptions/listen", filter));
        input.write_all(request.as_bytes()).await.unwrap();
    }
    let read = modern_request(9, "resources/read", json!({ "uri": "skill://a/SKILL.md" }));
    input.write_all(line(&read).as_bytes()).await.unwrap();
    let mut written = Vec::new();
    let acknowledged = |written: &[u8]| {
        String::from_utf8_lossy(written).matches("subscriptions/acknowledged").count() == 2
    };
    while !acknowledged(&written) {
        assert!(soon(output.read_buf(&mut written)).await.unwrap() > 0);
    }
    stop.send(()).expect("the server listens");
    soon(output.read_to_end(&mut written)).await.unwrap();
    soon(running).await.expect("no panic").expect("an ordinary end");
    let found = messages(&written);
    for id in [7, 8] {
        let last = found.iter().rfind(|message| message["id"] == id).expect("a completion");
        assert_eq!(last["result"]["resultType"], "complete");
        assert_eq!(last["result"]["_meta"][skillwire_protocol::meta::SUBSCRIPTION_ID], id);
    }
    let read = found.iter().find(|message| message["id"] == 9).expect("an answer");
    assert!(read["result"]["contents"].is_array(), "{read}");
}
