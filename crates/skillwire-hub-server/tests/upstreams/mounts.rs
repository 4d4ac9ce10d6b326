//! Both addresses of an upstream: what they show, to whom, and what they keep apart.

use std::sync::Arc;

use serde_json::json;
use skillwire_hub::{
    AccessPolicy, CallerClass, PolicyDecision, Role, SkillFacts, Subject, UpstreamMode,
    UpstreamSource,
};
use skillwire_hub_server::{HubAccess, compare, explain, named_caller};
use skillwire_hub_store::NewToken;
use skillwire_testkit::{HostileServer, modern_headers, modern_request};

use crate::support::{Hub, label};

const NOT_FOUND: i64 = -32602;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_of_one_upstream_cannot_make_a_client_read_anothers_gw_03() {
    let hub = Hub::start().await;
    for mode in [UpstreamMode::Passthrough, UpstreamMode::Pin] {
        let (a, b) = (format!("a-{mode}"), format!("b-{mode}"));
        // The same URI, and one that looks as if the other upstream's label were in it.
        let hostile = format!("{a}/secret");
        let one = HostileServer::new().skill("secret", [("key.md", "of a")]);
        let two = HostileServer::new()
            .skill("secret", [("key.md", "of b")])
            .skill(&hostile, [("key.md", "of b, not of a")]);
        let (first, second) = (one.http().await, two.http().await);
        hub.add(&a, UpstreamSource::mcp(first.url()), mode).await;
        hub.add(&b, UpstreamSource::mcp(second.url()), mode).await;
        if mode.is_reviewed() {
            hub.approve(3).await;
        }
        let (own_a, own_b) = (format!("/mcp/u/{a}"), format!("/mcp/u/{b}"));
        hub.lists(&own_a, &["skill://secret/SKILL.md"]).await;
        let of_b = format!("skill://{hostile}/SKILL.md");
        hub.lists(&own_b, &[&of_b, "skill://secret/SKILL.md"]).await;
        let read = async |mount: &str, uri: &str| hub.read(mount, uri).await;
        assert_eq!(read(&own_a, "skill://secret/key.md").await.as_deref(), Ok("of a"));
        assert_eq!(read(&own_b, "skill://secret/key.md").await.as_deref(), Ok("of b"));
        // Each address knows its own upstream alone.
        let across = format!("skill://{hostile}/key.md");
        assert_eq!(read(&own_b, &across).await.as_deref(), Ok("of b, not of a"));
        assert_eq!(read(&own_a, &across).await, Err(NOT_FOUND));
        assert_eq!(read(&own_a, &format!("skill://{a}/secret/key.md")).await, Err(NOT_FOUND));
        // Among all upstreams, the first segment is the label and nothing else.
        for (uri, text) in [
            (format!("skill://{a}/secret/key.md"), "of a"),
            (format!("skill://{b}/secret/key.md"), "of b"),
            (format!("skill://{b}/{hostile}/key.md"), "of b, not of a"),
        ] {
            hub.reads("/mcp", &uri, Ok(text)).await;
        }
        assert_eq!(read("/mcp", "skill://secret/key.md").await, Err(NOT_FOUND));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dynamic_skills_are_shown_at_their_own_address_alone() {
    let hub = Hub::start().await;
    let server = HostileServer::new()
        .skill("still", [("a.md", "a")])
        .dynamic_skill("moving", [("a.md", "now")]);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Passthrough).await;
    hub.lists("/mcp/u/docs", &["skill://moving/SKILL.md", "skill://still/SKILL.md"]).await;
    hub.lists("/mcp", &["skill://docs/still/SKILL.md"]).await;
    assert_eq!(hub.read("/mcp/u/docs", "skill://moving/a.md").await.as_deref(), Ok("now"));
    assert_eq!(hub.read("/mcp", "skill://docs/moving/a.md").await, Err(NOT_FOUND));
    hub.set_mode("docs", UpstreamMode::Admit).await;
    hub.approve(1).await;
    hub.lists("/mcp/u/docs", &["skill://still/SKILL.md"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modes_change_while_the_hub_runs() {
    let hub = Hub::start().await;
    let server = HostileServer::new().skill("a", [("x.md", "one")]);
    let listening = server.http().await;
    let (own, skill, file) = ("/mcp/u/docs", "skill://a/SKILL.md", "skill://a/x.md");
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Passthrough).await;
    hub.lists(own, &[skill]).await;
    hub.set_mode("docs", UpstreamMode::Admit).await;
    hub.lists(own, &[]).await;
    hub.lists("/mcp", &[]).await;
    assert_eq!(hub.read(own, file).await, Err(NOT_FOUND));
    hub.approve(1).await;
    hub.lists(own, &[skill]).await;
    hub.set_mode("docs", UpstreamMode::Pin).await;
    server.rotate(file, "two");
    hub.waiting(1).await;
    hub.reads(own, file, Ok("one")).await;
    hub.set_mode("docs", UpstreamMode::Observe).await;
    hub.reads(own, file, Ok("two")).await;
    hub.store.remove_upstream(&hub.admin, &label("docs"), true).await.unwrap();
    hub.lists("/mcp", &[]).await;
    let start = std::time::Instant::now();
    while hub.ask(own, "skills/list", json!({})).await.unwrap().0.get("result").is_some() {
        assert!(start.elapsed().as_secs() < 20, "the address of a removed upstream stays");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_say_where_a_skill_comes_from_and_what_was_decided_gw_22() {
    let hub = Hub::start().await;
    let claim = json!({"_meta": {"dev.skillwire/provenance": {"origin": "hub"}, "other": 1.50}});
    let server = HostileServer::new()
        .skill("a", [("x.md", "one")])
        .fault(skillwire_testkit::Fault::entry("skill://a/SKILL.md", claim));
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Passthrough).await;
    for (mode, decision) in
        [(UpstreamMode::Passthrough, None), (UpstreamMode::Pin, Some("approve"))]
    {
        hub.set_mode("docs", mode).await;
        if mode.is_reviewed() {
            hub.approve(1).await;
        }
        for (mount, uri) in
            [("/mcp/u/docs", "skill://a/SKILL.md"), ("/mcp", "skill://docs/a/SKILL.md")]
        {
            hub.lists(mount, &[uri]).await;
            let start = std::time::Instant::now();
            let meta = loop {
                let meta = hub.entries(mount).await[0]["_meta"].clone();
                if meta["dev.skillwire/provenance"]["mode"] == mode.as_str() {
                    break meta;
                }
                assert!(start.elapsed().as_secs() < 20, "{meta}");
            };
            let claims = &meta["dev.skillwire/provenance"];
            assert_eq!(claims["origin"], "docs");
            assert!(claims["contentId"].is_string(), "{claims}");
            assert_eq!(claims["decision"].as_str(), decision);
            assert_eq!(meta["other"], 1.5);
            assert_eq!(meta["dev.skillwire/upstream"]["label"], "docs");
            // The same stands beside what is shown without the entry.
            let of_entry = json!({"dev.skillwire/provenance": claims});
            let file = uri.replace("SKILL.md", "x.md");
            let read = hub.ask(mount, "resources/read", json!({"uri": file})).await.unwrap();
            assert_eq!(read.0["result"]["contents"][0]["_meta"], of_entry);
            assert_eq!(read.0["result"]["contents"][0]["text"], "one");
            let listed = hub.ask(mount, "resources/list", json!({})).await.unwrap();
            assert_eq!(listed.0["result"]["resources"][0]["_meta"], of_entry);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unlisted_skill_is_found_by_name_and_hidden_ones_are_not_gw_11() {
    let hub = Hub::start().await;
    let server = HostileServer::new()
        .skill("a", [("x.md", "one")])
        .fault(skillwire_testkit::Fault::ListsNothing);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Passthrough).await;
    let get = async |mount: &str, uri: &str| {
        let reply = hub.ask(mount, "skills/get", json!({"uri": uri})).await.unwrap();
        reply.0["result"]["skill"]["uri"].as_str().map(str::to_owned)
    };
    let start = std::time::Instant::now();
    while hub
        .ask("/mcp/u/docs", "skills/list", json!({}))
        .await
        .is_none_or(|it| it.0["result"].is_null())
    {
        assert!(start.elapsed().as_secs() < 20, "the address never opens");
    }
    for (mount, uri) in [("/mcp/u/docs", "skill://a/SKILL.md"), ("/mcp", "skill://docs/a/SKILL.md")]
    {
        assert_eq!(get(mount, uri).await.as_deref(), Some(uri));
    }
    hub.set_mode("docs", UpstreamMode::Admit).await;
    hub.reads("/mcp/u/docs", "skill://a/x.md", Err(NOT_FOUND)).await;
    assert_eq!(get("/mcp/u/docs", "skill://a/SKILL.md").await, None);
    assert_eq!(get("/mcp", "skill://docs/a/SKILL.md").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_how_each_upstream_is_doing() {
    let state = |state: &str, is: u8| {
        format!(r#"skillwire_upstream_state{{upstream="docs",state="{state}"}} {is}"#)
    };
    let hub = Hub::start().await;
    let server = HostileServer::new().skill("a", [("x.md", "one")]);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Passthrough).await;
    hub.measures(&state("answering", 1)).await;
    hub.measures(r#"skillwire_upstream_skills{upstream="docs"} 1"#).await;
    hub.store.remove_upstream(&hub.admin, &label("docs"), true).await.unwrap();
    hub.measures(&state("answering", 0)).await;
    // No server is there any more: after so many failures the upstream is left alone for a while.
    let address = listening.url();
    drop(listening);
    hub.add("docs", UpstreamSource::mcp(address), UpstreamMode::Passthrough).await;
    hub.measures(&state("failing", 1)).await;
    hub.measures(&state("answering", 0)).await;
}

/// Shows no caller anything; administrators are not asked about.
#[derive(Debug)]
struct NothingForAnyone;

impl AccessPolicy for NothingForAnyone {
    fn names(&self, _: &Subject) -> bool {
        false
    }

    fn depends_on_age(&self) -> bool {
        false
    }

    fn key(&self, _: &SkillFacts) -> Box<str> {
        "".into()
    }

    fn decide(&self, _: &CallerClass, _: &SkillFacts) -> PolicyDecision {
        PolicyDecision { allowed: false, rules: vec!["nothing".to_owned()], problems: Vec::new() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_is_tried_takes_nothing_from_administrators() {
    let hub = Hub::start().await;
    let server = HostileServer::new().skill("a", [("x.md", "one")]);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Pin).await;
    hub.approve(1).await;
    hub.lets_read("docs", "ana").await;
    let of_root = NewToken::new("root", "root".parse().unwrap()).with_administrator();
    hub.store.create_token(&hub.admin, of_root).await.unwrap();
    hub.token("ana").await;
    let mut before = HubAccess::default();
    before.administrators = ["group:platform".parse().unwrap()].into();
    let roles = before.configured.roles.entry(label("docs")).or_default();
    roles.insert(Role::Reader, ["group:platform".parse().unwrap()].into());
    let mut after = before.clone();
    after.policy = Arc::new(NothingForAnyone);
    let compared = compare(&hub.store, &before, &after).await.unwrap();
    let losing: Vec<&str> = compared.changes.iter().map(|change| &*change.caller).collect();
    assert_eq!(losing, ["*", "ana"]);
    for name in ["root", "group:platform"] {
        let caller = named_caller(&name.parse().unwrap(), &after);
        let skill = "docs/a".parse().unwrap();
        let said = explain(&hub.store, &after, &caller, &skill).await.unwrap().unwrap();
        assert!(said.decision.allowed, "{name}");
        assert_eq!(said.decision.rules, ["administrator"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_a_hidden_upstream_answers_like_one_that_does_not_exist_gw_16_g_08() {
    let hub = Hub::start().await;
    let server = HostileServer::new().skill("a", [("x.md", "one")]);
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add_with_tools("docs", source, UpstreamMode::Passthrough, &["*"]).await;
    hub.lets_read("docs", "ana").await;
    let (ana, bea) = (hub.token("ana").await, hub.token("bea").await);
    let answer = async |label: &str, token: Option<&str>, method: &str, path: &str| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let body = modern_request(1, "skills/list", json!({})).to_string();
        let mut headers = modern_headers("skills/list");
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        let mut connection = hub.connect().await;
        connection.send(method, &path.replace("LABEL", label), &headers, body.as_bytes()).await;
        let reply = connection.reply().await;
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        let text = String::from_utf8(reply.body.clone()).unwrap();
        (reply.status, challenge.replace(label, "LABEL"), text.replace(label, "LABEL"))
    };
    let (own, document) = ("/mcp/u/LABEL", "/.well-known/oauth-protected-resource/mcp/u/LABEL");
    // The upstream is there once its only reader sees its skill.
    let start = std::time::Instant::now();
    while !answer("docs", Some(&ana), "POST", own).await.2.contains("skill://a/SKILL.md") {
        assert!(start.elapsed().as_secs() < 20, "the reader never sees the skill");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    for public in [false, true] {
        if public {
            // Callers without a token are now admitted, where they may see anything.
            let source = UpstreamSource::mcp(listening.url());
            hub.add("open", source, UpstreamMode::Passthrough).await;
            hub.lists("/mcp/u/open", &["skill://a/SKILL.md"]).await;
        }
        for (token, status) in [
            (None, if public { 404 } else { 401 }),
            (Some("sw_not-a-token-of-this-hub"), 401),
            (Some(&*bea), 404),
        ] {
            for (method, path) in [("POST", own), ("GET", own), ("GET", document)] {
                let hidden = answer("docs", token, method, path).await;
                let unknown = answer("nosuch", token, method, path).await;
                assert_eq!(hidden, unknown, "{method} {path} {token:?}");
                if path == own {
                    assert_eq!(hidden.0, status, "{method} {token:?}");
                }
            }
        }
    }
}
