//! Lists and declarations of tools and prompts, and notifications of their changes.

use std::sync::Arc;

use serde_json::json;
use skillwire_server::offer::{ListChanges, Offer, Offers};
use skillwire_testkit::{StdioClient, initialize_params, legacy_request};

use super::{Sample, server};
use crate::peers::{legacy_stream, listen};

#[tokio::test]
async fn offered_tools_and_prompts_are_listed_page_by_page_and_declared() {
    let (_sample, _changes, server) = server().await;
    let discovered = server.call("server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["tools"], json!({ "listChanged": true }));
    assert_eq!(discovered["capabilities"]["prompts"], json!({ "listChanged": true }));
    let instructions = discovered["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Ship with care.\n\n"), "{instructions}");
    let tools = server.call("tools/list", json!({})).await;
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["break", "count", "ship", "wait"]);
    assert_eq!((&tools["resultType"], tools.get("nextCursor")), (&json!("complete"), None));
    let prompts = server.pages("prompts/list", json!({}), "prompts", 3).await;
    assert_eq!(prompts.len(), 250);
    assert!(prompts.is_sorted_by_key(|prompt| prompt["name"].to_string()));
    let forged = server.modern("prompts/list", json!({ "cursor": "greet-100" })).await;
    assert_eq!(forged.code(), -32602);
}

#[tokio::test]
async fn what_is_not_offered_is_invalid_params_bad_arguments_a_result_and_a_panic_is_answered() {
    let (_sample, _changes, server) = server().await;
    let call = |params| server.modern("tools/call", params);
    let unknown = call(json!({ "name": "sink" })).await;
    assert_eq!((unknown.code(), unknown.message()), (-32602, "There is no tool `sink`."));
    let bad = call(json!({ "name": "ship", "arguments": [1] })).await;
    assert_eq!(bad.result()["isError"], true);
    let broken = call(json!({ "name": "break" })).await;
    assert_eq!(broken.code(), -32603);
    assert!(!broken.0.to_string().contains("secret"));
    assert_eq!(server.modern("prompts/get", json!({ "name": "greet" })).await.code(), -32602);
}

#[tokio::test]
async fn completion_of_an_offered_prompt_is_bounded() {
    let (_sample, _changes, server) = server().await;
    let params = |name: &str| {
        json!({
            "ref": { "type": "ref/prompt", "name": name },
            "argument": { "name": "who", "value": "x" },
        })
    };
    let result = server.call("completion/complete", params("greet-001")).await;
    let completion = &result["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    assert_eq!(server.modern("completion/complete", params("nobody")).await.code(), -32602);
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let all: Vec<Arc<dyn Offer>> = vec![Arc::new(Sample::default()), Arc::new(Sample::default())];
    let error = Offers::joined(all, ListChanges::default()).unwrap_err();
    assert_eq!(error.to_string(), "two tools are called `break`");
}

#[tokio::test]
async fn a_change_of_what_is_offered_reaches_those_who_asked_for_it_srv_106() {
    let (_sample, changes, server) = server().await;
    let (mut tools, acknowledged) = listen(&server, json!({ "toolsListChanged": true })).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    let (mut prompts, _) = listen(&server, json!({ "promptsListChanged": true })).await;
    let (session, _) = server.initialize("2025-11-25").await;
    let mut legacy = legacy_stream(&server, &session).await;
    let mut pipe = StdioClient::in_process(server.engine());
    pipe.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    changes.prompts();
    changes.tools();
    let method = |message: Option<serde_json::Value>| message.expect("a message")["method"].clone();
    assert_eq!(method(tools.event().await), "notifications/tools/list_changed");
    assert_eq!(method(prompts.event().await), "notifications/prompts/list_changed");
    let mut over_http = vec![method(legacy.event().await), method(legacy.event().await)];
    let mut over_pipe = vec![method(pipe.next().await), method(pipe.next().await)];
    for heard in [&mut over_http, &mut over_pipe] {
        heard.sort_by_key(ToString::to_string);
        assert_eq!(
            heard,
            &["notifications/prompts/list_changed", "notifications/tools/list_changed"]
        );
    }
}
