//! Progress reports, and cancellation of work that no client waits for.

use serde_json::{Value, json};
use skillwire_testkit::{
    StdioClient, TestOptions, TestServer, initialize_params, legacy_request, modern_meta,
};

use super::{server, within};
use crate::peers::{LiveSkill, Mood, send, soon};

fn counting() -> Value {
    let mut meta = modern_meta();
    meta["progressToken"] = json!("t1");
    json!({ "name": "count", "_meta": meta })
}

fn told(message: &Value) -> (&Value, &Value, &Value) {
    assert_eq!(message["method"], "notifications/progress", "{message}");
    let params = &message["params"];
    assert_eq!(params["message"], "Counting.");
    (&params["progressToken"], &params["progress"], &params["total"])
}

#[tokio::test]
async fn progress_precedes_the_answer_on_its_stream_and_only_grows() {
    let (_sample, _changes, server) = server().await;
    let mut stream = send(&server, &[("Mcp-Name", "count")], 5, "tools/call", counting()).await;
    assert_eq!(stream.head().await.unwrap().0, 200);
    for step in 1..=3 {
        let message = soon(stream.event()).await.unwrap();
        assert_eq!(told(&message), (&json!("t1"), &json!(step), &json!(3)));
    }
    let done = soon(stream.event()).await.unwrap();
    assert_eq!(
        (&done["id"], &done["result"]["structuredContent"]["count"]),
        (&json!(5), &json!(3))
    );
}

#[tokio::test]
async fn progress_is_told_over_stdio_on_both_eras() {
    let (_sample, _changes, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let legacy =
        json!({ "name": "count", "_meta": { "progressToken": 18_446_744_073_709_551_615_u64 } });
    client.send(&legacy_request(1, "tools/call", legacy)).await;
    for step in 1..=3 {
        let message = client.next().await.unwrap();
        assert_eq!(told(&message).0.as_u64(), Some(u64::MAX));
        assert_eq!(told(&message).1, &json!(step));
    }
    assert_eq!(client.next().await.unwrap()["id"], 1);
    let first = client.modern(2, "tools/call", counting()).await.0;
    assert_eq!(told(&first).1, &json!(1));
}

#[tokio::test]
async fn who_gives_no_token_gets_one_plain_answer() {
    let (_sample, _changes, server) = server().await;
    let reply = server.modern_with(&[], "tools/call", json!({ "name": "count" })).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.message().result()["content"][0]["text"], "3");
}

#[tokio::test]
async fn a_call_ends_when_it_is_cancelled_or_its_client_goes_away() {
    let (sample, _changes, server) = server().await;
    let mut waiting = sample.waiting.subscribe();
    let mut client = StdioClient::in_process(server.engine());
    let call = skillwire_testkit::modern_request(1, "tools/call", json!({ "name": "wait" }));
    client.send(&call).await;
    let stream =
        send(&server, &[("Mcp-Name", "wait")], 5, "tools/call", json!({ "name": "wait" })).await;
    soon(waiting.wait_for(|count| *count == 2)).await.unwrap();
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    client.send(&cancel).await;
    soon(waiting.wait_for(|count| *count == 1)).await.unwrap();
    drop(stream);
    soon(waiting.wait_for(|count| *count == 0)).await.unwrap();
}

#[tokio::test]
async fn a_legacy_read_over_http_ends_when_its_session_cancels_it_srv_102() {
    let live = LiveSkill::default();
    let server = TestServer::with_sources(vec![live.source()], TestOptions::default()).await;
    let (session, _) = server.initialize("2025-11-25").await;
    live.set(Mood::Stuck);
    let read = legacy_request("r", "resources/read", json!({ "uri": "skill://live/now.txt" }));
    let mut stream = within(&server, &session, &read).await;
    soon(async {
        while live.under_way() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": "r" } });
    assert_eq!(within(&server, &session, &cancel).await.reply().await.status, 202);
    let nothing = soon(stream.reply()).await;
    assert_eq!((nothing.status, nothing.body.len()), (202, 0), "nobody waits for an answer");
    live.set(Mood::Willing);
}

#[tokio::test]
async fn a_legacy_call_over_http_ends_when_its_session_cancels_it() {
    let (sample, _changes, server) = server().await;
    let mut waiting = sample.waiting.subscribe();
    let (session, _) = server.initialize("2025-11-25").await;
    let (stranger, _) = server.initialize("2025-11-25").await;
    let call = |id: &str| legacy_request(id, "tools/call", json!({ "name": "wait" }));
    let mut stream = within(&server, &session, &call("w")).await;
    soon(waiting.wait_for(|count| *count == 1)).await.unwrap();
    let cancel = |id: &str| {
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id } })
    };
    // Neither another session nor another id cancels the request.
    assert_eq!(within(&server, &stranger, &cancel("w")).await.reply().await.status, 202);
    assert_eq!(within(&server, &session, &cancel("x")).await.reply().await.status, 202);
    sample.enough.notify_one();
    let answer = soon(stream.reply()).await.message();
    assert_eq!(answer.result()["content"][0]["text"], "Waited.", "nobody cancelled it");
    let mut stream = within(&server, &session, &call("v")).await;
    soon(waiting.wait_for(|count| *count == 1)).await.unwrap();
    assert_eq!(within(&server, &session, &cancel("v")).await.reply().await.status, 202);
    soon(waiting.wait_for(|count| *count == 0)).await.unwrap();
    let nothing = soon(stream.reply()).await;
    assert_eq!((nothing.status, nothing.body.len()), (202, 0), "nobody waits for an answer");
}
