//! Servers that hang, flood or lie: what they do to their callers, and to nothing else.

use std::time::Duration;

use serde_json::json;
use skillwire_gateway::OfferLimits;
use skillwire_testkit::ScriptedReply;

use super::support::{OfferGateway, OfferPlan, result, server_with, text_result, tool};

#[tokio::test]
async fn a_call_that_hangs_ends_and_other_servers_go_on_gw_23() {
    let hangs = server_with(&["t"]).on("tools/call", |_, _| ScriptedReply::Never);
    let works = server_with(&["t"]).on("tools/call", |_, _| result(text_result("done")));
    let times = Duration::from_millis(300);
    let limits = OfferLimits::default().times(times, 2 * times);
    let plan = OfferPlan { limits, ..OfferPlan::default() };
    let gateway = plan.start(&[("hangs", &hangs), ("works", &works)]).await;
    let (late, done) = tokio::join!(gateway.call("hangs__t"), gateway.call("works__t"));
    assert_eq!(done.result()["content"][0]["text"], "done");
    assert_eq!(late.code(), -32603);
    assert_eq!(late.message(), "The server `hangs` did not answer in time.");
    hangs.wait_for("(disconnected)", 1).await;
}

#[tokio::test]
async fn a_flood_of_tools_is_cut_and_endless_pages_end_gw_23() {
    let server = server_with(&[]).on("tools/list", |_, n| {
        let tools: Vec<_> = (0..10).map(|tool_n| tool(&format!("t{n:04}-{tool_n}"))).collect();
        result(json!({ "tools": tools, "nextCursor": format!("{n}") }))
    });
    let limits = OfferLimits::default().items(25);
    let gateway = OfferPlan { limits, ..OfferPlan::default() }.start(&[("acme", &server)]).await;
    assert_eq!(gateway.tools().await.len(), 25);
    assert!(server.count("tools/list") <= 3);
}

#[tokio::test]
async fn a_result_that_is_too_large_is_refused_alone_gw_23() {
    let server = server_with(&["t"]).on("tools/call", |_, n| {
        result(text_result(&if n == 1 { "x".repeat(200_000) } else { "small".to_owned() }))
    });
    let limits = OfferLimits::default().result_bytes(100_000);
    let gateway = OfferPlan { limits, ..OfferPlan::default() }.start(&[("acme", &server)]).await;
    let refused = gateway.call("acme__t").await;
    assert_eq!(refused.code(), -32603);
    assert!(refused.message().contains("larger result"), "{refused:?}");
    assert_eq!(gateway.call("acme__t").await.result()["content"][0]["text"], "small");
}

#[tokio::test]
async fn tools_that_cannot_be_read_are_left_out_alone() {
    let server = server_with(&[]).on("tools/list", |_, _| {
        let mut text = "{\"resultType\":\"complete\",\"tools\":[5,null,[],{},".to_owned();
        for bad in [
            r#"{"name":"","inputSchema":{}}"#,
            r#"{"name":"a\u0007b","inputSchema":{}}"#,
            r#"{"name":"no-schema"}"#,
            r#"{"name":"array","inputSchema":[]}"#,
            r#"{"name":"twice","name":"other","inputSchema":{}}"#,
        ] {
            text.push_str(bad);
            text.push(',');
        }
        text.push_str(r#"{"name":"good","inputSchema":{}}]}"#);
        ScriptedReply::Text(text)
    });
    let gateway = OfferGateway::of(&server).await;
    assert_eq!(gateway.tools().await, ["acme__good"]);
}

#[tokio::test]
async fn a_server_that_fails_later_keeps_its_tools_and_its_calls_fail_gw_10() {
    let server =
        server_with(&["t"])
            .on("tools/list", |_, n| {
                if n == 1 { ScriptedReply::Honest } else { ScriptedReply::error(-32603) }
            })
            .on("tools/call", |_, _| ScriptedReply::error(-32603));
    let gateway = OfferGateway::of(&server).await;
    gateway.offers[0].relist();
    server.wait_for("tools/list", 2).await;
    assert_eq!(gateway.tools().await, ["acme__t"]);
    assert_eq!(gateway.call("acme__t").await.code(), -32603);
}
