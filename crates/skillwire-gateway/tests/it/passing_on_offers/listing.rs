//! Which tools and prompts are there, and under which names.

use std::sync::Arc;

use serde_json::{Value, json};
use skillwire_core::Frontmatter;
use skillwire_testkit::{HostileServer, ScriptedReply};

use super::support::{OfferGateway, OfferPlan, allowed, result, server_with, text_result, tool};
use crate::passing_on::support::label;

#[tokio::test]
async fn tools_of_two_servers_stay_two_and_are_called_at_their_own_server_gw_03() {
    let one = server_with(&["read"]).on("tools/call", |_, _| result(text_result("of one")));
    let two = server_with(&["read"]).on("tools/call", |_, _| result(text_result("of two")));
    let gateway = OfferPlan::default().start(&[("one", &one), ("two", &two)]).await;
    assert_eq!(gateway.tools().await, ["one__read", "two__read"]);
    for (name, text) in [("one__read", "of one"), ("two__read", "of two")] {
        assert_eq!(gateway.call(name).await.result()["content"][0]["text"], text);
    }
    let sent = two.log().into_iter().find(|logged| logged.method == "tools/call").unwrap();
    assert_eq!(sent.params["name"], "read", "a server hears its own names");
    let recorded = gateway.recorded(2).await;
    assert!(recorded[1].ends_with(" two tools/call read Answered"), "{recorded:?}");
}

#[tokio::test]
async fn a_mount_of_one_server_has_its_own_names() {
    let server = server_with(&["read.pdf"]).on("tools/call", |_, _| result(text_result("x")));
    let plan = OfferPlan { shared: false, ..OfferPlan::default() };
    let gateway = plan.start(&[("acme", &server)]).await;
    assert_eq!(gateway.tools().await, ["read.pdf"]);
    assert_eq!(gateway.call("read.pdf").await.result()["content"][0]["text"], "x");
}

#[tokio::test]
async fn a_tool_is_described_as_its_server_wrote_it_gw_07_gw_08() {
    const TEXT: &str = r#"{"tools":[{"name":"read","title":"R","description":"  D ","inputSchema":{"type":"object","x":1.50,"n":18446744073709551616},"annotations":{"readOnlyHint":true},"new":[1e2]}],"resultType":"complete"}"#;
    let server = server_with(&[]).on("tools/list", |_, _| ScriptedReply::Text(TEXT.to_owned()));
    let gateway = OfferGateway::of(&server).await;
    let listed = gateway.server.modern_with(&[], "tools/list", json!({})).await.text();
    let written = TEXT.split_once("\"name\":\"read\"").unwrap().1;
    let written = written.split_once("]}],").unwrap().0;
    assert!(listed.contains(&format!("\"name\":\"acme__read\"{written}")), "{listed}");
}

#[tokio::test]
async fn a_tool_that_the_operator_did_not_allow_is_not_there_gw_16() {
    let server = server_with(&["read_pdf", "delete_all"])
        .on("tools/call", |_, _| result(text_result("done")));
    let admission = Arc::new(allowed(&["acme/read_*"]));
    let plan = OfferPlan { admission: admission.clone(), ..OfferPlan::default() };
    let gateway = plan.start(&[("acme", &server)]).await;
    assert_eq!(gateway.tools().await, ["acme__read_pdf"]);
    let hidden = gateway.call("acme__delete_all").await;
    let unknown = gateway.call("acme__delete_xyz").await;
    assert_eq!(hidden.code(), unknown.code());
    let same = hidden.message().replace("delete_all", "delete_xyz");
    assert_eq!(same, unknown.message());
    assert_eq!(server.count("tools/call"), 0);
    // A tool that an approved skill names becomes callable, and ceases to be with the approval.
    let frontmatter = |tools: &str| {
        let fields = json!({ "name": "x", "description": "y", "allowed-tools": tools });
        Frontmatter::from_fields(fields.as_object().unwrap().clone()).unwrap()
    };
    admission.name_in_skills(&label("acme"), [&frontmatter("Read mcp__acme__delete_all")]);
    gateway.offers[0].reconsider();
    assert_eq!(gateway.tools().await, ["acme__delete_all", "acme__read_pdf"]);
    gateway.call("acme__delete_all").await.result();
    admission.name_in_skills(&label("acme"), []);
    gateway.offers[0].reconsider();
    assert_eq!(gateway.call("acme__delete_all").await.code(), hidden.code());
}

#[tokio::test]
async fn a_change_that_a_server_announces_replaces_its_tools_gw_25() {
    let server = server_with(&[])
        .on("tools/list", |_, n| result(json!({ "tools": [tool(&format!("v{}", n.min(2)))] })));
    let gateway = OfferGateway::of(&server).await;
    assert_eq!(gateway.tools().await, ["acme__v1"]);
    server.notify_tools_changed();
    gateway.until_tools(&["acme__v2"]).await;
}

#[tokio::test]
async fn prompts_are_passed_on_with_their_arguments() {
    let prompt: Value = json!({ "name": "greet", "arguments": [{ "name": "who" }] });
    let server = server_with(&[])
        .on("prompts/list", move |_, _| result(json!({ "prompts": [prompt] })))
        .on("prompts/get", |request, _| {
            let who = request.params["arguments"]["who"].as_str().unwrap_or("?");
            let content = json!({ "type": "text", "text": format!("Greet {who}.") });
            result(json!({ "messages": [{ "role": "user", "content": content }], "x": 1 }))
        });
    let gateway = OfferGateway::of(&server).await;
    let listed = gateway.server.call("prompts/list", json!({})).await;
    assert_eq!(listed["prompts"][0]["name"], "acme__greet");
    let params = json!({ "name": "acme__greet", "arguments": { "who": "Ada" } });
    let got = gateway.server.call("prompts/get", params).await;
    assert_eq!(got["messages"][0]["content"]["text"], "Greet Ada.");
    assert_eq!(got["x"], 1, "what the gateway does not know is passed on");
}

#[tokio::test]
async fn a_server_without_tools_is_not_asked_for_them() {
    let server = HostileServer::new().skill("refunds", [("x", "x")]);
    let gateway = OfferGateway::of(&server).await;
    assert!(gateway.tools().await.is_empty());
    assert_eq!(server.count("tools/list"), 0);
}
