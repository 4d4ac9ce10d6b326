//! Files and directories as the gateway passes them on.

use serde_json::{Value, json};
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};

use super::support::{Gateway, Plan};

const X: &str = "skill://refunds/references/x.md";
const PASSED_ON_X: &str = "skill://acme/refunds/references/x.md";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("references/x.md", "Details."), ("b.bin", "\u{7f}")])
}

#[tokio::test]
async fn listing_costs_the_listing_and_nothing_is_fetched_ahead_gw_15() {
    let server = server().fault(Fault::PageSize(1)).skill("other", [("x", "x")]);
    let gateway = Gateway::of(&server).await;
    gateway.uris().await;
    gateway.server.call("resources/list", json!({})).await;
    gateway.server.call("resources/directory/read", json!({ "uri": "skill://acme" })).await;
    gateway.get("skill://acme/refunds/SKILL.md").await.result();
    let mut methods = server.methods();
    methods.sort_unstable();
    methods.dedup();
    // The log notes a subscription that the gateway replaced.
    methods.retain(|method| method != "(disconnected)");
    assert_eq!(methods, ["server/discover", "skills/list", "subscriptions/listen"]);
    assert_eq!(server.count("skills/list"), 2);
}

#[tokio::test]
async fn a_file_is_fetched_when_it_is_read_and_then_kept_gw_15() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    for _ in 0..3 {
        assert_eq!(gateway.text(PASSED_ON_X).await, "Details.");
    }
    let reads = server.log().into_iter().filter(|logged| logged.method == "resources/read");
    let reads: Vec<Value> = reads.map(|logged| logged.params["uri"].clone()).collect();
    assert_eq!(reads, [X]);
}

#[tokio::test]
async fn what_does_not_match_is_neither_served_nor_kept_gw_18() {
    for bytes in ["Detail?.", "Details. And more.", ""] {
        let server = server().fault(Fault::read_bytes(X, bytes));
        let gateway = Gateway::of(&server).await;
        for _ in 0..2 {
            let reply = gateway.read(PASSED_ON_X).await;
            assert_eq!(reply.code(), -32602, "{reply:?}");
            assert!(bytes.is_empty() || !reply.0.to_string().contains(bytes), "{reply:?}");
        }
        server.clear_faults();
        assert_eq!(gateway.text(PASSED_ON_X).await, "Details.");
    }
}

#[tokio::test]
async fn a_server_that_moves_on_is_followed_gw_18() {
    let server = server();
    let gateway = Gateway::of(&server).await;
    server.rotate(X, "Newer details.");
    assert_eq!(gateway.read(PASSED_ON_X).await.code(), -32602);
    // The gateway asks for the new entry at once, whatever lifetime the listing had.
    let digest = server.entry("skill://refunds/SKILL.md")["resources"][1]["digest"].clone();
    let digest = digest.as_str().unwrap().to_owned();
    gateway.until_listed(|skills| skills[0].to_string().contains(&digest)).await;
    assert_eq!(gateway.text(PASSED_ON_X).await, "Newer details.");
}

#[tokio::test]
async fn a_consistent_lie_is_passed_on_as_it_is_gw_18_g_13() {
    let server = HostileServer::new().skill("refunds", [("x", "a lie")]);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.text("skill://acme/refunds/x").await, "a lie");
    let result = gateway.read("skill://acme/refunds/x").await.result().to_string();
    assert!(!result.contains("verif") && !result.contains("trust"), "{result}");
}

#[tokio::test]
async fn directories_come_from_the_manifest_and_the_server_is_not_asked_gw_12_g_12() {
    for declared in [json!(false), json!(true)] {
        let server = server().fault(Fault::DirectoryRead(declared));
        let gateway = Gateway::of(&server).await;
        let read = json!({ "uri": "skill://acme/refunds" });
        let page = gateway.server.call("resources/directory/read", read).await;
        let children: Vec<_> =
            page["resources"].as_array().unwrap().iter().map(|child| &child["uri"]).collect();
        assert_eq!(
            children,
            [
                "skill://acme/refunds/SKILL.md",
                "skill://acme/refunds/b.bin",
                "skill://acme/refunds/references",
            ]
        );
        assert_eq!(server.count("resources/directory/read"), 0);
    }
}

