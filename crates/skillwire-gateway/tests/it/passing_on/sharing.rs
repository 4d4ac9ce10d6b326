//! Caching hints, cursors and callers.

use std::time::Duration;

use serde_json::{Value, json};
use skillwire_testkit::{Fault, HostileServer, TestOptions};

use super::support::{Gateway, Plan};

const ALICE: &str = "alice-token-0123456789";
const BOB: &str = "bob-token-0123456789ab";

fn server(ttl: impl Into<Value>, scope: &str) -> HostileServer {
    HostileServer::new()
        .skill("a", [("x", "x")])
        .skill("b", [("x", "x")])
        .fault(Fault::member("skills/list", "ttlMs", ttl))
        .fault(Fault::member("skills/list", "cacheScope", scope))
}

fn small_pages() -> TestOptions {
    let mut options = TestOptions::default();
    options.config.page_size = 1;
    options
}

#[tokio::test]
async fn answers_stay_fresh_no_longer_than_the_servers_own_gw_13() {
    let long = server(3_600_000, "public");
    let short = server(20_000, "public");
    let gateway = Plan::default().start(&[("long", &long), ("short", &short)]).await;
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://long/a/SKILL.md" })),
        ("resources/read", json!({ "uri": "skill://long/a/x" })),
        ("resources/list", json!({})),
    ] {
        let result = gateway.server.call(method, params).await;
        assert!(result["ttlMs"].as_u64().unwrap() <= 20_000, "{result}");
        assert_eq!(result["cacheScope"], "public");
    }
    // An answer of a server that states no lifetime must not be reused at all.
    let silent = HostileServer::new()
        .skill("a", [("x", "x")])
        .fault(Fault::WithoutMember { method: "skills/list".to_owned(), name: "ttlMs".to_owned() });
    let result = Gateway::of(&silent).await.server.call("skills/list", json!({})).await;
    assert_eq!(result["ttlMs"], 0);
}

#[tokio::test]
async fn one_private_listing_makes_every_page_private_gw_13_g_09() {
    let (open, private) = (server(60_000, "public"), server(60_000, "private"));
    let plan = Plan { server: small_pages(), ..Plan::default() };
    let gateway = plan.start(&[("open", &open), ("private", &private)]).await;
    let mut cursor = None;
    for _ in 0..4 {
        let params = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let page = gateway.server.call("skills/list", params).await;
        assert_eq!(page["cacheScope"], "private");
        cursor = page.get("nextCursor").cloned();
    }
    assert_eq!(cursor, None);
}

#[tokio::test]
async fn cursors_of_merged_pages_are_sealed_and_personal_gw_09_g_11() {
    let (one, two) = (server(60_000, "public"), server(60_000, "public"));
    let options =
        TestOptions { tokens: Some(format!("alice {ALICE}\nbob {BOB}\n")), ..small_pages() };
    let plan = Plan { server: options, ..Plan::default() };
    let gateway = plan.start(&[("one", &one), ("two", &two)]).await;
    let list = async |token: &str, cursor: Option<&str>| {
        let bearer = format!("Bearer {token}");
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let headers = [("Authorization", bearer.as_str())];
        gateway.server.modern_with(&headers, "skills/list", params).await.message()
    };
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = list(ALICE, cursor.as_deref()).await;
        let [entry] = page.result()["skills"].as_array().unwrap().as_slice() else {
            panic!("{page:?}")
        };
        seen.push(entry["uri"].clone());
        let Some(next) = page.result().get("nextCursor") else { break };
        let next = next.as_str().unwrap();
        assert_eq!(list(BOB, Some(next)).await.code(), -32602);
        let mut forged = next.to_owned();
        forged.replace_range(0..1, if next.starts_with('A') { "B" } else { "A" });
        assert_eq!(list(ALICE, Some(&forged)).await.code(), -32602);
        cursor = Some(next.to_owned());
    }
    let uris = ["one/a", "one/b", "two/a", "two/b"].map(|path| format!("skill://{path}/SKILL.md"));
    assert_eq!(seen, uris);
    // A cursor of one of the servers is not a cursor of the gateway.
    assert_eq!(list(ALICE, Some("1")).await.code(), -32602);
}

#[tokio::test]
async fn a_server_of_the_old_era_is_as_fresh_as_it_is_looked_at_gw_13() {
    let server = HostileServer::new().skill("a", [("x", "x")]).fault(Fault::LegacyOnly);
    let mut plan = Plan::default();
    plan.options.min_pause = Duration::from_secs(30);
    let gateway = plan.start(&[("acme", &server)]).await;
    let ttl = gateway.server.call("skills/list", json!({})).await["ttlMs"].as_u64().unwrap();
    assert!((1_000..=30_000).contains(&ttl), "{ttl}");
}
