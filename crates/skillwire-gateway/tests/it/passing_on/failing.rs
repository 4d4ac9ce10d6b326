//! Servers that are slow, dead or endless, and a gateway that follows itself.

use std::time::Duration;

use serde_json::{Value, json};
use skillwire_client::Endpoint;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply, SkillFolder};
use skillwire_trust::{Budgets, Policy};

use super::support::{Gateway, PATIENCE, Plan, http, label};

fn honest() -> HostileServer {
    HostileServer::new().skill("refunds", [("x", "x")])
}

#[tokio::test]
async fn one_that_hangs_leaves_the_others_and_is_listed_when_it_comes_gw_10_g_06() {
    let slow = honest().on("skills/list", |_, count| match count {
        1 => ScriptedReply::Never,
        _ => ScriptedReply::Honest,
    });
    let quick = honest();
    let budgets = Budgets::default().with_answer_time(Duration::from_secs(1));
    let policy = Policy::default().with_entry_text(true).with_budgets(budgets);
    let plan = Plan { policy, settles: Duration::ZERO, ..Plan::default() };
    let gateway = plan.start(&[("slow", &slow), ("quick", &quick)]).await;
    gateway.until_listed(|skills| !skills.is_empty()).await;
    assert_eq!(gateway.uris().await, ["skill://quick/refunds/SKILL.md"]);
    // A listing that lacks the skills of a server must not be cached.
    assert_eq!(gateway.server.call("skills/list", json!({})).await["ttlMs"], 0);
    gateway.until_listed(|skills| skills.len() == 2).await;
}

#[tokio::test]
async fn one_that_takes_no_subscription_is_listed_all_the_same_gw_10() {
    for reply in [ScriptedReply::Never, ScriptedReply::error(-32601), ScriptedReply::error(-32603)]
    {
        let server = honest().on("subscriptions/listen", move |_, _| reply.clone());
        let gateway = Gateway::of(&server).await;
        assert_eq!(gateway.uris().await, ["skill://acme/refunds/SKILL.md"]);
    }
}

#[tokio::test]
async fn one_that_is_down_is_listed_when_it_is_up_gw_10() {
    let folder = SkillFolder::with_skills(&["local"]);
    let server = honest().on("skills/list", |_, count| match count {
        1..=2 => ScriptedReply::Status(503, Vec::new()),
        _ => ScriptedReply::Honest,
    });
    let gateway = Plan::default().folder(folder.path()).start(&[("acme", &server)]).await;
    gateway.until_listed(|skills| skills.len() == 2).await;
    assert_eq!(gateway.upstreams.all()[0].failure(), None);
}

#[tokio::test]
async fn one_that_goes_down_keeps_its_skills_and_says_so_when_they_are_read_gw_10() {
    let server = honest();
    let listening = server.http().await;
    let endpoints = vec![(label("acme"), http(&listening))];
    let gateway = Plan::default().start_at(endpoints).await;
    assert_eq!(gateway.uris().await.len(), 1);
    drop(listening);
    gateway.upstreams.all()[0].relist();
    let failed = async {
        while gateway.upstreams.all()[0].failure().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, failed).await.expect("the failure is noticed");
    assert_eq!(gateway.uris().await, ["skill://acme/refunds/SKILL.md"]);
    assert_eq!(gateway.read("skill://acme/refunds/x").await.code(), -32603);
}

#[tokio::test]
async fn endless_pages_end_at_the_servers_own_budget_gw_23_g_06() {
    let endless = HostileServer::new().fault(Fault::EndlessPages);
    let circle = honest().fault(Fault::SameCursorForever);
    let quick = honest();
    let budgets = Budgets::default().with_pages(5);
    let policy = Policy::default().with_entry_text(true).with_budgets(budgets);
    let plan = Plan { policy, ..Plan::default() };
    let gateway =
        plan.start(&[("endless", &endless), ("circle", &circle), ("quick", &quick)]).await;
    let uris = gateway.uris().await;
    assert_eq!(uris.iter().filter(|uri| uri.starts_with("skill://endless/")).count(), 5);
    for other in ["circle", "quick"] {
        assert!(uris.contains(&format!("skill://{other}/refunds/SKILL.md")), "{uris:?}");
    }
}

