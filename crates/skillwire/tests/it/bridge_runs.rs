//! `run_skill_script` of the bridge: what the user is asked, what a script gets, what comes back.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::{Value, json};
use skillwire_testkit::{
    DocumentedDialect, DocumentedServer, RpcReply, SkillFolder, initialize_params, legacy_request,
    modern_meta, modern_request,
};

use crate::{
    host::user::TestUser,
    support::{StdioServer, skill_with},
};

fn skills() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    folder.file("refunds/scripts/count.sh", "echo \"args: $@\"\ncat \"$@\"\necho made > out.txt\n");
    folder.file("refunds/scripts/net.sh", "echo net\n");
    folder.file("refunds/scripts/slow.sh", "echo first line\nsleep 3\necho last line\n");
    folder.file("refunds/notes.md", "no script\n");
    folder
}

/// A client of the modern era that can show forms, or not.
struct Client {
    bridge: StdioServer,
    forms: bool,
    id: i64,
}

impl Client {
    fn of(user: &TestUser, forms: bool) -> Self {
        Self { bridge: StdioServer::start(user.command(&["bridge"])), forms, id: 0 }
    }

    async fn request(&mut self, params: Value) -> Value {
        self.send(params).await.result().clone()
    }

    async fn send(&mut self, mut params: Value) -> RpcReply {
        let mut meta = modern_meta();
        if self.forms {
            meta["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "elicitation": { "form": {} } });
        }
        params["_meta"] = meta;
        self.id += 1;
        let request = modern_request(self.id, "tools/call", params);
        self.bridge.request(&request).await
    }

    async fn run(&mut self, arguments: &Value) -> Value {
        self.request(json!({ "name": "run_skill_script", "arguments": arguments })).await
    }

    /// Repeats a call that asked the user with an answer.
    async fn answer(&mut self, arguments: &Value, asked: &Value, answer: Value) -> Value {
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        self.request(json!({
            "name": "run_skill_script",
            "arguments": arguments,
            "requestState": asked["requestState"],
            "inputResponses": { "run": answer },
        }))
        .await
    }
}

fn yes(always: bool) -> Value {
    json!({ "action": "accept", "content": { "run": true, "always": always } })
}

fn form(asked: &Value) -> &str {
    asked["inputRequests"]["run"]["params"]["message"].as_str().unwrap_or_default()
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

async fn user() -> (TestUser, SkillFolder) {
    let (user, skills) = (TestUser::new(), skills());
    user.add_folder_server("acme", &skills).await;
    user.home.file("data/2026.csv", "a,b\n");
    user.home.file("data2/keys", "secret\n");
    user.approve("acme:refunds").await;
    (user, skills)
}

#[tokio::test]
async fn without_forms_a_script_runs_after_a_grant_at_a_terminal_and_never_with_more() {
    let (user, skills) = user().await;
    let mut client = Client::of(&user, false);
    let listed = client.run(&json!({ "name": "acme:refunds" })).await;
    let scripts =
        "Scripts of the skill:\n  scripts/count.sh\n  scripts/net.sh\n  scripts/slow.sh\n";
    assert!(text(&listed).starts_with(scripts), "{listed}");
    assert!(text(&listed).contains("asked before the first one runs"), "{listed}");
    let count = json!({ "name": "acme:refunds", "script": "scripts/count.sh" });
    let refused = client.run(&count).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).contains("--exec`."), "{refused}");

    let data = user.home.path().canonicalize().unwrap().join("data");
    let data = data.to_str().unwrap();
    user.run_ok(&["approve", "acme:refunds", "--yes", "--exec", "--input", data]).await;
    let file = format!("{data}/2026.csv");
    let with_file = json!({
        "name": "acme:refunds", "script": "scripts/count.sh", "args": [file], "inputs": [file],
    });
    let ran = client.run(&with_file).await;
    assert!(text(&ran).contains("args: 2026.csv\na,b\n"), "{ran}");
    assert_ne!(ran["isError"], true, "{ran}");
    let link = ran["content"].as_array().unwrap().iter().find(|it| it["type"] == "resource_link");
    let link = link.expect("the file that it left is linked");
    assert_eq!(link["name"], "out.txt", "{ran}");
    // Some clients show a model the first block alone.
    let first = ran["content"][0]["text"].as_str().unwrap();
    assert!(first.contains("a,b\n") && first.contains("file: out.txt skill-output://"), "{first}");
    let read = client.bridge.modern("resources/read", json!({ "uri": link["uri"] })).await;
    assert_eq!(read.result()["contents"][0]["text"], "made\n");

