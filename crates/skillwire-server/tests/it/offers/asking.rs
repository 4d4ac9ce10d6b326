//! Forms for the user, in both eras and over both transports.

use serde_json::{Value, json};
use skillwire_protocol::meta;
use skillwire_testkit::{
    LEGACY_HEADERS, StdioClient, TestOptions, TestServer, initialize_params, legacy_request,
    modern_meta,
};

use super::{server, within};
use crate::{
    peers::soon,
    support::{ALICE, BOB, TOKENS},
};

/// Metadata of a client that shows forms.
fn with_forms() -> Value {
    let mut meta = modern_meta();
    meta[meta::CLIENT_CAPABILITIES] = json!({ "elicitation": {} });
    meta
}

/// The parameters of a call of `ship` by a client that shows forms.
fn ship(more: &Value) -> Value {
    let mut params =
        json!({ "name": "ship", "arguments": { "to": "Rome" }, "_meta": with_forms() });
    for (name, value) in more.as_object().expect("an object") {
        params[name] = value.clone();
    }
    params
}

/// Creates the response of a user who accepts a form.
fn accept(key: &str, content: &Value) -> Value {
    json!({ key: { "action": "accept", "content": content } })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

#[tokio::test]
async fn a_modern_client_is_asked_by_a_result_and_answers_with_the_request_again() {
    let (_sample, _changes, server) = server().await;
    let asked = server.call("tools/call", ship(&json!({}))).await;
    assert_eq!(asked["resultType"], "input_required");
    let request = &asked["inputRequests"]["ship"];
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["mode"], "form");
    assert_eq!(request["params"]["message"], "Ship apples?");
    assert_eq!(request["params"]["requestedSchema"]["required"], json!(["fast"]));
    let state = &asked["requestState"];
    let slow = accept("ship", &json!({ "fast": false }));
    let again = ship(&json!({ "requestState": state, "inputResponses": slow }));
    let done = server.call("tools/call", again).await;
    assert_eq!(done["resultType"], "complete");
    assert!(text(&done).starts_with("Shipped apples to "), "{done}");
    for (action, seen) in [("decline", "Declined"), ("cancel", "Dismissed")] {
        let answers = json!({ "ship": { "action": action }, "other": 5 });
        let again = ship(&json!({ "requestState": state, "inputResponses": answers }));
        let done = server.call("tools/call", again).await;
        assert_eq!((&done["isError"], text(&done)), (&json!(true), seen));
    }
}

#[tokio::test]
async fn a_second_question_keeps_the_first_answer() {
    let (_sample, _changes, server) = server().await;
    let first = server.call("tools/call", ship(&json!({}))).await;
    let fast = accept("ship", &json!({ "fast": true }));
    let again = ship(&json!({ "requestState": first["requestState"], "inputResponses": fast }));
    let second = server.call("tools/call", again).await;
    assert_eq!(second["inputRequests"]["sure"]["params"]["message"], "Really fast?");
    let sure = accept("sure", &json!({}));
    let again = ship(&json!({ "requestState": second["requestState"], "inputResponses": sure }));
    assert_eq!(text(&server.call("tools/call", again).await), "Fast: Accepted({})");
}

#[tokio::test]
async fn an_answer_counts_only_for_the_question_that_was_shown() {
    let (sample, _changes, server) = server().await;
    let asked = server.call("tools/call", ship(&json!({}))).await;
    "weapons".clone_into(&mut sample.cargo.lock().unwrap());
    let slow = accept("ship", &json!({ "fast": false }));
    let again = ship(&json!({ "requestState": asked["requestState"], "inputResponses": slow }));
    let asked = server.call("tools/call", again).await;
    assert_eq!(asked["inputRequests"]["ship"]["params"]["message"], "Ship weapons?");
}

#[tokio::test]
async fn answers_without_a_state_are_asked_for_again() {
    let (_sample, _changes, server) = server().await;
    let slow = accept("ship", &json!({ "fast": false }));
    let forged = server.call("tools/call", ship(&json!({ "inputResponses": slow }))).await;
    assert_eq!(forged["resultType"], "input_required");
}

