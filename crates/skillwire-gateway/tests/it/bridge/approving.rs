//! The bridge loads a server's skill only after the user approved it, in their client or a
//! terminal.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use skillwire_gateway::BridgeOptions;
use skillwire_host::Host;
use skillwire_testkit::ScriptedReply;
use skillwire_trust::{DecisionChannel, Grants, LockFile, MemoryRecords, RecordStore};

use super::support::{
    Bridged, done, endpoint, host, host_with, label, load, read, refunds, refused, text, yes,
};

#[tokio::test]
async fn without_anybody_to_ask_the_exact_command_is_told_hst_68() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let over_modern = bridged.modern(false).call("load_skill", load()).await;
    let over_legacy = bridged.legacy(false).await.call("load_skill", load()).await;
    for result in [over_modern, over_legacy] {
        assert_eq!(refused(&result), "not_approved");
        assert!(text(&result).contains("`example allow acme:refunds`"), "{result}");
    }
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn the_command_has_the_shortest_handle_that_fits_one_skill_fu_26() {
    let server = refunds().skill("beta/refunds", [("x.md", "x")]);
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:acme/refunds", "acme:beta/refunds"]).await;
    let mut client = bridged.modern(false);
    let name = json!({ "name": "acme:beta/refunds" });
    let result = client.call("load_skill", name).await;
    assert!(text(&result).contains("`example allow acme:beta/refunds`"), "{result}");
}

#[tokio::test]
async fn a_bridge_of_a_program_without_commands_names_none_hst_68() {
    let server = refunds();
    let options = BridgeOptions::default().first_listing(Duration::ZERO);
    let bridged = Bridged::with(host(&server), options);
    bridged.settled(&["acme:refunds"]).await;
    let result = bridged.modern(false).call("load_skill", load()).await;
    assert_eq!(refused(&result), "not_approved");
    let step = "Tell the user to look at the skill and approve it. Then call `load_skill` again.";
    assert!(text(&result).contains(step), "{result}");
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
    done(&result);
    let file = client.call("read_skill_file", read("references/x.md")).await;
    assert!(done(&file).contains("details"));
}

#[tokio::test]
async fn the_first_two_lines_of_the_form_say_what_the_skill_does_and_its_files_cl_02() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let asked = bridged.modern(true).call("load_skill", load()).await;
    let form = &asked["inputRequests"]["approve"]["params"];
    let mut lines = form["message"].as_str().unwrap().lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("Load the skill refunds? It says: "), "{first}");
    let second = lines.next().unwrap();
    assert!(second.starts_with("From the MCP server `acme`"), "{second}");
    assert!(second.contains("2 files, ") && second.contains("references/x.md"), "{second}");
}

#[tokio::test]
async fn a_declined_form_holds_for_the_process_and_is_not_stored_hst_68_cl_01() {
    let server = refunds();
    let records = Arc::new(MemoryRecords::default());
    let bridged = Bridged::over(host_with(&server, &records));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let declined = json!({ "action": "decline" });
    let (_, result) = client.call_and_answer("load_skill", load(), declined).await;
    assert_eq!(refused(&result), "user_declined");
    let again = client.call("load_skill", load()).await;
    assert_eq!(refused(&again), "user_declined", "the same process does not ask twice");
    assert!(text(&again).contains("example allow"), "{again}");
    assert_eq!(server.count("resources/read"), 0);
    let stored = records.all().0;
    assert!(stored.iter().all(|record| record.declined.is_none()), "{stored:?}");
    // Another process with the same records asks.
    let later = Bridged::over(host_with(&refunds(), &records));
    later.settled(&["acme:refunds"]).await;
    let (_, result) = later.modern(true).call_and_answer("load_skill", load(), yes()).await;
    done(&result);
    assert_eq!(records.all().0[0].approval.as_ref().unwrap().channel, Some(DecisionChannel::Form));
}

#[tokio::test]
async fn accepting_without_the_tick_is_no_decision_and_asks_again_cl_02() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    for content in [json!({ "load": false }), json!({})] {
        let unticked = json!({ "action": "accept", "content": content });
        let (_, result) = client.call_and_answer("load_skill", load(), unticked).await;
        assert_eq!(refused(&result), "not_approved");
    }
    assert_eq!(server.count("resources/read"), 0);
    let (_, result) = client.call_and_answer("load_skill", load(), yes()).await;
    done(&result);
}

