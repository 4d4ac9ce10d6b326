//! Scripts of skills, run by `skillwire run` and by a server.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::{Value, json};
use skillwire_testkit::{
    HttpConnection, LEGACY_HEADERS, SkillFolder, initialize_params, legacy_request,
};

use crate::{
    host::user::TestUser,
    support::{HttpServer, StdioServer, run, skill_with},
};

const SCRIPT: &str = "import os, sys\n\
    print('\\x1b[1mgot\\x1b[0m', sys.argv[1:], os.environ.get('API_TOKEN'))\n\
    open('report.txt', 'w').write('made')\n\
    sys.exit(int(sys.argv[1]) if sys.argv[1:2] == ['4'] else 0)\n";

fn skills() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    folder.file("refunds/scripts/calc.py", SCRIPT);
    folder.file("refunds/scripts/slow.py", "import time\ntime.sleep(30)\n");
    folder.file("refunds/scripts/secret.py", "print(open('/etc/hostname').read())\n");
    folder
}

#[tokio::test]
async fn a_script_runs_only_with_a_grant_for_exactly_this_content_hst_71() {
    let (user, skills) = (TestUser::new(), skills());
    user.add_folder_server("acme", &skills).await;
    user.run(&["run", "acme:refunds", "scripts/calc.py"]).await.assert_exit(104);
    user.approve("acme:refunds").await;
    let ran = user.run(&["run", "acme:refunds", "scripts/calc.py"]).await.assert_exit(104);
    assert!(ran.stderr.contains("--exec` grants it."), "{}", ran.stderr);
    user.run_ok(&["approve", "acme:refunds", "--exec", "--yes"]).await;
    let ran =
        user.run(&["run", "acme:refunds", "scripts/calc.py", "7", "--x"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "got ['7', '--x'] None\n");
    for said in ["Running `scripts/calc.py` of acme:refunds (sha256:", "isolation", "network: none"]
    {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let log = user.run_ok(&["audit", "--json"]).await;
    let line =
        log.lines().find(|line| line.contains("\"action\":\"run\"") && line.contains("exited"));
    let line: Value = serde_json::from_str(line.expect("the run is in the log")).unwrap();
    let detail: Value = serde_json::from_str(line["detail"].as_str().unwrap()).unwrap();
    assert_eq!(detail["outcome"], "exited with 0");
    for key in ["asked_by", "script_digest", "limits", "variables", "network", "used", "isolation"]
    {
        assert!(detail.get(key).is_some(), "{key}: {detail}");
    }
    assert!(line["content"].as_str().unwrap().starts_with("sha256:"), "{line}");
    // One more byte revokes the grant.
    skills.file("refunds/references/new.md", "x");
    user.run(&["run", "acme:refunds", "scripts/calc.py"]).await.assert_exit(104);
}

#[tokio::test]
async fn what_a_script_does_decides_how_the_command_ends() {
    let (user, skills) = (TestUser::new(), skills());
    user.add_folder_server("acme", &skills).await;
    let grants = ["--env", "API_TOKEN", "--env", "NOT_SET_ANYWHERE"];
    let approve = ["approve", "acme:refunds", "--exec", "--yes"];
    user.run_ok(&[&approve[..], &grants].concat()).await;
    let ran = user.run(&["run", "acme:refunds", "scripts/calc.py", "4"]).await.assert_exit(4);
    assert!(ran.stderr.contains("The script exited with 4."), "{}", ran.stderr);
    let ran = user
        .run(&["run", "--timeout", "1", "acme:refunds", "scripts/slow.py"])
        .await
        .assert_exit(108);
    assert!(ran.stderr.contains("it took too long"), "{}", ran.stderr);
    user.run(&["run", "acme:refunds", "scripts/secret.py"]).await.assert_exit(1);
    user.run(&["run", "acme:refunds", "scripts/none.py"]).await.assert_exit(102);
    user.run(&["run", "acme:refunds", "../../etc/passwd"]).await.assert_exit(102);
    user.run(&["run", "--env", "NOT_SET_ANYWHERE", "acme:refunds", "scripts/calc.py"])
        .await
        .assert_exit(102);
    let mut granted = user.command(&[
        "run",
        "--env",
        "API_TOKEN",
        "--output",
        "out",
        "acme:refunds",
        "scripts/calc.py",
    ]);
    granted.env("API_TOKEN", "granted");
    let ran = crate::support::finish(granted).await.assert_exit(0);
    assert_eq!(ran.stdout, "got [] granted\n");
    let left = std::fs::read_to_string(user.home.join("work/out/report.txt")).unwrap();
    assert_eq!(left, "made");
    let json = user.run_json(&["run", "--json", "acme:refunds", "scripts/calc.py"]).await;
    assert_eq!(
        (&json["end"], &json["files"]),
        (&json!({ "exited": 0 }), &json!({ "report.txt": 4 }))
    );
}

#[tokio::test]
async fn doctor_runs_a_script_and_says_what_works() {
    let ran = run(&SkillFolder::new(), &["doctor", "--json"]).await;
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tiers = found["tiers"].as_array().unwrap();
    assert_eq!(tiers.len(), 2, "{found}");
    for tier in tiers {
        // Either the tier works, or the report says what is missing and what to do.
        assert!(tier["works"] == true || tier["missing"]["hint"].is_string(), "{found}");
    }
    assert_eq!(ran.code, Some(i32::from(tiers[0]["works"] != true)), "{found}");
}

#[tokio::test]
async fn doctor_goes_beyond_every_limit_and_prints_what_held_b_13() {
    let ran = run(&SkillFolder::new(), &["doctor", "--json"]).await;
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let works = found["tiers"].as_array().unwrap().iter().filter(|tier| tier["works"] == true);
    let limits = found["limits"].as_array().unwrap();
    assert_eq!(limits.len(), works.count(), "{found}");
    for tier in limits {
        let tried = tier["tried"].as_array().unwrap();
        assert_eq!(tried.len(), 8, "{found}");
        for limit in tried {
            assert_eq!(limit["held"], true, "{limit}: {found}");
            assert!(!limit["enforcement"].is_null(), "{found}");
        }
    }
}

#[tokio::test]
async fn a_server_runs_nothing_unless_its_operator_says_what() {
    let folder = skills();
    let path = folder.path().to_str().unwrap();
    let ran = run(&folder, &["serve", "--execute", path]).await.assert_exit(2);
    assert!(ran.stderr.contains("--allow-script"), "{}", ran.stderr);
    let ran = run(&folder, &["serve", "--allow-script", "refunds/**", path]).await.assert_exit(2);
    assert!(ran.stderr.contains("--execute"), "{}", ran.stderr);
}

fn call(arguments: &Value) -> Value {
    json!({ "name": "run_skill_script", "arguments": arguments })
}

#[tokio::test]
async fn a_client_runs_an_allowed_script_and_reads_what_it_left() {
    let folder = skills();
    let allowed = ["--execute", "--allow-script", "refunds/scripts/{calc,slow}.py"];
    let mut server = StdioServer::serve(&folder, &[&["."], &allowed[..]].concat());
    let tools = server.modern("tools/list", Value::Null).await;
    let tools = tools.result()["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "run_skill_script"), "{tools:?}");
    let wanted = json!({ "skill": "refunds", "script": "scripts/calc.py",
                         "arguments": { "_": [7], "note": "-x" } });
    let ran = server.modern("tools/call", call(&wanted)).await;
    let result = ran.result();
    assert_ne!(result["isError"], true, "{result}");
    let content = result["content"].as_array().unwrap();
    assert!(content[0]["text"].as_str().unwrap().contains("no instructions"), "{result}");
    assert_eq!(content[1]["text"], "got ['--note=-x', '7'] None\n");
    assert_eq!(content[1]["_meta"]["skillwire/untrusted"], true);
    let link = &content[2];
    assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("report.txt")));
    let uri = link["uri"].as_str().unwrap();
    assert!(uri.starts_with("skill-output://"), "{uri}");
    let read = server.modern("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read.result()["contents"][0]["text"], "made");
    assert_eq!(read.result()["cacheScope"], "private", "{:?}", read.result());
    let other = uri.replace("report.txt", "other.txt");
    assert_eq!(server.modern("resources/read", json!({ "uri": other })).await.code(), -32602);

    let listed = server.modern("tools/call", call(&json!({ "skill": "refunds" }))).await;
    assert_eq!(
        listed.result()["content"][0]["text"],
        "These scripts of the skill may run:\n  scripts/calc.py\n  scripts/slow.py\n"
    );

    let failing = json!({ "skill": "skill://refunds/SKILL.md", "script": "scripts/calc.py",
                          "arguments": { "_": [4] } });
    let failed = server.modern("tools/call", call(&failing)).await;
    assert_eq!(failed.result()["isError"], true);
    for (script, why) in [
        ("scripts/secret.py", "does not let this script run"),
        ("scripts/none.py", "no such file"),
        ("SKILL.md", "does not let this script run"),
    ] {
        let wanted = json!({ "skill": "refunds", "script": script });
        let refused = server.modern("tools/call", call(&wanted)).await;
        assert_eq!(refused.result()["isError"], true);
        let text = refused.result()["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(why), "{text}");
    }
    for wrong in [
        json!({ "script": "scripts/calc.py" }),
        json!({ "skill": "../refunds", "script": "scripts/calc.py" }),
        json!({ "skill": "refunds", "script": "../calc.py" }),
        json!({ "skill": "refunds", "script": "scripts/calc.py", "sandbox": false }),
    ] {
        let refused = server.modern("tools/call", call(&wrong)).await;
        assert_eq!(refused.result()["isError"], true, "cl_13: {wrong}");
    }
    let ended = server.close().await.assert_exit(0);
    for word in ["a script was run", "script_digest", "outcome", "peak_memory"] {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn a_skill_is_found_by_a_name_that_it_alone_has() {
    let folder = SkillFolder::new();
    for (path, name) in
        [("billing/refunds", "refunds"), ("sales/refunds", "refunds"), ("a/b/quotes", "quotes")]
    {
        folder.file(&format!("{path}/SKILL.md"), skill_with(name, ""));
        folder.file(&format!("{path}/run.sh"), format!("echo {path}"));
    }
    let mut server = StdioServer::serve(&folder, &[".", "--execute", "--allow-script", "**"]);
    for (skill, path) in [("quotes", "a/b/quotes"), ("sales/refunds", "sales/refunds")] {
        let wanted = json!({ "skill": skill, "script": "run.sh" });
        let ran = server.modern("tools/call", call(&wanted)).await;
        assert_eq!(ran.result()["content"][1]["text"], format!("{path}\n"), "{:?}", ran.result());
    }
    for (skill, words) in [
        ("refunds", "`billing/refunds`, `sales/refunds`. Name one by its path."),
        ("quote", "There is no skill `quote`."),
        ("", "There is no skill ``."),
    ] {
        let wanted = json!({ "skill": skill, "script": "run.sh" });
        let refused = server.modern("tools/call", call(&wanted)).await;
        let refused = refused.result();
        assert_eq!(refused["isError"], true, "cl_13: {refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn without_the_option_there_is_no_tool() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &["."]);
    let tools = server.modern("tools/list", Value::Null).await;
    assert!(!tools.0.to_string().contains("run_skill_script"), "{}", tools.0);
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_script_that_runs_on_tells_of_it_and_is_ended_with_its_client() {
    let folder = skills();
    folder.file("refunds/scripts/slow.py", "import time\ntime.sleep(59.25)\n");
    let mut server =
        StdioServer::serve(&folder, &[".", "--execute", "--allow-script", "refunds/**"]);
    let mut params = call(&json!({ "skill": "refunds", "script": "scripts/slow.py" }));
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "slow",
    });
    let request = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params });
    let told = server.request(&request).await.0;
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], "slow");
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": { "requestId": 77 } });
    server.send(&cancelled).await;
    // The script would sleep for a minute. Its line in the log shows that the run ended at once.
    server.process.wait_for_line("it was cancelled").await;
    server.close().await.assert_exit(0);
}

fn slow_skill() -> SkillFolder {
    let folder = skills();
    folder.file("refunds/scripts/slow.py", "import time\ntime.sleep(59.25)\n");
    folder
}

/// A legacy client's request to run a slow script, with a progress token, and its cancellation.
fn slow_requests(method: &str) -> (Value, Value) {
    let mut params = match method {
        "skills/execute" => json!({ "name": "refunds", "script": "slow" }),
        _ => call(&json!({ "skill": "refunds", "script": "scripts/slow.py" })),
    };
    params["_meta"] = json!({ "progressToken": 7 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": "slow" } });
    (legacy_request("slow", method, params), cancel)
}

fn tells_of_progress(told: &Value) {
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], 7, "{told}");
    // The value is in milliseconds, and the first report is late on a busy machine.
    assert!(told["params"]["progress"].as_u64() >= Some(1), "{told}");
}

#[tokio::test]
async fn either_method_tells_of_progress_and_is_cancelled_over_pipes() {
    for method in ["skills/execute", "tools/call"] {
        let folder = slow_skill();
        let mut server =
            StdioServer::serve(&folder, &[".", "--execute", "--allow-script", "refunds/**"]);
        let hello = legacy_request(1, "initialize", initialize_params("2025-11-25"));
        server.request(&hello).await.result();
        let (ask, cancel) = slow_requests(method);
        tells_of_progress(&server.request(&ask).await.0);
        server.send(&cancel).await;
        // The script would sleep for a minute.
        server.process.wait_for_line("it was cancelled").await;
        server.close().await.assert_exit(0);
    }
}

#[tokio::test]
async fn either_method_tells_of_progress_and_is_cancelled_over_http() {
    let folder = slow_skill();
    let arguments = [".", "--execute", "--allow-script", "refunds/**"];
    let mut server = HttpServer::serve(&folder, &arguments).await;
    for method in ["skills/execute", "tools/call"] {
        let hello = legacy_request(1, "initialize", initialize_params("2025-11-25"));
        let mut connection = HttpConnection::open(server.address).await;
        connection.send("POST", "/mcp", &LEGACY_HEADERS, hello.to_string().as_bytes()).await;
        let session = connection.reply().await.header("mcp-session-id").unwrap().to_owned();
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.extend([("Mcp-Session-Id", &*session), ("MCP-Protocol-Version", "2025-11-25")]);
        let (ask, cancel) = slow_requests(method);
        let mut running = HttpConnection::open(server.address).await;
        running.send("POST", "/mcp", &headers, ask.to_string().as_bytes()).await;
        assert_eq!(running.head().await.unwrap().0, 200);
        tells_of_progress(&running.event().await.unwrap());
        connection.send("POST", "/mcp", &headers, cancel.to_string().as_bytes()).await;
        assert_eq!(connection.reply().await.status, 202);
        server.process.wait_for_line("it was cancelled").await;
    }
    // The run also ends when the client disconnects.
    let (ask, _) = slow_requests("skills/execute");
    let mut leaving = HttpConnection::open(server.address).await;
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.push(("MCP-Protocol-Version", "2025-11-25"));
    leaving.send("POST", "/mcp", &headers, ask.to_string().as_bytes()).await;
    assert_eq!(leaving.head().await.unwrap().0, 200);
    tells_of_progress(&leaving.event().await.unwrap());
    drop(leaving);
    server.process.wait_for_line("it was cancelled").await;
}

#[tokio::test]
async fn a_client_of_the_skills_page_runs_scripts_by_its_own_method() {
    let folder = skills();
    let allowed = ["--execute", "--allow-script", "refunds/scripts/calc.py"];
    let mut server = StdioServer::serve(&folder, &[&["."], &allowed[..]].concat());
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let declared = server.request(&hello).await;
    assert_eq!(declared.result()["capabilities"]["skills"]["scripts"], true);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let execute = |id: u32, script: &str, arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "skills/execute",
                "params": { "name": "refunds", "script": script, "arguments": arguments } })
    };
    // The examples of the page do not declare the extension.
    let ran = server.request(&execute(2, "calc", json!({ "_": [100] }))).await;
    assert_eq!(ran.result()["content"][0]["text"], "got ['100'] None\n");
    assert_eq!(ran.result()["isError"], false);
    let failed = server.request(&execute(3, "scripts/calc.py", json!({ "_": [4] }))).await;
    assert_eq!(failed.result()["isError"], true);
    let refused = server.request(&execute(4, "secret.py", json!({}))).await;
    assert_eq!(refused.code(), -32003);
    server.close().await.assert_exit(0);
}