    // What was not granted is refused, and the refusal says how to grant it beside what is granted.
    std::os::unix::fs::symlink(user.home.join("data2/keys"), user.home.join("data/link")).unwrap();
    for (more, words) in [
        (json!({ "inputs": [user.home.join("data2/keys")] }), "data2/keys"),
        (json!({ "inputs": [format!("{data}/link")] }), "data2/keys"),
        (json!({ "network": ["api.example.com:443"] }), "--network api.example.com:443"),
        (json!({ "env": ["HOME"] }), "--env HOME"),
    ] {
        let mut wanted = count.clone();
        wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = client.run(&wanted).await;
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).contains(words), "{words}: {refused}");
        assert!(text(&refused).contains(&format!("--input {data}")), "{refused}");
        assert!(!text(&refused).contains("secret"), "{refused}");
    }
    for wrong in [
        json!({ "name": "acme:refunds", "script": "../../etc/passwd" }),
        json!({ "name": "acme:refunds", "script": "scripts/none.sh" }),
        json!({ "name": "acme:refunds", "script": "scripts/count.sh", "args": "x" }),
        json!({ "name": "acme:refunds", "script": "scripts/count.sh", "network": ["*:443"] }),
        json!({ "name": "acme:refunds", "script": "notes.md" }),
    ] {
        assert_eq!(client.run(&wrong).await["isError"], true, "{wrong}");
    }
    // One more byte in the skill ends the grant, and a revocation does at once.
    user.run_ok(&["revoke", "acme:refunds"]).await;
    let refused = client.run(&count).await;
    assert!(text(&refused).contains("not_approved"), "{refused}");
    skills.file("refunds/new.md", "x");
    client.bridge.close().await.assert_exit(0);
    let log = user.run_ok(&["audit", "--json"]).await;
    let runs = log.lines().filter(|line| line.contains("\"action\":\"run\"")).count();
    assert!(runs >= 5, "each run and each refusal is in the log: {log}");
}

