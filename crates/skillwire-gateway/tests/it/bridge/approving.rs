//! The bridge loads a server's skill only after the user approved it, in their client or a
//! terminal.

use serde_json::json;
use skillwire_gateway::BridgeOptions;
use skillwire_host::Host;
use skillwire_trust::{Grants, Lock};

use super::support::{
    Bridged, done, endpoint, host, label, load, refunds, refused, text, window, yes,
};

const SKILL: &str = "skill://acme/refunds/SKILL.md";

#[tokio::test]
async fn without_anybody_to_ask_the_exact_command_is_told_hst_68() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let over_modern = bridged.modern(false).call("load_skill", load()).await;
    let over_legacy = bridged.legacy(false).await.call("load_skill", load()).await;
    for result in [over_modern, over_legacy] {
        assert_eq!(refused(&result), "not_approved");
        let command = format!("`skillwire approve acme:{SKILL}`");
        assert!(text(&result).contains(&command), "{result}");
    }
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn the_user_is_shown_origin_files_and_requests_and_agrees_hst_68() {
    let skill =
        "---\nname: refunds\ndescription: Refunds.\nallowed-tools: Bash(rm:*)\n---\nBody.\n";
    let server = refunds();
    server.set_skill("acme/refunds", [("SKILL.md", skill), ("references/x.md", "details")]);
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let (form, result) = bridged.modern(true).call_and_answer("load_skill", load(), yes()).await;
    let message = form["message"].as_str().unwrap();
    for part in [
        "the MCP server `acme`",
        "references/x.md (7 bytes)",
        "SKILL.md",
        "Bash(rm:*)",
        "Refunds.",
        "sha256:",
        "cannot control what this client does",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert_eq!(form["requestedSchema"]["required"], json!(["load"]));
    assert!(done(&result).contains("Body."), "{result}");
    assert!(done(&result).contains("It cannot control this client"), "{result}");
    // The approval holds for clients of the other era too.
    done(&bridged.legacy(false).await.call("load_skill", load()).await);
}

#[tokio::test]
async fn a_legacy_client_shows_the_same_form() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.legacy(true).await;
    let (form, result) = client.call_and_answer("load_skill", load(), yes()).await;
    assert!(form["message"].as_str().unwrap().contains("the MCP server `acme`"));
    let read = json!({ "window": window(&result), "path": "references/x.md" });
    assert!(done(&client.call("read_skill_file", read).await).contains("details"));
}

#[tokio::test]
async fn a_no_is_remembered_and_closing_the_form_is_none_hst_68() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let dismissed = json!({ "action": "cancel" });
    let (_, result) = client.call_and_answer("load_skill", load(), dismissed).await;
    assert_eq!(refused(&result), "not_approved");
    // A user who submits the form without ticking the box declines.
    let unticked = json!({ "action": "accept", "content": { "load": false } });
    let (_, result) = client.call_and_answer("load_skill", load(), unticked).await;
    assert_eq!(refused(&result), "user_declined");
    let again = client.call("load_skill", load()).await;
    assert_eq!(refused(&again), "user_declined", "nobody is asked twice");
    assert!(text(&again).contains("skillwire approve"), "{again}");
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_changed_skill_is_shown_with_its_difference_and_asked_about_again_hst_89() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let (_, first) = client.call_and_answer("load_skill", load(), yes()).await;
    let old = window(&first);
    let read = |window: &str| json!({ "window": window, "path": "references/x.md" });
    server.rotate("skill://acme/refunds/references/x.md", "detailz");
    let result = client.call("read_skill_file", read(&old)).await;
    assert_eq!(refused(&result), "changed");
    let (form, second) = client.call_and_answer("load_skill", load(), yes()).await;
    let message = form["message"].as_str().unwrap();
    assert!(message.contains("has changed since you approved it"), "{message}");
    assert!(message.contains("~ references/x.md (7 bytes, was 7 bytes)"), "{message}");
    let result = client.call("read_skill_file", read(&window(&second))).await;
    assert!(done(&result).contains("detailz"));
    let stale = client.call("read_skill_file", read(&old)).await;
    assert_eq!(refused(&stale), "window_closed", "a window ends with its content");
}

#[tokio::test]
async fn what_changes_while_the_user_looks_is_asked_about_again() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let asked = client.call("load_skill", load()).await;
    let before = asked["inputRequests"]["approve"]["params"]["message"].clone();
    server.rotate("skill://acme/refunds/references/x.md", "other");
    bridged.bridge.host().rediscover(&label("acme")).await.unwrap();
    bridged.bridge.host().list(&label("acme")).await.unwrap();
    bridged.bridge.look_again();
    let params = json!({
        "name": "load_skill",
        "arguments": load(),
        "requestState": asked["requestState"],
        "inputResponses": { "approve": yes() },
    });
    // Until the bridge has a new view, the call is answered without a new question.
    let again = loop {
        let again = client.request("tools/call", params.clone()).await["result"].clone();
        if again["resultType"] == "input_required" {
            break again;
        }
    };
    assert_ne!(again["inputRequests"]["approve"]["params"]["message"], before);
}

#[tokio::test]
async fn a_flood_of_questions_ends_h_31() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    for _ in 0..3 {
        let asked = client.call("load_skill", load()).await;
        assert_eq!(asked["resultType"], "input_required");
    }
    let result = client.call("load_skill", load()).await;
    assert_eq!(refused(&result), "asked_too_often");
}

#[tokio::test]
async fn with_a_lock_file_nobody_is_asked_and_the_file_decides_hst_92() {
    let server = refunds().skill("other", [("x.md", "x")]);
    let approving = host(&server);
    let found = approving.discover().await;
    let item = &found.registry.items()[0];
    assert_eq!(item.handle, "acme:refunds");
    let mut lock = Lock::default();
    lock.insert(item.skill.id(), &item.skill.content().unwrap(), Grants::load_only());
    let locked = Host::builder().lock(Some(lock)).build();
    locked.add_server(label("acme"), endpoint(&server));
    let options = BridgeOptions::default().asks_user(false);
    let bridged = Bridged::with(locked, options);
    bridged.settled(&["acme:refunds", "acme:other"]).await;
    let mut client = bridged.modern(true);
    done(&client.call("load_skill", load()).await);
    let result = client.call("load_skill", json!({ "name": "acme:other" })).await;
    assert_eq!(refused(&result), "not_locked");
}