#[tokio::test]
async fn reads_that_hang_do_not_hold_up_the_files_of_others_gw_23() {
    let files: Vec<String> = (0..64).map(|number| format!("f{number}")).collect();
    let stuck = HostileServer::new()
        .skill("stuck", files.iter().map(|name| (name.as_str(), name.as_str())))
        .on("resources/read", |_, _| ScriptedReply::Never);
    let quick = honest();
    let folder = SkillFolder::with_skills(&["local"]);
    folder.file("local/x.md", "here");
    let plan = Plan::default().folder(folder.path());
    let gateway = plan.start(&[("stuck", &stuck), ("quick", &quick)]).await;
    let waiting: Vec<_> = files
        .iter()
        .map(|name| {
            let (address, uri) = (gateway.server.address, format!("skill://stuck/stuck/{name}"));
            tokio::spawn(async move {
                let params = json!({ "uri": uri });
                let body = skillwire_testkit::modern_request(1, "resources/read", params);
                let mut headers = skillwire_testkit::modern_headers("resources/read");
                headers.push(("Mcp-Name", &uri));
                let mut connection = skillwire_testkit::HttpConnection::open(address).await;
                connection.send("POST", "/mcp", &headers, body.to_string().as_bytes()).await;
                connection.reply().await
            })
        })
        .collect();
    // The gateway sends one server 16 requests at a time; all others wait for a permit.
    stuck.wait_for("resources/read", 16).await;
    assert_eq!(gateway.text("skill://quick/refunds/x").await, "x");
    assert_eq!(gateway.text("skill://local/x.md").await, "here");
    assert_eq!(stuck.count("resources/read"), 16);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn more_bytes_than_listed_are_not_even_received_gw_23() {
    let server = honest().on("resources/read", |_, _| {
        ScriptedReply::Endless(
            br#"{"jsonrpc":"2.0","id":$ID,"result":{"contents":[{"text":""#.to_vec(),
            vec![b'x'; 4096],
        )
    });
    let gateway = Gateway::of(&server).await;
    assert_eq!(gateway.read("skill://acme/refunds/x").await.code(), -32602);
}

#[tokio::test]
async fn a_server_behind_itself_passes_nothing_on_twice_gw_23_g_16() {
    let folder = SkillFolder::with_skills(&["local"]);
    // The outer gateway follows the inner one. Notes that come back are simulated below.
    let server = honest();
    let inner = Plan::default().folder(folder.path()).start(&[("far", &server)]).await;
    let address = |gateway: &Gateway| Endpoint::Http {
        url: format!("http://{}/mcp", gateway.server.address),
        headers: Vec::new(),
    };
    let outer = Plan::default().start_at(vec![(label("inner"), address(&inner))]).await;
    let once = ["skill://inner/far/refunds/SKILL.md", "skill://inner/local/SKILL.md"];
    assert_eq!(outer.uris().await, once);
    let far = &outer.server.skills().await[0];
    let via = far["_meta"]["dev.skillwire/upstream"]["via"].as_array().unwrap().clone();
    assert_eq!(via.len(), 2, "{far}");
    assert_eq!(far["_meta"]["dev.skillwire/upstream"]["label"], "inner");
    // An entry that names the outer gateway already, or eight others, is left out.
    let own = via[1].clone();
    let many: Vec<Value> = (0..8).map(|n| json!(format!("{n:032x}"))).collect();
    for marks in [json!([own]), json!(many)] {
        let note = json!({ "_meta": { "dev.skillwire/upstream": { "via": marks } } });
        server.set_fault(Fault::entry("skill://refunds/SKILL.md", note));
        inner.upstreams.all()[0].relist();
        outer
            .until_listed(|skills| {
                outer.upstreams.all()[0].relist();
                skills.len() == 1
            })
            .await;
        server.clear_faults();
        inner.upstreams.all()[0].relist();
        outer
            .until_listed(|skills| {
                outer.upstreams.all()[0].relist();
                skills.len() == 2
            })
            .await;
    }
}