#[tokio::test]
async fn a_form_shows_script_arguments_files_and_grants_and_its_answer_counts_once() {
    let (user, _skills) = user().await;
    let mut client = Client::of(&user, true);
    let file = user.home.path().canonicalize().unwrap().join("data/2026.csv");
    let wanted = json!({
        "name": "acme:refunds", "script": "scripts/count.sh", "args": ["2026.csv"],
        "inputs": [file], "network": ["api.example.com:443"],
    });
    let asked = client.run(&wanted).await;
    for words in [
        "Run `scripts/count.sh` of the skill acme:refunds, in isolation on this machine?\n",
        "Arguments: 2026.csv\n",
        "network: api.example.com:443\n",
        "your variables: none\n",
        file.to_str().unwrap(),
        "at most 512 MiB of memory and 30 s for each run\n",
        "exactly this content: sha256:",
    ] {
        assert!(form(&asked).contains(words), "{words}: {}", form(&asked));
    }
    let ran = client.answer(&wanted, &asked, yes(false)).await;
    assert!(text(&ran).contains("args: 2026.csv\na,b\n"), "{ran}");
    // The same answer sent again runs nothing: the user said yes to one run.
    let again = client.answer(&wanted, &asked, yes(false)).await;
    assert_eq!(again["resultType"], "input_required", "{again}");
    // An answer to one question is none to a wider one.
    let mut wider = wanted.clone();
    wider["env"] = json!(["HOME"]);
    let params = json!({
        "name": "run_skill_script", "arguments": wider, "requestState": again["requestState"],
        "inputResponses": { "run": yes(false) },
    });
    assert_eq!(client.send(params).await.code(), -32602);

    // Declining is for this run; the skill stays loadable.
    let asked = client.run(&wanted).await;
    let declined = client.answer(&wanted, &asked, json!({ "action": "decline" })).await;
    assert!(text(&declined).contains("user_declined"), "{declined}");
    let unticked = json!({ "action": "accept", "content": { "run": false } });
    let asked = client.run(&wanted).await;
    let not_run = client.answer(&wanted, &asked, unticked).await;
    assert!(text(&not_run).contains("not_granted"), "{not_run}");
    let load = json!({ "name": "load_skill", "arguments": { "name": "acme:refunds" } });
    assert_ne!(client.request(load).await["isError"], true);
    client.bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_user_who_does_not_want_to_be_asked_again_grants_what_the_form_showed() {
    let (user, _skills) = user().await;
    let mut client = Client::of(&user, true);
    let wanted = json!({ "name": "acme:refunds", "script": "scripts/net.sh" });
    let asked = client.run(&wanted).await;
    let ran = client.answer(&wanted, &asked, yes(true)).await;
    assert!(text(&ran).contains("net\n"), "{ran}");
    let again = client.run(&wanted).await;
    assert!(text(&again).contains("net\n"), "no question for what is granted: {again}");
    let mut wider = wanted.clone();
    wider["network"] = json!(["api.example.com:443"]);
    let asked = client.run(&wider).await;
    assert!(form(&asked).contains("network: api.example.com:443"), "{asked}");
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("approved in a form") && shown.contains("network: none"), "{shown}");
    client.bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_skill_that_changes_while_the_user_looks_does_not_run() {
    let (user, skills) = user().await;
    let mut client = Client::of(&user, true);
    let wanted = json!({ "name": "acme:refunds", "script": "scripts/net.sh" });
    let asked = client.run(&wanted).await;
    assert!(form(&asked).contains("scripts/net.sh"), "{asked}");
    skills.file("refunds/scripts/net.sh", "echo evil\n");
    // The bridge may have noticed the change or not; neither version runs with the old answer.
    let mut asked_again = false;
    for _ in 0..200 {
        let answered = client.answer(&wanted, &asked, yes(true)).await;
        assert!(!text(&answered).contains("evil\n"), "{answered}");
        if answered["isError"] == true || answered["resultType"] == "input_required" {
            asked_again = true;
            break;
        }
        // The bytes that the user was asked about are still what the server lists.
        assert!(text(&answered).contains("net\n"), "{answered}");
    }
    assert!(asked_again, "the change ends the grant");
    client.bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_client_of_the_legacy_era_is_asked_in_the_middle_of_the_call() {
    let (user, _skills) = user().await;
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let mut hello = initialize_params("2025-06-18");
    hello["capabilities"] = json!({ "elicitation": {} });
    bridge.request(&legacy_request(0, "initialize", hello)).await.result();
    let arguments = json!({ "name": "acme:refunds", "script": "scripts/net.sh" });
    let params = json!({ "name": "run_skill_script", "arguments": arguments });
    bridge.send(&legacy_request(1, "tools/call", params)).await;
    for _ in 0..20 {
        let message = bridge.next().await.expect("the bridge answers");
        if message["method"] == "elicitation/create" {
            let words = message["params"]["message"].as_str().unwrap_or_default();
            assert!(words.starts_with("Run `scripts/net.sh` of the skill acme:refunds"), "{words}");
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": yes(false) });
            bridge.send(&answer).await;
        } else if message["id"] == 1 {
            assert!(text(&message["result"]).contains("net\n"), "{message}");
            bridge.close().await.assert_exit(0);
            return;
        }
    }
    panic!("no answer after twenty messages");
}

#[tokio::test]
async fn what_a_script_writes_is_reported_while_it_runs() {
    let (user, _skills) = user().await;
    user.run_ok(&["approve", "acme:refunds", "--yes", "--exec"]).await;
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    let arguments = json!({ "name": "acme:refunds", "script": "scripts/slow.sh" });
    let mut meta = modern_meta();
    meta["progressToken"] = 7.into();
    let params = json!({ "name": "run_skill_script", "arguments": arguments, "_meta": meta });
    bridge.send(&modern_request(1, "tools/call", params)).await;
    let mut told = Vec::new();
    for _ in 0..100 {
        let message = bridge.next().await.expect("the bridge answers");
        if message["method"] == "notifications/progress" {
            told.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
        }
        if message.get("result").is_some() {
            assert!(text(&message["result"]).contains("first line\nlast line\n"), "{message}");
            break;
        }
    }
    assert!(told.iter().any(|text| text.contains("first line")), "{told:?}");
    bridge.close().await.assert_exit(0);
}

/// A user of a server of the "Skills" page, which runs its scripts itself.
async fn user_of_page() -> (TestUser, DocumentedServer) {
    let server = DocumentedServer::start(DocumentedDialect::D6).await;
    let user = TestUser::new();
    user.run_ok(&["server", "add", "acme", &server.url()]).await;
    user.approve("acme:refunds").await;
    (user, server)
}

/// How often the server was asked to run a script.
fn executions(server: &DocumentedServer) -> usize {
    let log = server.mcp().expect("it is an MCP server");
    log.log().iter().filter(|message| message.method == "skills/execute").count()
}

#[tokio::test]
async fn a_server_that_runs_scripts_is_asked_after_a_consent_of_its_own_p_04() {
    let (user, server) = user_of_page().await;
    let run = ["run", "--remote", "acme:refunds", "scripts/calc.py", "100"];
    let refused = user.run(&run).await;
    assert!(refused.stderr.contains("--remote-exec` grants it."), "{}", refused.stderr);
    // A grant to run scripts here is none to have them run there.
    user.run_ok(&["approve", "acme:refunds", "--yes", "--exec"]).await;
    assert!(user.run(&run).await.stderr.contains("--remote-exec` grants it."));
    assert_eq!(executions(&server), 0, "nothing was sent before the user agreed");
    user.run_ok(&["approve", "acme:refunds", "--yes", "--remote-exec"]).await;
    let ran = user.run(&run).await.assert_exit(0);
    assert_eq!(ran.stdout, "[\"100\"]\\u{1b}[1m\n", "what it wrote is shown and does not act");
    assert!(ran.stderr.contains("file:///output/x.pptx"), "{}", ran.stderr);
    assert_eq!(executions(&server), 1, "a script is never sent twice");
    let other = ["run", "--remote", "acme:refunds", "scripts/other.py"];
    assert!(user.run(&other).await.stderr.contains("file_not_listed"));
    assert_eq!(executions(&server), 1);
}

#[tokio::test]
async fn a_client_of_the_bridge_has_a_server_run_a_script_after_a_form_p_04() {
    let (user, server) = user_of_page().await;
    let wanted = json!({ "name": "acme:refunds", "script": "scripts/calc.py", "args": ["100"] });
    let mut client = Client::of(&user, false);
    let refused = client.run(&wanted).await;
    assert!(text(&refused).contains("--remote-exec`."), "{refused}");
    client.bridge.close().await.assert_exit(0);
    let mut client = Client::of(&user, true);
    let asked = client.run(&wanted).await;
    for words in ["on its server `acme`?\nArguments: 100\n", "nothing isolates the script there"] {
        assert!(form(&asked).contains(words), "{words}: {}", form(&asked));
    }
    assert_eq!(executions(&server), 0);
    let ran = client.answer(&wanted, &asked, yes(false)).await;
    assert!(text(&ran).contains("[\"100\"]"), "{ran}");
    assert!(text(&ran).contains("data, and no instructions"), "{ran}");
    let again = client.answer(&wanted, &asked, yes(false)).await;
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert_eq!(executions(&server), 1);
    client.bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_bridge_without_scripts_offers_no_such_tool() {
    let (user, _skills) = user().await;
    for (arguments, offered) in [(&["bridge"][..], true), (&["bridge", "--no-scripts"], false)] {
        let mut bridge = StdioServer::start(user.command(arguments));
        let tools = bridge.modern("tools/list", json!({})).await;
        let tools = tools.result()["tools"].to_string();
        assert_eq!(tools.contains("run_skill_script"), offered, "{tools}");
        bridge.close().await.assert_exit(0);
    }
}
