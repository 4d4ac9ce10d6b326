//! Errors, headers and tokens: which of them a gateway passes on.

use serde_json::json;
use skillwire_testkit::{
    Fault, HostileServer, ScriptedReply, TestOptions, modern_headers, modern_request,
};

use super::support::{Gateway, Plan};

const X: &str = "skill://refunds/x";
const PASSED_ON_X: &str = "skill://acme/refunds/x";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("x", "x")])
}

#[tokio::test]
async fn not_found_is_not_found_in_the_words_of_the_client_gw_21() {
    for code in [-32602, -32002] {
        let server = server().fault(Fault::ReadError { uri: X.to_owned(), code });
        let gateway = Gateway::of(&server).await;
        assert_eq!(gateway.read(PASSED_ON_X).await.code(), -32602);
        let session = gateway.server.initialize("2025-11-25").await.0;
        let read = json!({ "uri": PASSED_ON_X });
        let reply = gateway.server.legacy(&session, "resources/read", read).await.message();
        assert_eq!(reply.code(), -32002);
    }
}

#[tokio::test]
async fn a_server_that_fails_is_our_internal_error_and_nothing_of_it_is_repeated_gw_21() {
    let replies = [
        ScriptedReply::Error { code: -32603, message: "secret /srv/path".to_owned() },
        ScriptedReply::Error { code: -32000, message: "secret /srv/path".to_owned() },
        ScriptedReply::Status(502, b"secret /srv/path".to_vec()),
        ScriptedReply::CutOff(b"{".to_vec()),
    ];
    for failing in replies {
        let reply = failing.clone();
        let server = server().on("resources/read", move |_, _| reply.clone());
        let gateway = Gateway::of(&server).await;
        let reply = gateway.read(PASSED_ON_X).await;
        assert_eq!(reply.code(), -32603, "{failing:?}: {reply:?}");
        assert!(!reply.0.to_string().contains("secret"), "{reply:?}");
    }
    let server =
        server().fault(Fault::ListsNothing).on("skills/get", |_, _| ScriptedReply::error(-32603));
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.get("skill://acme/refunds/SKILL.md").await.code(), -32603);
}

#[tokio::test]
async fn a_server_of_the_old_era_is_passed_on_under_the_new_one_gw_21_g_14() {
    let server = server().fault(Fault::LegacyOnly);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.uris().await, ["skill://acme/refunds/SKILL.md"]);
    assert_eq!(gateway.text(PASSED_ON_X).await, "x");
    assert_eq!(gateway.read("skill://acme/refunds/none").await.code(), -32602);
}

#[tokio::test]
async fn a_server_that_comes_back_in_the_old_era_is_asked_anew_what_it_is_g_14() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.set_fault(Fault::LegacyOnly);
    server.rotate(X, "of the old era");
    gateway.upstreams.all()[0].relist();
    let digest = server.entry("skill://refunds/SKILL.md")["resources"][1]["digest"].clone();
    let digest = digest.as_str().unwrap().to_owned();
    gateway.until_listed(|skills| skills[0].to_string().contains(&digest)).await;
    assert_eq!(gateway.text(PASSED_ON_X).await, "of the old era");
}

#[tokio::test]
async fn a_clients_token_goes_no_further_gw_19_g_10() {
    const ALICE: &str = "alice-token-0123456789";
    let server = server().fault(Fault::Unlisted("skill://refunds/SKILL.md".to_owned()));
    let options =
        TestOptions { tokens: Some(format!("alice {ALICE}\n")), ..TestOptions::default() };
    let plan = Plan { server: options, ..Plan::default() };
    let gateway = plan.start(&[("acme", &server)]).await;
    let bearer = format!("Bearer {ALICE}");
    let headers = [("Authorization", bearer.as_str()), ("Cookie", "session=alice")];
    for (method, uri) in
        [("skills/get", "skill://acme/refunds/SKILL.md"), ("resources/read", PASSED_ON_X)]
    {
        let reply = gateway.server.modern_with(&headers, method, json!({ "uri": uri })).await;
        reply.message().result();
    }
    assert!(server.count("resources/read") == 1 && server.count("skills/get") == 1);
    for logged in server.log() {
        assert_eq!(logged.header("authorization"), Some("Bearer upstream-secret"));
        let sent = format!("{logged:?}");
        assert!(!sent.contains("alice"), "{sent}");
    }
}

#[tokio::test]
async fn a_header_that_says_something_else_is_refused_before_anybody_is_asked_gw_20_g_15() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.clear_log();
    let body = modern_request(1, "resources/read", json!({ "uri": PASSED_ON_X })).to_string();
    for name in ["skill://acme/refunds/SKILL.md", "skill://acme/other/SKILL.md", ""] {
        let mut headers = modern_headers("resources/read");
        headers.push(("Mcp-Name", name));
        let reply = gateway.server.post(&headers, body.as_bytes()).await;
        assert_eq!(reply.status, 400, "{name}");
    }
    let mut headers = modern_headers("skills/list");
    headers.push(("Mcp-Name", PASSED_ON_X));
    assert_eq!(gateway.server.post(&headers, body.as_bytes()).await.status, 400);
    assert_eq!(server.count("resources/read"), 0);
    // The gateway does not refuse a request because of a header it does not know.
    let mut headers = modern_headers("resources/read");
    headers.extend([("Mcp-Name", PASSED_ON_X), ("Mcp-Param-Region", "eu")]);
    assert_eq!(gateway.server.post(&headers, body.as_bytes()).await.status, 200);
}
