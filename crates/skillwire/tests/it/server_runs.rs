//! Many callers that run scripts on one server, and scripts of skills that a server passes on.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::time::Duration;

use serde_json::{Value, json};
use skillwire_testkit::{
    HttpConnection, LEGACY_HEADERS, SkillFolder, legacy_request, modern_headers, modern_request,
};

use crate::{
    host::user::TestUser,
    support::{HttpServer, StdioServer, skill_with},
};

const ANN: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef-ann");
const BOB: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef-bob");
const NAME: (&str, &str) = ("Mcp-Name", "run_skill_script");
const TOKENS: &str = "ann 0123456789abcdef-ann\nbob 0123456789abcdef-bob\n";

fn skills() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    folder.file("refunds/scripts/calc.sh", "echo made\n");
    folder.file("refunds/scripts/slow.sh", "sleep 29\n");
    folder
}

fn call(script: &str) -> Value {
    let arguments = json!({ "skill": "refunds", "script": script });
    json!({ "name": "run_skill_script", "arguments": arguments })
}

/// Sends a call whose answer is not waited for.
async fn begin(server: &HttpServer, caller: (&str, &str), mut params: Value) -> HttpConnection {
    let mut connection = HttpConnection::open(server.address).await;
    let mut headers = modern_headers("tools/call");
    headers.extend_from_slice(&[caller, NAME]);
    let mut request = modern_request(1, "tools/call", params.take());
    request["params"]["_meta"]["progressToken"] = 7.into();
    connection.send("POST", "/mcp", &headers, request.to_string().as_bytes()).await;
    connection
}

#[tokio::test]
async fn one_caller_with_many_slow_scripts_does_not_keep_another_from_running_one_b_09() {
    let folder = skills();
    folder.file("tokens", TOKENS);
    let allowed = [".", "--execute", "--allow-script", "refunds/**", "--token-file", "tokens"];
    let server = HttpServer::serve(&folder, &allowed).await;
    let mut waiting = Vec::new();
    for _ in 0..24 {
        waiting.push(begin(&server, ANN, call("scripts/slow.sh")).await);
    }
    // The last of her calls hears that it waits.
    let last = waiting.last_mut().expect("there are calls");
    assert_eq!(last.head().await.expect("the server answers").0, 200);
    let told = last.event().await.expect("a waiting call hears of its place");
    let text = told["params"]["message"].as_str().unwrap_or_default();
    assert!(text.starts_with("The script waits for its turn; "), "{told}");
    // His script ends while all of hers wait or sleep.
    let his = server.request(&[BOB, NAME], "tools/call", call("scripts/calc.sh"));
    let answer = tokio::time::timeout(Duration::from_secs(20), his).await;
    let answer = answer.expect("another caller's script does not wait for hers");
    assert_eq!(answer.message().result()["content"][1]["text"], "made\n", "{}", answer.text());
}

#[tokio::test]
async fn a_token_without_the_right_sees_no_tool_and_runs_nothing() {
    let folder = skills();
    folder.file("tokens", TOKENS.replace("bob\n", "bob run=no\n"));
    let allowed = [".", "--execute", "--allow-script", "refunds/**", "--token-file", "tokens"];
    let server = HttpServer::serve(&folder, &allowed).await;
    for (caller, may_run) in [(ANN, true), (BOB, false)] {
        let tools = server.request(&[caller], "tools/list", Value::Null).await.message();
        let offered = tools.result()["tools"].to_string().contains("run_skill_script");
        assert_eq!(offered, may_run, "{:?}", tools.result());
        let ran = server.request(&[caller, NAME], "tools/call", call("scripts/calc.sh")).await;
        assert_eq!(ran.text().contains("made"), may_run, "{}", ran.text());
        // The other door has the same lock.
        let session = server.initialize(caller).await;
        let headers =
            [caller, ("Mcp-Session-Id", &session), ("MCP-Protocol-Version", "2025-11-25")];
        let headers = [&LEGACY_HEADERS[..], &headers].concat();
        let params = json!({ "name": "refunds", "script": "calc" });
        let request = legacy_request(2, "skills/execute", params).to_string();
        let mut connection = HttpConnection::open(server.address).await;
        connection.send("POST", "/mcp", &headers, request.as_bytes()).await;
        let reply = connection.reply().await;
        assert_eq!(reply.text().contains("made"), may_run, "{}", reply.text());
        assert_eq!(reply.text().contains("-32601"), !may_run, "{}", reply.text());
    }
}

#[tokio::test]
async fn scripts_of_passed_on_skills_run_under_the_rules_of_the_operator_b_18() {
    let (user, folder) = (TestUser::new(), skills());
    user.add_folder_server("shop", &folder).await;
    let arguments = ["serve", "--upstream", "shop", "--execute", "--allow-script"];
    let allowed = [&arguments[..], &["shop/refunds/scripts/calc.sh"]].concat();
    let mut gateway = StdioServer::start(user.command(&allowed));
    gateway.until_listed(&["skill://shop/refunds/SKILL.md"]).await;
    let run = |script: &str| {
        let arguments = json!({ "skill": "shop/refunds", "script": script });
        json!({ "name": "run_skill_script", "arguments": arguments })
    };
    let ran = gateway.modern("tools/call", run("scripts/calc.sh")).await;
    assert_eq!(ran.result()["content"][1]["text"], "made\n", "{:?}", ran.result());
    let refused = gateway.modern("tools/call", run("scripts/slow.sh")).await;
    let text = refused.result()["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("does not let this script run"), "{text}");
    // What runs is what the upstream server lists now.
    folder.file("refunds/scripts/calc.sh", "echo changed\n");
    let mut last = String::new();
    for _ in 0..200 {
        let ran = gateway.modern("tools/call", run("scripts/calc.sh")).await;
        last = ran.result()["content"].to_string();
        if last.contains("changed\\n") {
            break;
        }
        // An answer in between says that the skill is being changed, and never mixes two versions.
        assert!(last.contains("made\\n") || last.contains("being changed"), "{last}");
    }
    assert!(last.contains("changed\\n"), "{last}");
    gateway.close().await.assert_exit(0);
}