#[tokio::test]
async fn closed_forms_do_not_count_as_questions_cl_02() {
    let records = Arc::new(MemoryRecords::default());
    let bridged = Bridged::over(host_with(&refunds(), &records));
    bridged.settled(&["acme:refunds"]).await;
    let (mut modern, mut legacy) = (bridged.modern(true), bridged.legacy(true).await);
    for _ in 0..4 {
        let closed = json!({ "action": "cancel" });
        let (_, result) = modern.call_and_answer("load_skill", load(), closed.clone()).await;
        assert_eq!(refused(&result), "not_approved");
        let (_, result) = legacy.call_and_answer("load_skill", load(), closed).await;
        assert_eq!(refused(&result), "not_approved");
    }
    let (_, result) = modern.call_and_answer("load_skill", load(), yes()).await;
    done(&result);
    assert!(records.all().0.iter().all(|record| record.asked.is_empty()));
}

#[tokio::test]
async fn a_changed_skill_is_shown_with_its_difference_and_asked_about_again_hst_89() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    client.call_and_answer("load_skill", load(), yes()).await;
    let mut other = bridged.legacy(false).await;
    done(&other.call("load_skill", load()).await);
    server.rotate("skill://acme/refunds/references/x.md", "detailz");
    let result = client.call("read_skill_file", read("references/x.md")).await;
    assert_eq!(refused(&result), "changed");
    let (form, second) = client.call_and_answer("load_skill", load(), yes()).await;
    let message = form["message"].as_str().unwrap();
    let mut lines = message.lines();
    assert!(lines.next().unwrap().contains("has changed since you approved it"), "{message}");
    assert!(message.contains("~ references/x.md (7 bytes, was 7 bytes)"), "{message}");
    done(&second);
    let result = client.call("read_skill_file", read("references/x.md")).await;
    assert!(done(&result).contains("detailz"));
    // The other conversation has the old `SKILL.md`, and gets no file of the new content.
    let stale = other.call("read_skill_file", read("references/x.md")).await;
    assert_eq!(refused(&stale), "changed");
    done(&other.call("load_skill", load()).await);
    done(&other.call("read_skill_file", read("references/x.md")).await);
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
    let mut lock = LockFile::default();
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

#[tokio::test]
async fn an_accepted_answer_sent_again_does_not_undo_a_revocation_sec_14() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let asked = client.call("load_skill", load()).await;
    let answered = json!({
        "name": "load_skill",
        "arguments": load(),
        "requestState": asked["requestState"],
        "inputResponses": { "approve": yes() },
    });
    let result = client.request("tools/call", answered.clone()).await["result"].clone();
    done(&result);
    let host = bridged.bridge.host();
    let skill = host.open_windows()[0].skill().clone();
    host.revoke(&skill).unwrap();
    let read = client.call("read_skill_file", read("references/x.md")).await;
    assert_eq!(refused(&read), "not_approved", "reads stop");
    let replayed = client.request("tools/call", answered).await["result"].clone();
    assert_eq!(replayed["resultType"], "input_required", "{replayed}");
}

#[tokio::test]
async fn a_server_without_notifications_or_lifetime_is_asked_before_each_use_sec_12() {
    let listing = json!({
        "resultType": "complete",
        "skills": [refunds().entry("skill://acme/refunds/SKILL.md")],
        "ttlMs": 0,
        "cacheScope": "private",
    });
    let server = refunds().on("skills/list", move |_, _| ScriptedReply::Result(listing.clone()));
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let (_, loaded) = bridged.modern(true).call_and_answer("load_skill", load(), yes()).await;
    done(&loaded);
    // The listing stays the same; only the entry says that a file changed.
    server.rotate("skill://acme/refunds/references/x.md", "detailz");
    let mut client = bridged.modern(false);
    let again = client.call("load_skill", load()).await;
    assert_eq!(refused(&again), "changed");
    let file = client.call("read_skill_file", read("SKILL.md")).await;
    assert_eq!(refused(&file), "changed");
}
