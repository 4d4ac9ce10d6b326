//! What operators set and see: limits for each caller, the access log, and rules that change.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use skillwire_server::http::{
    AccessLog, AccessRecord, AccessRules, HttpOptions, LiveAccessRules, RateLimiter,
};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer};

use crate::support::{ALICE, BOB, TOKENS};

/// Keeps the lines of an access log.
#[derive(Debug, Default)]
struct KeptLines(Mutex<Vec<String>>);

impl AccessLog for KeptLines {
    fn wants(&self) -> bool {
        true
    }

    fn record(&self, record: &AccessRecord<'_>) {
        let AccessRecord { caller, mount, method, uri, name, status, code, .. } = record;
        let decision = record.decision.as_str();
        let content = record.content.is_some();
        let trace = record.trace.map(|trace| format!("{:x}", trace.trace()));
        self.0.lock().push(format!(
            "{caller:?} {mount} {method} {uri:?} {name:?} {content} {decision} {status} {code} {trace:?}"
        ));
    }
}

fn limited(limit: &str) -> (RateLimiter, HttpOptions) {
    let limiter = RateLimiter::default();
    limiter.replace(Some(limit.parse().expect("a limit")));
    (limiter.clone(), HttpOptions::default().rate(limiter).metrics(true))
}

async fn server(http: HttpOptions, tokens: Option<&str>) -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["acme/a"]);
    let tokens = tokens.map(str::to_owned);
    let public = vec!["**".to_owned()];
    let options = TestOptions { http, tokens, public, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    (folder, server)
}

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut connection = server.connect().await;
    connection.send("GET", path, headers, b"").await;
    let reply = connection.reply().await;
    (reply.status, reply.text())
}

#[tokio::test]
async fn a_caller_that_floods_gets_429_and_its_neighbour_an_answer() {
    let (_, http) = limited("1/m:3");
    let (_folder, server) = server(http, Some(TOKENS)).await;
    for _ in 0..3 {
        assert_eq!(server.modern_with(&[BOB], "skills/list", json!({})).await.status, 200);
    }
    let refused = server.modern_with(&[BOB], "skills/list", json!({})).await;
    assert_eq!((refused.status, refused.message().code()), (429, -32600));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(server.modern_with(&[ALICE], "skills/list", json!({})).await.status, 200);
    let (_, numbers) = get(&server, "/metrics", &[ALICE]).await;
    assert!(numbers.contains(r#"skillwire_rate_limited_total{mount="/mcp"} 1"#), "{numbers}");
}

#[tokio::test]
async fn senders_without_a_valid_token_are_limited_by_their_address() {
    let (_, http) = limited("1/m:2");
    let (_folder, server) = server(http, Some(TOKENS)).await;
    let guess = ("Authorization", "Bearer 0000000000000000");
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(server.modern_with(&[guess], "skills/list", json!({})).await.status);
    }
    statuses.push(server.modern_with(&[], "skills/list", json!({})).await.status);
    statuses.push(get(&server, "/.well-known/agent-skills/index.json", &[]).await.0);
    assert_eq!(statuses, [401, 401, 429, 429]);
    // A caller with a token at the same address is not slowed by them, and probes never are.
    assert_eq!(server.modern_with(&[ALICE], "skills/list", json!({})).await.status, 200);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&server, path, &[]).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn a_limit_is_replaced_while_the_server_runs() {
    let (limiter, http) = limited("1/m:1");
    let (_folder, server) = server(http, None).await;
    let ask = async || server.modern_with(&[], "skills/list", json!({})).await.status;
    assert_eq!((ask().await, ask().await), (200, 429));
    limiter.replace(None);
    assert_eq!(ask().await, 200);
}

#[tokio::test]
async fn each_request_is_one_record_that_names_who_asked_for_what() {
    let log = Arc::new(KeptLines::default());
    let kept: Arc<dyn AccessLog> = Arc::clone(&log) as _;
    let (_folder, server) = server(HttpOptions::default().access_log(kept), Some(TOKENS)).await;
    let uri = "skill://acme/a/SKILL.md";
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [ALICE, ("traceparent", trace)];
    server.modern_with(&headers, "resources/read", json!({ "uri": uri })).await;
    server.modern_with(&[BOB], "resources/read", json!({ "uri": "skill://b/SKILL.md" })).await;
    server
        .modern_with(&[("Authorization", "Bearer secret-token-of-a-guess")], "x", json!({}))
        .await;
    get(&server, "/.well-known/agent-skills/index.json?token=secret", &[]).await;
    get(&server, "/healthz", &[]).await;
    let lines = log.0.lock().join("\n");
    assert_eq!(
        lines,
        "Some(\"alice\") /mcp resources/read Some(\"skill://acme/a/SKILL.md\") None true admitted \
         200 0 Some(\"4bf92f3577b34da6a3ce929d0e0e4736\")\n\
         Some(\"bob\") /mcp resources/read Some(\"skill://b/SKILL.md\") None false admitted 200 \
         -32602 None\n\
         None /mcp POST None None false no-token 401 -32600 None\n\
         None /mcp GET Some(\"/.well-known/agent-skills/index.json\") None false admitted 200 0 None"
    );
    assert!(!lines.contains("secret"), "{lines}");
}

#[tokio::test]
async fn hosts_are_replaced_while_the_server_runs() {
    let access = LiveAccessRules::default();
    let (_folder, server) = server(HttpOptions::default().access(access.clone()), None).await;
    let host = ("Host", "skills.example.com");
    let ask = async || server.modern_with(&[host], "skills/list", json!({})).await.status;
    assert_eq!(ask().await, 403);
    access.replace(AccessRules::default().hosts(["skills.example.com".to_owned()]));
    assert_eq!(ask().await, 200);
}