#[tokio::test]
async fn a_state_is_bound_to_the_caller_the_tool_and_the_arguments() {
    let (sample, _, _) = server().await;
    let offers = skillwire_server::offer::Offers::joined(
        vec![sample],
        skillwire_server::offer::ListChanges::default(),
    );
    let folder = skillwire_testkit::SkillFolder::with_skills(&["a"]);
    let options = TestOptions {
        offers: offers.expect("names are unique"),
        tokens: Some(TOKENS.to_owned()),
        ..Default::default()
    };
    let server = TestServer::with(folder.path(), options).await;
    let call = async |who, params| server.modern_with(&[who], "tools/call", params).await.message();
    let asked = call(ALICE, ship(&json!({}))).await;
    let state = asked.result()["requestState"].clone();
    let slow = accept("ship", &json!({ "fast": false }));
    let again = ship(&json!({ "requestState": state, "inputResponses": slow }));
    let mut elsewhere = again.clone();
    elsewhere["arguments"]["to"] = json!("Paris");
    let mut tampered = again.clone();
    tampered["requestState"] = json!(format!("{}A", state.as_str().unwrap()));
    for (who, params) in [(BOB, again.clone()), (ALICE, elsewhere), (ALICE, tampered)] {
        let refused = call(who, params).await;
        assert_eq!(refused.code(), -32602);
        assert!(refused.message().contains("`params.requestState`"), "{}", refused.message());
    }
    assert_eq!(call(ALICE, again).await.result()["resultType"], "complete");
}

#[tokio::test]
async fn a_malformed_answer_is_invalid_params() {
    let (_sample, _changes, server) = server().await;
    let asked = server.call("tools/call", ship(&json!({}))).await;
    for answers in [
        json!([]),
        json!({ "ship": { "action": "maybe" } }),
        json!({ "ship": ["accept"] }),
        json!({ "ship": { "action": "accept", "content": { "x": "y".repeat(10_000) } } }),
    ] {
        let again =
            ship(&json!({ "requestState": asked["requestState"], "inputResponses": answers }));
        assert_eq!(server.modern("tools/call", again).await.code(), -32602, "{answers}");
    }
}

#[tokio::test]
async fn who_shows_no_forms_is_not_asked() {
    let (_sample, _changes, server) = server().await;
    let params = json!({ "name": "ship", "_meta": modern_meta() });
    assert_eq!(text(&server.call("tools/call", params).await), "Unavailable");
    let (session, _) = server.initialize("2025-11-25").await;
    let reply = server.legacy(&session, "tools/call", json!({ "name": "ship" })).await;
    assert_eq!(text(reply.message().result()), "Unavailable");
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let reply = client.request(&legacy_request(1, "tools/call", json!({ "name": "ship" }))).await;
    assert_eq!(text(reply.result()), "Unavailable");
}

#[tokio::test]
async fn a_prompt_may_ask_too() {
    let (_sample, _changes, server) = server().await;
    let mut params = json!({ "name": "greet-007", "_meta": with_forms() });
    let asked = server.call("prompts/get", params.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = accept("greet", &json!({}));
    let done = server.call("prompts/get", params).await;
    assert_eq!(done["description"], "A greeting.");
    assert_eq!(done["messages"][0]["content"]["text"], "Hello: Accepted({})");
}

/// Opens a legacy session of a client that shows forms, over stdio.
async fn legacy_pipe(server: &TestServer) -> StdioClient {
    let mut client = StdioClient::in_process(server.engine());
    let mut params = initialize_params("2025-06-18");
    params["capabilities"] = json!({ "elicitation": {} });
    client.request(&legacy_request(0, "initialize", params)).await.result();
    client
}

#[tokio::test]
async fn a_legacy_client_is_asked_by_a_request_over_stdio() {
    let (_sample, _changes, server) = server().await;
    let mut client = legacy_pipe(&server).await;
    let call = legacy_request(1, "tools/call", json!({ "name": "ship" }));
    let asked = client.request(&call).await.0;
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], "Ship apples?");
    assert_eq!(asked["params"].get("mode"), None, "older clients know no modes");
    // The server answers other requests meanwhile.
    assert_eq!(client.request(&legacy_request(2, "ping", json!({}))).await.0["id"], 2);
    let answer = json!({ "action": "accept", "content": { "fast": false } });
    let unasked = json!({ "jsonrpc": "2.0", "id": 99, "result": answer });
    client.send(&unasked).await;
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
    let done = client.request(&response).await;
    assert_eq!(done.0["id"], 1);
    assert!(text(done.result()).starts_with("Shipped apples"), "{done:?}");
    assert_eq!(done.result().get("resultType"), None);
}

