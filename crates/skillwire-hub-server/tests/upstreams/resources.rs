//! Resources of upstreams that belong to no skill, on both mounts: which are there, for whom, what is recorded,
//! and what clients hear of their changes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skillwire_hub::{Role, UpstreamMode, UpstreamSource};
use skillwire_testkit::{Fault, HostileServer, HttpConnection, RpcReply, ScriptedReply};

use crate::support::{Hub, label};

const OWN: &str = "/mcp/u/docs";
const NOT_FOUND: i64 = -32602;
const NO_ENDPOINT: i64 = -32600;
const FILE: &str = "file:///docs/a.txt";
const PREFIXED: &str = "docs+file:///docs/a.txt";
const OTHER: &str = "docs+file:///secret.txt";

/// A server with a skill, resources beside it, a template and a tool that links to a resource.
fn server() -> HostileServer {
    let result = |mut members: Value| {
        members["resultType"] = "complete".into();
        ScriptedReply::Result(members)
    };
    let template = json!({"uriTemplate": "file:///docs/{name}", "name": "a file"});
    let other = json!({"uriTemplate": "db://{table}", "name": "a table"});
    HostileServer::new()
        .skill("pdf", [("notes.md", "one")])
        .skill("github://acme/pdf", [("notes.md", "of github")])
        .resource(FILE, "text of a")
        .resource("file:///secret.txt", "secret")
        .resource("skill://pdf/more.md", "hidden in a skill")
        .fault(Fault::Capabilities(json!({
            "tools": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "extensions": {"io.modelcontextprotocol/skills": {}},
        })))
        .on("resources/templates/list", move |_, _| {
            result(json!({"resourceTemplates": [template, other]}))
        })
        .on("tools/list", move |_, _| {
            result(json!({"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}))
        })
        .on("tools/call", move |_, _| {
            let link = json!({"type": "resource_link", "uri": FILE, "name": "a"});
            result(json!({"content": [link]}))
        })
}

impl Hub {
    async fn listed(&self, token: Option<&str>, mount: &str) -> Vec<String> {
        let reply = self.ask_as(token, mount, "resources/list", json!({})).await;
        let listed = reply.map(|reply| reply.0["result"]["resources"].clone()).unwrap_or_default();
        let uri = |item: &Value| item["uri"].as_str().unwrap().to_owned();
        listed.as_array().map(|items| items.iter().map(uri).collect()).unwrap_or_default()
    }

    async fn until_listed(&self, token: Option<&str>, mount: &str, expected: &[&str]) {
        let start = Instant::now();
        loop {
            let now = self.listed(token, mount).await;
            if now == expected {
                return;
            }
            assert!(start.elapsed().as_secs() < 20, "{mount} has {now:?}, not {expected:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn fetch(&self, token: Option<&str>, mount: &str, uri: &str) -> RpcReply {
        self.ask_as(token, mount, "resources/read", json!({"uri": uri})).await.unwrap()
    }
}

/// Waits for a notification about exactly this URI.
async fn hears(stream: &mut HttpConnection, uri: &str) {
    let event = stream.event().await.unwrap();
    assert_eq!(event["method"], "notifications/resources/updated");
    assert_eq!(event["params"]["uri"], uri);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_that_the_operator_names_are_read_through_both_mounts_and_recorded() {
    let (hub, server) = (Hub::start().await, server());
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &["find"]).await;
    hub.lets_read("docs", "ana").await;
    let token = hub.token("ana").await;
    let ana = Some(token.as_str());
    let skills = ["github://acme/pdf/SKILL.md", "skill://pdf/SKILL.md"];
    let passed_on = ["skill://docs/+github/acme/pdf/SKILL.md", "skill://docs/pdf/SKILL.md"];
    hub.until_listed(ana, OWN, &skills).await;
    hub.until_listed(ana, "/mcp", &passed_on).await;
    // Without a pattern there is none, and the server is not asked.
    assert_eq!(hub.fetch(ana, OWN, FILE).await.code(), NOT_FOUND);
    assert_eq!(server.count("resources/list"), 0);
    hub.set_resources("docs", &["file:///docs/**", "skill://**", "github://**"]).await;
    hub.until_listed(ana, OWN, &[skills[0], skills[1], FILE]).await;
    hub.until_listed(ana, "/mcp", &[passed_on[0], passed_on[1], PREFIXED]).await;
    server.clear_log();
    for (mount, uri, template) in
        [(OWN, FILE, "file:///docs/{name}"), ("/mcp", PREFIXED, "docs+file:///docs/{name}")]
    {
        let read = hub.fetch(ana, mount, uri).await.0;
        let contents = &read["result"]["contents"][0];
        assert_eq!(
            (contents["uri"].as_str(), contents["text"].as_str()),
            (Some(uri), Some("text of a"))
        );
        // The server may change it at any time, and it is for this caller.
        assert_eq!(
            (&read["result"]["ttlMs"], &read["result"]["cacheScope"]),
            (&json!(0), &json!("private"))
        );
        let listed = hub.ask_as(ana, mount, "resources/templates/list", json!({})).await.unwrap();
        let templates = listed.0["result"]["resourceTemplates"].as_array().unwrap().clone();
        let templates: Vec<_> =
            templates.iter().filter_map(|it| it["uriTemplate"].as_str()).collect();
        // The hub has templates of its own for files of skills.
        let of_upstream = templates.iter().filter(|it| !it.contains("{+skillPath}"));
        assert!(of_upstream.eq([&template]), "{templates:?}");
        // A link in the result of a tool is one that this client can read.
        let tool = if mount == OWN { "find" } else { "docs__find" };
        let called = hub.ask_as(ana, mount, "tools/call", json!({"name": tool})).await.unwrap();
        assert_eq!(called.0["result"]["content"][0]["uri"], uri);
    }
    // What no pattern names, what climbs out of a pattern, and what a skill holds is as unknown as what does not
    // exist. The server is not asked for it.
    server.clear_log();
    let missing = "x://missing";
    let unknown = hub.fetch(ana, OWN, missing).await.0.to_string();
    for uri in [
        "file:///secret.txt",
        "file:///docs/../secret.txt",
        "file:///docs/%2e%2e/secret.txt",
        "skill://pdf/more.md",
        "github://acme/pdf/more.md",
        PREFIXED,
    ] {
        let reply = hub.fetch(ana, OWN, uri).await.0.to_string();
        assert_eq!(reply.replace(uri, missing), unknown, "{uri}");
    }
    for uri in
        ["docs+file:///secret.txt", "docs+skill://pdf/more.md", FILE, "other+file:///docs/a.txt"]
    {
        let reply = hub.fetch(ana, "/mcp", uri).await.0.to_string();
        assert_eq!(reply.replace(uri, missing), unknown, "{uri}");
    }
    assert_eq!(server.count("resources/read"), 0);
    // One that a pattern names and that the server does not have is no different.
    let reply = hub.fetch(ana, OWN, "file:///docs/none.txt").await.0.to_string();
    assert_eq!(reply.replace("file:///docs/none.txt", missing), unknown);
    assert_eq!(server.count("resources/read"), 1);
    let reads: Vec<_> =
        hub.calls(5).await.into_iter().filter(|it| it.details.contains("resources/read")).collect();
    assert_eq!(reads.len(), 3);
    assert!(reads.iter().all(|read| read.actor == "ana"));
    assert!(reads[0].details.contains("answered") && reads[0].target.contains("docs"), "{reads:?}");
    assert!(reads[2].details.contains("failed"), "{reads:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_who_see_no_skill_of_an_upstream_see_none_of_its_resources_gw_16() {
    let (hub, server) = (Hub::start().await, server());
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &[]).await;
    hub.set_resources("docs", &["**"]).await;
    hub.lets_read("docs", "ana").await;
    let (of_ana, of_bea) = (hub.token("ana").await, hub.token("bea").await);
    let all = ["docs+file:///docs/a.txt", "docs+file:///secret.txt"];
    let start = Instant::now();
    while !hub.listed(Some(&of_ana), "/mcp").await.ends_with(&all.map(str::to_owned)) {
        assert!(start.elapsed().as_secs() < 20, "they are never listed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let wanted = |uri: &str| json!({"resourceSubscriptions": [uri], "resourcesListChanged": true});
    assert!(hub.listed(Some(&of_bea), "/mcp").await.is_empty());
    assert_eq!(hub.fetch(Some(&of_bea), "/mcp", PREFIXED).await.code(), NOT_FOUND);
    let (_, honoured) = hub.listen(Some(&of_bea), "/mcp", wanted(PREFIXED)).await;
    assert!(honoured.get("resourceSubscriptions").is_none(), "{honoured}");
    // The address of the upstream alone is not there for this caller.
    assert_eq!(hub.fetch(Some(&of_bea), OWN, FILE).await.code(), NO_ENDPOINT);
    assert_eq!(server.count("resources/read"), 0);
    // A subscription that was open when a role is taken away says nothing while it is gone.
    hub.lets_read("docs", "carl").await;
    let of_carl = hub.token("carl").await;
    let start = Instant::now();
    while hub.listed(Some(&of_carl), "/mcp").await.is_empty() {
        assert!(start.elapsed().as_secs() < 20, "another reader never sees them");
    }
    let both = json!({"resourceSubscriptions": [PREFIXED, OTHER]});
    let (mut ana, honoured) = hub.listen(Some(&of_ana), "/mcp", both.clone()).await;
    assert_eq!(honoured["resourceSubscriptions"], json!([PREFIXED, OTHER]));
    let (mut carl, _) = hub.listen(Some(&of_carl), "/mcp", both).await;
    let start = Instant::now();
    while !subscribed(&server, "file:///secret.txt") {
        assert!(start.elapsed().as_secs() < 20, "the server is never subscribed to");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.notify_updated(FILE);
    hears(&mut ana, PREFIXED).await;
    hears(&mut carl, PREFIXED).await;
    let subject = "ana".parse().unwrap();
    hub.store.withdraw_grant(&hub.admin, &label("docs"), &subject, Role::Reader).await.unwrap();
    hub.until_listed(Some(&of_ana), "/mcp", &[]).await;
    server.notify_updated(FILE);
    hears(&mut carl, PREFIXED).await;
    hub.lets_read("docs", "ana").await;
    let start = Instant::now();
    while hub.listed(Some(&of_ana), "/mcp").await.is_empty() {
        assert!(start.elapsed().as_secs() < 20, "they are never listed again");
    }
    server.notify_updated("file:///secret.txt");
    hears(&mut carl, OTHER).await;
    // The stream may also have ended with the role.
    if let Some(event) = ana.event().await.filter(|event| event.get("method").is_some()) {
        assert_eq!(event["params"]["uri"], OTHER, "{event}");
    }
}

/// Tells whether a client is subscribed to a resource, in either era.
fn subscribed(server: &HostileServer, uri: &str) -> bool {
    server.log().iter().any(|logged| {
        let modern = &logged.params["notifications"]["resourceSubscriptions"];
        (logged.method == "resources/subscribe" && logged.params["uri"] == uri)
            || modern.as_array().is_some_and(|uris| uris.iter().any(|it| it == uri))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_resources_reach_the_subscribers_of_both_mounts_gw_25() {
    for fault in [None, Some(Fault::LegacyOnly)] {
        let (hub, server) = (Hub::start().await, server());
        if let Some(fault) = fault {
            server.set_fault(fault);
        }
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Admit).await;
        hub.set_resources("docs", &["file:///docs/**"]).await;
        // Resources are not reviewed: the operator named them.
        hub.until_listed(None, OWN, &[FILE]).await;
        hub.until_listed(None, "/mcp", &[PREFIXED]).await;
        let wanted =
            |uri: &str| json!({"resourceSubscriptions": [uri], "resourcesListChanged": true});
        let (mut own, _) = hub.listen(None, OWN, wanted(FILE)).await;
        let (mut all, _) = hub.listen(None, "/mcp", wanted(PREFIXED)).await;
        let start = Instant::now();
        while !subscribed(&server, FILE) {
            assert!(start.elapsed().as_secs() < 20, "the server is never subscribed to");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The subscription of each mount may still be on its way.
        let heard = async |stream: &mut HttpConnection, uri: &str| {
            let start = Instant::now();
            loop {
                server.notify_updated("file:///docs/other.txt");
                server.notify_updated(FILE);
                let next = tokio::time::timeout(Duration::from_millis(300), stream.event()).await;
                if let Ok(Some(event)) = next {
                    assert_eq!(event["method"], "notifications/resources/updated");
                    assert_eq!(event["params"]["uri"], uri);
                    return;
                }
                assert!(start.elapsed().as_secs() < 20, "{uri} is never announced");
            }
        };
        heard(&mut own, FILE).await;
        heard(&mut all, PREFIXED).await;
        // One mount's client leaves; the other one still hears.
        drop(own);
        heard(&mut all, PREFIXED).await;
        // A resource that is new shows up, and clients hear that the list changed.
        let server = server.resource("file:///docs/b.txt", "b");
        server.notify_list_changed();
        hub.until_listed(None, "/mcp", &[PREFIXED, "docs+file:///docs/b.txt"]).await;
        let start = Instant::now();
        while all.event().await.unwrap()["method"] != "notifications/resources/list_changed" {
            assert!(start.elapsed().as_secs() < 20, "the list never changes");
        }
    }
}