#[tokio::test]
async fn directories_nobody_lists_are_an_honest_error_gw_12_g_12() {
    let server = HostileServer::new().dynamic_skill("live", [("now.md", "12:00")]);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.text("skill://acme/live/now.md").await, "12:00");
    let read = json!({ "uri": "skill://acme/live" });
    let reply = gateway.server.modern("resources/directory/read", read).await;
    assert_eq!(reply.code(), -32602);
    assert!(reply.message().contains("are not listed"), "{reply:?}");
    assert_eq!(gateway.read("skill://acme/live/none.md").await.code(), -32602);
}

#[tokio::test]
async fn directories_of_dynamic_skills_are_asked_for_where_they_are_offered_gw_12() {
    let server = HostileServer::new()
        .dynamic_skill("live", [("now.md", "12:00"), ("sub/x", "x")])
        .fault(Fault::DirectoryRead(json!(true)));
    let outside = json!({ "uri": "skill://other/x", "name": "x" });
    let shown = json!({ "uri": "skill://live/sub/x", "name": "x" });
    let server = server.fault(Fault::Children {
        uri: "skill://live/sub".to_owned(),
        children: vec![outside, shown],
    });
    let gateway = Gateway::of(&server).await;
    for (directory, expected) in [
        ("skill://acme/live", vec!["live/SKILL.md", "live/now.md", "live/sub"]),
        ("skill://acme/live/sub", vec!["live/sub/x"]),
    ] {
        let read = json!({ "uri": directory });
        let page = gateway.server.call("resources/directory/read", read).await;
        let children = page["resources"].as_array().unwrap().iter();
        let children: Vec<_> = children.map(|child| child["uri"].as_str().unwrap()).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|path| format!("skill://acme/{path}")).collect();
        assert_eq!(children, expected);
    }
}

#[tokio::test]
async fn content_without_digests_is_asked_for_each_time_gw_08() {
    let server = HostileServer::new().dynamic_skill("live", [("now.md", "12:00")]);
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.text("skill://acme/live/now.md").await, "12:00");
    server.rotate("skill://live/now.md", "12:01");
    assert_eq!(gateway.text("skill://acme/live/now.md").await, "12:01");
}

#[tokio::test]
async fn a_read_that_wants_input_is_refused_and_leaves_nothing_behind_gw_14() {
    let wants = json!({ "resultType": "input_required", "requestState": "s", "inputRequests": {} });
    let server = server().on("resources/read", move |_, count| match count {
        1 => ScriptedReply::Result(wants.clone()),
        _ => ScriptedReply::Honest,
    });
    let gateway = Gateway::of(&server).await;
    let reply = gateway.read(PASSED_ON_X).await;
    assert_eq!(reply.code(), -32603, "{reply:?}");
    assert!(!reply.0.to_string().contains("requestState"), "{reply:?}");
    assert_eq!(gateway.text(PASSED_ON_X).await, "Details.");
    let sent = server.log().iter().any(|logged| logged.params.get("requestState").is_some());
    assert!(!sent, "nobody here can give input");
}

#[tokio::test]
async fn one_servers_digest_does_not_fetch_anothers_file_gw_18() {
    let one = HostileServer::new().skill("a", [("secret.txt", "of one")]);
    // The second server lists the digest of a file of the first one, to have the gateway serve that
    // file from its cache under the second server's URI.
    let listed = one.entry("skill://a/SKILL.md")["resources"][1].clone();
    let two = HostileServer::new().skill("b", [("secret.txt", "x")]).fault(Fault::entry(
        "skill://b/SKILL.md",
        json!({ "resources": [
            HostileServer::new().skill("b", [("x", "x")]).entry("skill://b/SKILL.md")["resources"][0],
            { "uri": "skill://b/secret.txt", "digest": listed["digest"], "size": listed["size"] },
        ] }),
    ));
    let gateway = Plan::default().start(&[("one", &one), ("two", &two)]).await;
    assert_eq!(gateway.text("skill://one/a/secret.txt").await, "of one");
    assert_eq!(gateway.read("skill://two/b/secret.txt").await.code(), -32602);
}

#[tokio::test]
async fn binary_files_are_not_called_text() {
    let server = HostileServer::new().skill("refunds", [("a.md", vec![0xff, 0xfe])]);
    let gateway = Gateway::of(&server).await;
    let reply = gateway.read("skill://acme/refunds/a.md").await;
    let content = &reply.result()["contents"][0];
    assert_eq!(content["blob"], "//4=");
    assert_eq!(content["mimeType"], "application/octet-stream");
}
