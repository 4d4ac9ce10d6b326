//! Questions of servers to the users of clients, in both eras on both sides.

use serde_json::{Value, json};
use skillwire_testkit::{
    Fault, HostileServer, LEGACY_HEADERS, ReplyGate, ScriptedReply, initialize_params,
    legacy_request,
};

use super::support::{OfferGateway, result, server_with, text_result, with_forms};

fn question() -> Value {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "x": 1 });
    json!({ "message": "Sure?", "requestedSchema": schema })
}

/// A modern server that asks once and then says what it was answered.
fn modern() -> HostileServer {
    server_with(&["ship"]).on("tools/call", |request, _| {
        if request.params["requestState"] == "kept by acme" {
            let answers = &request.params["inputResponses"]["q"];
            return result(text_result(&format!("{} {}", answers["action"], answers["content"])));
        }
        let asked = json!({ "q": { "method": "elicitation/create", "params": question() } });
        ScriptedReply::Result(json!({
            "resultType": "input_required", "inputRequests": asked, "requestState": "kept by acme",
        }))
    })
}

/// A legacy server that asks while it answers; the gate is opened when it got its answer.
fn legacy(gate: &ReplyGate) -> HostileServer {
    let gate = gate.clone();
    server_with(&["ship"]).fault(Fault::LegacyOnly).on("tools/call", move |_, _| {
        let asks = json!({
            "jsonrpc": "2.0", "id": "q-7", "method": "elicitation/create", "params": question(),
        });
        let answer = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{}}}"#, text_result("shipped"));
        let answer = ScriptedReply::Dripped(Vec::new(), gate.clone(), answer.into_bytes());
        ScriptedReply::After(vec![asks], Box::new(answer))
    })
}

async fn ship(gateway: &OfferGateway, more: &Value) -> Value {
    let mut params =
        json!({ "name": "acme__ship", "arguments": { "to": "Rome" }, "_meta": with_forms() });
    for (name, value) in more.as_object().expect("an object") {
        params[name] = value.clone();
    }
    gateway.server.modern("tools/call", params).await.0
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

#[tokio::test]
async fn a_modern_server_asks_the_user_of_a_modern_client() {
    let server = modern();
    let gateway = OfferGateway::of(&server).await;
    let asked = ship(&gateway, &json!({})).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let params = &asked["inputRequests"]["q"]["params"];
    assert_eq!(params["message"], "The server `acme` asks: Sure?", "the user knows who asks");
    assert_eq!(params["requestedSchema"], question()["requestedSchema"]);
    let state = asked["requestState"].as_str().unwrap();
    assert!(!state.contains("kept by acme"), "the state is sealed");
    let again = json!({ "requestState": state, "inputResponses": { "q": accepted() } });
    let done = ship(&gateway, &again).await["result"].clone();
    assert_eq!(done["content"][0]["text"], "\"accept\" {\"ok\":true}");
    assert_eq!(server.count("tools/call"), 2, "the call does not begin anew");
    assert!(gateway.recorded(2).await[0].ends_with("Asked"));
    // The state counts for this request alone.
    let mut other = again.clone();
    other["arguments"] = json!({ "to": "Paris" });
    assert_eq!(ship(&gateway, &other).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_legacy_server_waits_until_a_modern_client_comes_back_with_the_answer() {
    let gate = ReplyGate::new();
    let server = legacy(&gate);
    let gateway = OfferGateway::of(&server).await;
    let asked = ship(&gateway, &json!({})).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let again = json!({
        "requestState": asked["requestState"], "inputResponses": { "question": accepted() },
    });
    let (done, ()) = tokio::join!(ship(&gateway, &again), async {
        server.wait_for("(response)", 1).await;
        gate.open();
    });
    assert_eq!(done["result"]["content"][0]["text"], "shipped", "{done}");
    let answer = server.log().into_iter().find(|logged| logged.method == "(response)").unwrap();
    assert_eq!((&answer.params["id"], &answer.params["result"]), (&json!("q-7"), &accepted()));
    assert_eq!(server.count("tools/call"), 1, "the call was held open");
    assert_eq!(ship(&gateway, &again).await["error"]["code"], -32602, "an answer counts once");
}

#[tokio::test]
async fn a_legacy_client_is_asked_during_its_call_by_servers_of_both_eras() {
    let gate = ReplyGate::new();
    for server in [modern(), legacy(&gate)] {
        let gateway = OfferGateway::of(&server).await;
        let mut params = initialize_params("2025-11-25");
        params["capabilities"] = json!({ "elicitation": {} });
        let body = legacy_request(0, "initialize", params).to_string();
        let opened = gateway.server.post(&LEGACY_HEADERS, body.as_bytes()).await;
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        let mut connection = gateway.server.connect().await;
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.extend([("Mcp-Session-Id", &*session), ("MCP-Protocol-Version", "2025-11-25")]);
        let call = json!({ "name": "acme__ship", "arguments": {} });
        let body = legacy_request(1, "tools/call", call).to_string();
        connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
        connection.head().await.expect("a response");
        let asked = connection.event().await.expect("the question");
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["message"], "The server `acme` asks: Sure?");
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted() });
        gateway.server.post(&headers, answer.to_string().as_bytes()).await;
        gate.open();
        let done = connection.event().await.expect("the answer");
        assert!(done["result"]["content"][0]["text"].is_string(), "{done}");
    }
}

#[tokio::test]
async fn a_client_that_shows_no_forms_is_not_asked_and_the_server_knows_it() {
    let gate = ReplyGate::new();
    gate.open();
    let server = legacy(&gate);
    let gateway = OfferGateway::of(&server).await;
    let done = gateway.call("acme__ship").await;
    assert_eq!(done.result()["content"][0]["text"], "shipped");
    server.wait_for("(response)", 1).await;
    let answer = server.log().into_iter().find(|logged| logged.method == "(response)").unwrap();
    assert_eq!(answer.params["result"]["action"], "cancel");
    // A modern server is told with each request.
    let server = modern();
    let gateway = OfferGateway::of(&server).await;
    gateway.call("acme__ship").await;
    let sent = server.log().into_iter().find(|logged| logged.method == "tools/call").unwrap();
    let declared = &sent.params["_meta"][skillwire_protocol::meta::CLIENT_CAPABILITIES];
    assert!(declared.get("elicitation").is_none(), "{declared}");
}

#[tokio::test]
async fn a_server_that_wants_a_model_or_folders_is_refused() {
    for method in ["sampling/createMessage", "roots/list"] {
        let server = server_with(&["ship"]).on("tools/call", move |_, _| {
            let asked = json!({ "q": { "method": method, "params": {} } });
            ScriptedReply::Result(json!({ "resultType": "input_required", "inputRequests": asked }))
        });
        let gateway = OfferGateway::of(&server).await;
        let refused = ship(&gateway, &json!({})).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(method), "{message}");
    }
}
