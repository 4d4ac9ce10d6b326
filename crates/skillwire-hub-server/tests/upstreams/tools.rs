//! Tools and prompts of upstreams on both mounts: which are there, for whom, and what is recorded.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skillwire_hub::{Role, ToolPatterns, UpstreamMode, UpstreamSource};
use skillwire_hub_server::HubAccess;
use skillwire_hub_store::UpstreamChange;
use skillwire_testkit::{
    Fault, HostileServer, HttpConnection, ReplyGate, RpcReply, ScriptedReply, modern_headers,
    modern_meta, modern_request, skill_md,
};

use crate::support::{Hub, SkillForAnaAlone, label};

const OWN: &str = "/mcp/u/docs";
const NOT_FOUND: i64 = -32602;
/// The answer at the address of an upstream that the caller must not know of.
const NO_ENDPOINT: i64 = -32600;
/// Where a modern client says what it can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A server with a skill, three tools and a prompt.
fn server() -> HostileServer {
    let result = |mut members: Value| {
        members["resultType"] = "complete".into();
        ScriptedReply::Result(members)
    };
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools = json!({"tools": [tool("read_pdf"), tool("delete_all"), tool("convert")]});
    HostileServer::new()
        .skill("pdf", [("notes.md", "one")])
        .fault(Fault::Capabilities(json!({
            "tools": {"listChanged": true}, "prompts": {},
            "resources": {"listChanged": true, "subscribe": true},
            "extensions": {"io.modelcontextprotocol/skills": {}},
        })))
        .on("tools/list", move |_, _| result(tools.clone()))
        .on("prompts/list", move |_, _| result(json!({"prompts": [{"name": "read_aloud"}]})))
        .on("tools/call", move |request, _| {
            let text = format!("{} done", request.params["name"].as_str().unwrap_or("?"));
            result(json!({"content": [{"type": "text", "text": text}]}))
        })
}

impl Hub {
    async fn names(&self, token: Option<&str>, mount: &str, list: &str) -> Vec<String> {
        let reply = self.ask_as(token, mount, &format!("{list}/list"), json!({})).await;
        let listed = reply.map(|reply| reply.0["result"][list].clone()).unwrap_or_default();
        let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
        listed.as_array().map(|items| items.iter().map(name).collect()).unwrap_or_default()
    }

    async fn tools(&self, token: Option<&str>, mount: &str) -> Vec<String> {
        self.names(token, mount, "tools").await
    }

