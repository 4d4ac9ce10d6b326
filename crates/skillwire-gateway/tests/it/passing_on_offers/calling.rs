//! Results, progress, cancellation and errors of calls that are passed on.

use serde_json::json;
use skillwire_protocol::meta;
use skillwire_testkit::{
    Fault, HostileServer, ReplyGate, ScriptedReply, modern_headers, modern_meta, modern_request,
};

use super::support::{OfferGateway, OfferPlan, result, server_with, text_result};

#[tokio::test]
async fn a_result_is_passed_on_as_it_was_written_gw_07() {
    const TEXT: &str = r#"{"content":[{"type":"text","text":"x","n":1.50}],"structuredContent":{"big":18446744073709551616},"isError":true,"new":{"a":1e2},"_meta":{"org.example/k":2.0,"io.modelcontextprotocol/serverInfo":{"name":"evil"}},"resultType":"complete"}"#;
    let server = server_with(&["t"]).on("tools/call", |_, _| ScriptedReply::Text(TEXT.to_owned()));
    let gateway = OfferGateway::of(&server).await;
    let params = json!({ "name": "acme__t" });
    let text = gateway.server.modern_with(&[], "tools/call", params).await.text();
    for part in [
        r#""content":[{"type":"text","text":"x","n":1.50}]"#,
        r#""structuredContent":{"big":18446744073709551616}"#,
        r#""isError":true"#,
        r#""new":{"a":1e2}"#,
        r#""org.example/k":2.0"#,
        r#""resultType":"complete""#,
    ] {
        assert_eq!(text.matches(part).count(), 1, "{part} in {text}");
    }
    assert!(!text.contains("evil") && text.contains(meta::SERVER_INFO), "{text}");
}

#[tokio::test]
async fn progress_reaches_the_client_under_its_own_token() {
    for legacy in [false, true] {
        let gate = ReplyGate::new();
        let held = gate.clone();
        let server = server_with(&["t"]).on("tools/call", move |request, _| {
            let token = &request.params["_meta"]["progressToken"];
            assert!(token.is_u64(), "{token}");
            let report = |token: &serde_json::Value, progress: f64| {
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": token, "progress": progress, "total": 1, "message": "half",
                } })
            };
            let reports = vec![report(token, 0.5), report(&json!("other"), 0.7)];
            let answer =
                format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{}}}"#, text_result("done"));
            let answer = ScriptedReply::Dripped(Vec::new(), held.clone(), answer.into_bytes());
            ScriptedReply::After(reports, Box::new(answer))
        });
        let server = if legacy { server.fault(Fault::LegacyOnly) } else { server };
        let gateway = OfferGateway::of(&server).await;
        let mut meta = modern_meta();
        meta["progressToken"] = json!("mine");
        let params = json!({ "name": "acme__t", "arguments": {}, "_meta": meta });
        let mut connection = gateway.server.connect().await;
        let body = modern_request(1, "tools/call", params).to_string();
        let mut headers = modern_headers("tools/call");
        headers.push(("Mcp-Name", "acme__t"));
        connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
        connection.head().await.expect("a response");
        let report = connection.event().await.expect("a report");
        assert_eq!(report["method"], "notifications/progress");
        assert_eq!(report["params"]["progressToken"], "mine");
        assert_eq!(report["params"]["progress"], 0.5);
        assert_eq!(report["params"]["message"], "half");
        gate.open();
        let answer = connection.event().await.expect("the answer");
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_the_call_at_the_server() {
    for legacy in [false, true] {
        let server = server_with(&["t"]).on("tools/call", |_, _| ScriptedReply::Never);
        let server = if legacy { server.fault(Fault::LegacyOnly) } else { server };
        let gateway = OfferGateway::of(&server).await;
        let params = json!({ "name": "acme__t", "arguments": {} });
        let body = modern_request(1, "tools/call", params).to_string();
        let mut headers = modern_headers("tools/call");
        headers.push(("Mcp-Name", "acme__t"));
        let mut connection = gateway.server.connect().await;
        connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
        server.wait_for("tools/call", 1).await;
        server.clear_log();
        drop(connection);
        // A modern server sees the end of the response; a legacy one is told.
        let cancelled = if legacy { "notifications/cancelled" } else { "(disconnected)" };
        server.wait_for(cancelled, 1).await;
        let recorded = gateway.recorded(1).await;
        assert!(recorded[0].ends_with(" acme tools/call t Cancelled"), "{recorded:?}");
    }
}

#[tokio::test]
async fn wrong_arguments_stay_wrong_arguments_and_other_failures_are_ours_gw_21() {
    let error = |code, message: &str| ScriptedReply::Error { code, message: message.to_owned() };
    for (reply, code, seen) in [
        (error(-32602, "`path` is missing."), -32602, "`path` is missing."),
        (error(-32603, "secret /srv/path"), -32603, "The server `acme` could not answer"),
        (error(-32000, "secret /srv/path"), -32603, "The server `acme` could not answer"),
        (ScriptedReply::Status(502, b"secret".to_vec()), -32603, "The server `acme`"),
        (ScriptedReply::CutOff(b"{".to_vec()), -32603, "The server `acme`"),
    ] {
        let server = server_with(&["t"]).on("tools/call", move |_, _| reply.clone());
        let gateway = OfferGateway::of(&server).await;
        let failed = gateway.call("acme__t").await;
        assert_eq!(failed.code(), code, "{failed:?}");
        assert!(failed.message().starts_with(seen), "{failed:?}");
        assert!(!failed.0.to_string().contains("secret"), "{failed:?}");
        let recorded = gateway.recorded(1).await;
        assert!(recorded[0].ends_with(&format!(" t {code}")), "{recorded:?}");
    }
}

#[tokio::test]
async fn a_clients_token_does_not_reach_the_server_gw_19_g_10() {
    const ALICE: &str = "alice-token-0123456789";
    let server: HostileServer =
        server_with(&["t"]).on("tools/call", |_, _| result(text_result("done")));
    let plan = OfferPlan { tokens: Some(format!("alice {ALICE}\n")), ..OfferPlan::default() };
    let gateway = plan.start(&[("acme", &server)]).await;
    let bearer = format!("Bearer {ALICE}");
    let headers = [("Authorization", bearer.as_str()), ("Cookie", "session=alice")];
    let mut meta = modern_meta();
    meta["org.example/secret"] = json!("alice-only");
    let params = json!({ "name": "acme__t", "arguments": { "a": 1 }, "_meta": meta });
    gateway.server.modern_with(&headers, "tools/call", params).await.message().result();
    assert_eq!(server.count("tools/call"), 1);
    for logged in server.log() {
        let sent = format!("{logged:?}");
        assert!(!sent.contains("alice"), "{sent}");
    }
    assert!(server.complaints().is_empty(), "{:?}", server.complaints());
    assert_eq!(gateway.recorded(1).await, ["alice acme tools/call t Answered"]);
}
