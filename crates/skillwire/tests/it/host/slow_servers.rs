//! Servers that hang or are slow, beside others: what `list` and `search` print, and when.

use serde_json::json;
use skillwire_testkit::{HostileServer, ListeningServer, ReplyGate, ScriptedReply};

use super::user::{TestUser, refunds};
use crate::support::StdioServer;

/// A server with the skill `payouts` that lists it once the gate is open.
async fn held_server(gate: &ReplyGate) -> ListeningServer {
    let gate = gate.clone();
    let server = HostileServer::new().skill("payouts", [("x.md", "x")]);
    let entry = server.entry("skill://payouts/SKILL.md");
    let listing = json!({ "resultType": "complete", "skills": [entry], "ttlMs": 60_000, "cacheScope": "private" });
    let server = server.on("skills/list", move |_, _| {
        ScriptedReply::Held(gate.clone(), Box::new(ScriptedReply::Result(listing.clone())))
    });
    server.http().await
}

async fn hanging_server() -> ListeningServer {
    HostileServer::new()
        .on("server/discover", |_, _| ScriptedReply::Never)
        .on("initialize", |_, _| ScriptedReply::Never)
        .http()
        .await
}

#[tokio::test]
async fn a_pipe_gets_the_skills_of_others_while_a_server_is_waited_for_fu_15() {
    for arguments in [&["list", "--wait", "60"][..], &["search", "--wait", "60", "use"]] {
        let (user, skills, gate) = (TestUser::new(), refunds(), ReplyGate::new());
        let slow = held_server(&gate).await;
        user.add_http_server("a-slow", &slow).await;
        user.add_folder_server("quick", &skills).await;
        let mut program = StdioServer::start(user.command(arguments));
        program.lines_until("quick:refunds").await;
        // Only now the slow server may answer.
        gate.open();
        program.lines_until("a-slow:payouts").await;
        let ran = program.close().await.assert_exit(0);
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn nothing_is_printed_twice_when_a_slow_server_answers() {
    let (user, skills, gate) = (TestUser::new(), refunds(), ReplyGate::new());
    let slow = held_server(&gate).await;
    user.add_http_server("a-slow", &slow).await;
    user.add_folder_server("quick", &skills).await;
    let mut program = StdioServer::start(user.command(&["list", "--wait", "60"]));
    let early = program.lines_until("quick:refunds").await;
    gate.open();
    let late = program.lines_until("a-slow:payouts").await;
    assert!(!early.contains("a-slow"), "{early}");
    assert!(!late.contains("quick"), "{late}");
    program.close().await.assert_exit(0);
}

#[tokio::test]
async fn search_prints_no_more_rows_than_its_limit_when_a_slow_server_has_better_ones() {
    let (user, skills, gate) = (TestUser::new(), refunds(), ReplyGate::new());
    let slow = held_server(&gate).await;
    user.add_http_server("a-slow", &slow).await;
    user.add_folder_server("quick", &skills).await;
    let search = ["search", "--wait", "60", "--limit", "1", "payouts", "use"];
    let mut program = StdioServer::start(user.command(&search));
    program.lines_until("quick:refunds").await;
    gate.open();
    let rest = program.rest().await;
    assert!(!rest.contains("payouts"), "{rest}");
    let ran = program.close().await.assert_exit(0);
    let told = "1 more match; some fit better than these, but their servers answered later. \
                `--limit N` shows more.";
    assert_eq!(ran.stderr.trim_end(), told);
}

#[tokio::test]
async fn a_caller_says_how_long_servers_may_take_fu_15() {
    let (user, skills, hangs) = (TestUser::new(), refunds(), hanging_server().await);
    user.add_folder_server("acme", &skills).await;
    user.add_http_server("hangs", &hangs).await;
    // Enough for the other server to start on a busy machine.
    for arguments in
        [&["list", "--wait", "5", "--json"][..], &["search", "--wait", "5", "--json", "refunds"]]
    {
        let listing = user.run(arguments).await.assert_exit(0).json();
        assert_eq!(listing["skills"][0]["handle"], "acme:refunds", "{listing}");
        let late = &listing["incomplete"][0];
        assert_eq!(late["reason"], "server_timeout", "{listing}");
        assert_eq!(late["expected"], "a listing within 5s", "{listing}");
    }
    for command in ["list", "prompt"] {
        let ran = user.run(&[command, "--wait", "5"]).await.assert_exit(0);
        assert!(ran.stdout.contains("acme:refunds"), "{}", ran.stdout);
        assert!(ran.stderr.contains("--> hangs"), "{}", ran.stderr);
        assert!(ran.stderr.contains("a listing within 5s"), "{}", ran.stderr);
    }
    let alone = user.run(&["list", "hangs", "--wait", "1"]).await;
    assert!(alone.stderr.contains("a listing within 1s"), "{}", alone.stderr);
    alone.assert_refused(7, "server_timeout");
    let refused = user.run(&["list", "--wait", "0"]).await.assert_exit(2);
    assert!(refused.stderr.contains("from 1 to 3600"), "{}", refused.stderr);
}