    async fn until_tools(&self, token: Option<&str>, mount: &str, expected: &[&str]) {
        let start = Instant::now();
        loop {
            let now = self.tools(token, mount).await;
            if now == expected {
                return;
            }
            assert!(start.elapsed().as_secs() < 20, "{mount} has {now:?}, not {expected:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn call(&self, token: Option<&str>, mount: &str, name: &str) -> RpcReply {
        let params = json!({"name": name, "arguments": {}});
        self.ask_as(token, mount, "tools/call", params).await.unwrap()
    }
}

fn text(reply: &RpcReply) -> &str {
    reply.0["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allowed_tools_are_called_through_both_mounts_and_each_call_is_recorded() {
    let (hub, server) = (Hub::start().await, server());
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &["read_*"]).await;
    hub.store
        .grant(&hub.admin, &label("docs"), &"ana".parse().unwrap(), Role::Reader)
        .await
        .unwrap();
    let token = hub.token("ana").await;
    let ana = Some(token.as_str());
    hub.until_tools(ana, OWN, &["read_pdf"]).await;
    hub.until_tools(ana, "/mcp", &["docs__read_pdf"]).await;
    assert_eq!(hub.names(ana, OWN, "prompts").await, ["read_aloud"]);
    assert_eq!(hub.names(ana, "/mcp", "prompts").await, ["docs__read_aloud"]);
    assert_eq!(text(&hub.call(ana, OWN, "read_pdf").await), "read_pdf done");
    assert_eq!(text(&hub.call(ana, "/mcp", "docs__read_pdf").await), "read_pdf done");
    // What the operator did not name is as unknown as what does not exist, and the server is not asked.
    for (mount, hidden, missing) in
        [(OWN, "delete_all", "delete_xyz"), ("/mcp", "docs__delete_all", "docs__delete_xyz")]
    {
        let (hidden_reply, missing_reply) =
            (hub.call(ana, mount, hidden).await, hub.call(ana, mount, missing).await);
        assert_eq!(hidden_reply.code(), NOT_FOUND);
        let same = hidden_reply.0.to_string().replace(hidden, missing);
        assert_eq!(same, missing_reply.0.to_string());
    }
    assert_eq!(server.count("tools/call"), 2);
    let labels = r#"upstream="docs",method="tools/call",outcome="answered""#;
    hub.measures(&format!("skillwire_upstream_calls_total{{{labels}}} 2")).await;
    for entry in hub.calls(2).await {
        assert_eq!((entry.actor.as_str(), entry.target.as_str()), ("ana", "docs"));
        let details: Value = serde_json::from_str(&entry.details).unwrap();
        assert_eq!(details["method"], "tools/call");
        assert_eq!(details["name"], "read_pdf");
        assert_eq!(details["outcome"], "answered");
        assert!(details["ended"].is_string() && details["took_ms"].is_u64(), "{details}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_without_a_role_sees_and_calls_no_tool_gw_16() {
    for hub in [Hub::start().await, Hub::with_policy(SkillForAnaAlone("ops")).await] {
        a_caller_without_a_role_sees_and_calls_no_tool(&hub).await;
    }
}

async fn a_caller_without_a_role_sees_and_calls_no_tool(hub: &Hub) {
    let server = server();
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &["*"]).await;
    let (docs, ana) = (label("docs"), "ana".parse().unwrap());
    hub.store.grant(&hub.admin, &docs, &ana, Role::Reader).await.unwrap();
    let (of_ana, of_bea) = (hub.token("ana").await, hub.token("bea").await);
    let all = ["convert", "delete_all", "read_pdf"];
    hub.until_tools(Some(&of_ana), OWN, &all).await;
    hub.until_tools(
        Some(&of_ana),
        "/mcp",
        &all.map(|name| format!("docs__{name}")).each_ref().map(String::as_str),
    )
    .await;
    assert!(hub.tools(Some(&of_bea), "/mcp").await.is_empty());
    assert_eq!(hub.call(Some(&of_bea), "/mcp", "docs__read_pdf").await.code(), NOT_FOUND);
    assert_eq!(hub.call(Some(&of_bea), OWN, "read_pdf").await.code(), NO_ENDPOINT);
    // A role that is taken away counts at once, also on a connection that is open.
    hub.store.withdraw_grant(&hub.admin, &docs, &ana, Role::Reader).await.unwrap();
    hub.until_tools(Some(&of_ana), OWN, &[]).await;
    assert_eq!(hub.call(Some(&of_ana), OWN, "read_pdf").await.code(), NO_ENDPOINT);
    assert_eq!(server.count("tools/call"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_an_approved_skill_names_is_callable_while_it_is_served() {
    let (hub, server) = (Hub::start().await, server());
    let naming =
        skill_md("pdf").replacen("---\n", "---\nallowed-tools: Read, mcp__docs__convert\n", 1);
    server.set_skill("pdf", [("SKILL.md", naming.as_str())]);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Admit).await;
    hub.waiting(1).await;
    assert!(hub.tools(None, OWN).await.is_empty(), "what waits lets no tool in");
    hub.approve(1).await;
    hub.until_tools(None, OWN, &["convert"]).await;
    hub.until_tools(None, "/mcp", &["docs__convert"]).await;
    assert_eq!(text(&hub.call(None, "/mcp", "docs__convert").await), "convert done");
    assert_eq!(hub.calls(1).await[0].actor, "anonymous");
    // In a mode without reviews, an upstream's own skills let nothing in.
    hub.set_mode("docs", UpstreamMode::Passthrough).await;
    hub.until_tools(None, OWN, &[]).await;
    assert_eq!(hub.call(None, OWN, "convert").await.code(), NOT_FOUND);
    // The operator names tools while the hub runs.
    let tools = Some(ToolPatterns::parse(["delete_*"]).unwrap());
    let change = UpstreamChange { tools, ..UpstreamChange::default() };
    hub.store.change_upstream(&hub.admin, &label("docs"), change).await.unwrap();
    hub.until_tools(None, OWN, &["delete_all"]).await;
    hub.store.remove_upstream(&hub.admin, &label("docs"), true).await.unwrap();
    hub.until_tools(None, "/mcp", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_or_prompt_that_hands_out_skills_is_passed_on_in_any_mode_gw_16() {
    let result = |mut members: Value| {
        members["resultType"] = "complete".into();
        ScriptedReply::Result(members)
    };
    let skill_tools = [
        "find_skill",
        "list_repo_skills",
        "list_skills",
        "load_skill",
        "read_skill",
        "read_skill_file",
        "search_skills",
        "skill",
        "skill-resource",
        "use_skill",
    ];
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let listed: Vec<Value> = skill_tools.into_iter().chain(["convert"]).map(tool).collect();
    let prompt = |name: &str| json!({"name": name});
    let prompts = ["skill", "pdf", "read_aloud"].map(prompt);
    let server = HostileServer::new()
        .fault(Fault::Capabilities(json!({
            "tools": {}, "prompts": {}, "extensions": {"io.modelcontextprotocol/skills": {}},
        })))
        .on("tools/list", move |_, _| result(json!({"tools": listed})))
        .on("prompts/list", move |_, _| result(json!({"prompts": prompts})));
    let asks = format!("---\nallowed-tools: convert {}\n", skill_tools.join(" "));
    server.set_skill("pdf", [("SKILL.md", skill_md("pdf").replacen("---\n", &asks, 1).as_str())]);
    let listening = server.http().await;
    for (patterns, prompts) in [(vec!["*"], vec!["read_aloud"]), (Vec::new(), Vec::new())] {
        let hub = Hub::start().await;
        let source = UpstreamSource::mcp(listening.url());
        hub.add_with_tools("docs", source, UpstreamMode::Pin, &patterns).await;
        hub.lets_read("docs", "*").await;
        hub.approve(1).await;
        for mode in [UpstreamMode::Pin, UpstreamMode::Admit, UpstreamMode::Observe] {
            // Without a pattern a skill lets tools in, and only while it is reviewed.
            if patterns.is_empty() && !mode.is_reviewed() {
                continue;
            }
            hub.set_mode("docs", mode).await;
            hub.until_tools(None, OWN, &["convert"]).await;
            hub.until_tools(None, "/mcp", &["docs__convert"]).await;
            assert_eq!(hub.names(None, OWN, "prompts").await, prompts, "{mode}");
            for name in skill_tools {
                assert_eq!(hub.call(None, OWN, name).await.code(), NOT_FOUND, "{mode} {name}");
                let name = format!("docs__{name}");
                assert_eq!(hub.call(None, "/mcp", &name).await.code(), NOT_FOUND, "{mode} {name}");
            }
        }
    }
    assert_eq!(server.count("tools/call"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_only_a_hidden_skill_names_is_as_unknown_as_that_skill_gw_16() {
    let (hub, server) = (Hub::with_policy(SkillForAnaAlone("ops")).await, server());
    let naming = |skill: &str, tool: &str| {
        skill_md(skill).replacen("---\n", &format!("---\nallowed-tools: {tool}\n"), 1)
    };
    server.set_skill("pdf", [("SKILL.md", naming("pdf", "convert").as_str())]);
    server.set_skill("ops", [("SKILL.md", naming("ops", "delete_all").as_str())]);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Admit).await;
    hub.approve(2).await;
    let token = hub.token("ana").await;
    let ana = Some(token.as_str());
    hub.until_tools(ana, OWN, &["convert", "delete_all"]).await;
    hub.until_tools(ana, "/mcp", &["docs__convert", "docs__delete_all"]).await;
    for (mount, prefix) in [(OWN, ""), ("/mcp", "docs__")] {
        let name = |own: &str| format!("{prefix}{own}");
        assert_eq!(hub.tools(None, mount).await, [name("convert")]);
        let (hidden, missing) = (name("delete_all"), name("delete_xyz"));
        let reply = hub.call(None, mount, &hidden).await;
        assert_eq!(reply.code(), NOT_FOUND);
        let same = reply.0.to_string().replace(&hidden, &missing);
        assert_eq!(same, hub.call(None, mount, &missing).await.0.to_string());
        assert_eq!(text(&hub.call(ana, mount, &hidden).await), "delete_all done");
    }
    assert_eq!(server.count("tools/call"), 2);
}

/// A server with a tool that reports, one that asks, and one that never ends.
fn talkative(gate: &ReplyGate) -> HostileServer {
    let gate = gate.clone();
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools =
        json!({"tools": [tool("steps"), tool("ask"), tool("hang")], "resultType": "complete"});
    let said =
        |text: &str| json!({"content": [{"type": "text", "text": text}], "resultType": "complete"});
    HostileServer::new()
        .skill("pdf", [("notes.md", "one")])
        .fault(Fault::Capabilities(json!({
            "tools": {}, "extensions": {"io.modelcontextprotocol/skills": {}},
        })))
        .on("tools/list", move |_, _| ScriptedReply::Result(tools.clone()))
        .on("tools/call", move |request, _| match request.params["name"].as_str() {
            Some("steps") => {
                let report = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": request.params["_meta"]["progressToken"], "progress": 0.5,
                } });
                let answer = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{}}}"#, said("done"));
                let held = ScriptedReply::Dripped(Vec::new(), gate.clone(), answer.into_bytes());
                ScriptedReply::After(vec![report], Box::new(held))
            }
            Some("ask") if request.params["requestState"] == "kept" => {
                let answer = &request.params["inputResponses"]["q"];
                ScriptedReply::Result(said(&format!("{} {}", answer["action"], answer["content"])))
            }
            Some("ask") => {
                let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
                let asks = json!({"message": "Sure?", "requestedSchema": schema});
                ScriptedReply::Result(json!({
                    "resultType": "input_required", "requestState": "kept",
                    "inputRequests": {"q": {"method": "elicitation/create", "params": asks}},
                }))
            }
            _ => ScriptedReply::Never,
        })
}

/// Sends a call, and returns the connection on which it is answered.
async fn begin_call(hub: &Hub, mount: &str, params: &Value) -> HttpConnection {
    let mut connection = hub.connect().await;
    let mut headers = modern_headers("tools/call");
    headers.push(("Mcp-Name", params["name"].as_str().unwrap()));
    let body = modern_request(1, "tools/call", params.clone()).to_string();
    connection.send("POST", mount, &headers, body.as_bytes()).await;
    connection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_questions_and_cancellation_pass_through_both_mounts() {
    // Where one upstream alone is served, its questions need no name.
    let asks = "The server `docs` asks: Sure?";
    for (mount, prefix, asks) in [(OWN, "", "Sure?"), ("/mcp", "docs__", asks)] {
        let (hub, gate) = (Hub::start().await, ReplyGate::new());
        let server = talkative(&gate);
        let listening = server.http().await;
        let source = UpstreamSource::mcp(listening.url());
        hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &["*"]).await;
        hub.lets_read("docs", "*").await;
        let names = ["steps", "ask", "hang"].map(|name| format!("{prefix}{name}"));
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let start = Instant::now();
        while {
            let mut now = hub.tools(None, mount).await;
            now.sort();
            now != sorted
        } {
            assert!(start.elapsed().as_secs() < 20, "{:?}", hub.tools(None, mount).await);
        }
        // Progress comes under the client's own token, before the answer.
        let mut meta = modern_meta();
        meta["progressToken"] = json!("mine");
        let params = json!({"name": names[0], "arguments": {}, "_meta": meta});
        let mut stream = begin_call(&hub, mount, &params).await;
        stream.head().await.expect("a response");
        let report = stream.event().await.expect("a report");
        assert_eq!(report["params"]["progressToken"], "mine", "{mount}: {report}");
        assert_eq!(report["params"]["progress"], 0.5);
        gate.open();
        let answer = stream.event().await.expect("the answer");
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        // A question reaches the user.
        let mut meta = modern_meta();
        meta[CAPABILITIES] = json!({"elicitation": {}});
        let mut params = json!({"name": names[1], "arguments": {}, "_meta": meta});
        let asked = hub.ask(mount, "tools/call", params.clone()).await.unwrap().0;
        let question = &asked["result"]["inputRequests"]["q"]["params"];
        assert_eq!(question["message"], asks, "{mount}: {asked}");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({"q": {"action": "accept", "content": {"ok": true}}});
        let done = hub.ask(mount, "tools/call", params).await.unwrap();
        assert_eq!(text(&done), "\"accept\" {\"ok\":true}", "{mount}: {done:?}");
        // A client that goes away cancels its call at the upstream.
        let calls = server.count("tools/call");
        let params = json!({"name": names[2], "arguments": {}});
        let stream = begin_call(&hub, mount, &params).await;
        server.wait_for("tools/call", calls + 1).await;
        server.clear_log();
        drop(stream);
        server.wait_for("(disconnected)", 1).await;
        let recorded = hub.calls(4).await;
        assert_eq!(recorded.len(), 4, "{recorded:?}");
        assert!(recorded[3].details.contains("cancelled"), "{:?}", recorded[3]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_fails_a_call_is_shown_as_failing_before_its_next_listing_gw_23() {
    let hub = Hub::listing_every(Duration::from_hours(1), HubAccess::default()).await;
    let gone = Arc::new(AtomicBool::new(false));
    let server = ["tools/call", "skills/list"].into_iter().fold(server(), |server, method| {
        let gone = Arc::clone(&gone);
        server.on(method, move |_, _| {
            if gone.load(Ordering::Relaxed) {
                ScriptedReply::CutOff(Vec::new())
            } else {
                ScriptedReply::Honest
            }
        })
    });
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Pin, &["read_*"]).await;
    hub.lets_read("docs", "*").await;
    hub.approve(1).await;
    hub.until_tools(None, OWN, &["read_pdf"]).await;
    assert_eq!(text(&hub.call(None, OWN, "read_pdf").await), "read_pdf done");
    hub.measures("skillwire_upstream_state{upstream=\"docs\",state=\"answering\"} 1").await;
    gone.store(true, Ordering::Relaxed);
    assert!(hub.call(None, OWN, "read_pdf").await.0["error"].is_object());
    hub.measures("skillwire_upstream_state{upstream=\"docs\",state=\"answering\"} 0").await;
    // What is pinned is served on.
    assert!(hub.read(OWN, "skill://pdf/notes.md").await.is_ok());
}