#[tokio::test]
async fn a_legacy_client_that_fails_to_ask_has_not_reached_the_user() {
    let (_sample, _changes, server) = server().await;
    let mut client = legacy_pipe(&server).await;
    let call = legacy_request(1, "tools/call", json!({ "name": "ship" }));
    let asked = client.request(&call).await.0;
    let error = json!({ "code": -32603, "message": "No." });
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    assert_eq!(text(client.request(&response).await.result()), "Unavailable");
}

#[tokio::test]
async fn a_question_is_closed_when_its_call_is_cancelled() {
    let (_sample, _changes, server) = server().await;
    let mut client = legacy_pipe(&server).await;
    let call = legacy_request(1, "tools/call", json!({ "name": "ship" }));
    let asked = client.request(&call).await.0;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    let closed = client.request(&cancel).await.0;
    assert_eq!(closed["method"], "notifications/cancelled");
    assert_eq!(closed["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_question_ends_with_the_pipe() {
    let (sample, _changes, server) = server().await;
    let mut client = legacy_pipe(&server).await;
    client.request(&legacy_request(1, "tools/call", json!({ "name": "ship" }))).await;
    let started = std::time::Instant::now();
    assert_eq!(client.close().await.code, Some(0));
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "nobody waits for an answer");
    assert_eq!(sample.ended.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_its_call_over_http() {
    let (sample, _changes, server) = server().await;
    let mut params = initialize_params("2025-11-25");
    params["capabilities"] = json!({ "elicitation": { "form": {} } });
    let body = legacy_request(0, "initialize", params).to_string();
    let opened = server.post(&LEGACY_HEADERS, body.as_bytes()).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let (stranger, _) = server.initialize("2025-11-25").await;
    let call = legacy_request(1, "tools/call", json!({ "name": "ship" }));
    let mut stream = within(&server, &session, &call).await;
    let (status, headers) = stream.head().await.unwrap();
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())));
    let asked = soon(stream.event()).await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let answer = json!({ "action": "decline" });
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
    // An answer from another session does not count.
    let wrong = within(&server, &stranger, &response).await.reply().await;
    assert_eq!(wrong.status, 202);
    let accepted = json!({ "jsonrpc": "2.0", "id": asked["id"],
                "result": { "action": "accept", "content": { "fast": false } } });
    assert_eq!(within(&server, &session, &accepted).await.reply().await.status, 202);
    let done = soon(stream.event()).await.unwrap();
    assert_eq!(done["id"], 1);
    assert!(text(&done["result"]).starts_with("Shipped apples"), "{done}");
    assert_eq!(stream.event().await, None, "the stream ends with the answer");
    let mut ending = server.connect().await;
    ending.send("DELETE", "/mcp", &[("Mcp-Session-Id", session.as_str())], b"").await;
    assert_eq!(ending.reply().await.status, 204);
    assert_eq!(*sample.ended.lock().unwrap(), [session]);
    let nothing = server.post(&LEGACY_HEADERS, response.to_string().as_bytes()).await;
    assert_eq!(nothing.status, 400);
}
