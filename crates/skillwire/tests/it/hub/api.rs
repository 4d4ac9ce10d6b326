//! The API: refusals are problem documents, and nothing is half published.

use serde_json::{Value, json};
use skillwire_testkit::HttpConnection;

use super::TestHub;

/// An archive of a skill, made by the program.
async fn archive(hub: &TestHub, path: &str) -> Vec<u8> {
    let out = format!("{}.tar.gz", path.replace('/', "-"));
    hub.run(&["pack", path, "--out", &out, "--force"]).await.assert_exit(0);
    std::fs::read(hub.folder.join(&out)).unwrap()
}

fn problem(reply: &skillwire_testkit::HttpReply) -> (u16, String) {
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{}", reply.text());
    let problem: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(problem["status"], reply.status);
    let kind = problem["type"].as_str().unwrap().rsplit(':').next().unwrap();
    (reply.status, kind.to_owned())
}

const VERSIONS: &str = "/skills/acme/refunds/versions";

#[tokio::test]
async fn an_upload_that_lies_about_its_digests_publishes_nothing() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    let archive = archive(&hub, "refunds").await;
    let other = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let reply = hub.api("POST", &format!("{VERSIONS}?content={other}"), &archive).await;
    assert_eq!(problem(&reply), (422, "content-differs".into()));
    let bearer = format!("Bearer {}", hub.token);
    let wrong = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:";
    let mut connection = HttpConnection::open(hub.server.address).await;
    let headers = [("Authorization", bearer.as_str()), ("Content-Digest", wrong)];
    connection.send("POST", &format!("/api/v1{VERSIONS}"), &headers, &archive).await;
    assert_eq!(problem(&connection.reply().await), (422, "digest-mismatch".into()));
    assert_eq!(hub.api("GET", VERSIONS, b"").await.status, 404);
    let reply = hub.api("POST", VERSIONS, &archive).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
}

#[tokio::test]
async fn torn_large_and_foreign_uploads_are_refused_by_name() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").skill("greeting");
    let archive = archive(&hub, "refunds").await;
    let cut = hub.api("POST", VERSIONS, &archive[..archive.len() / 2]).await;
    assert_eq!(problem(&cut), (422, "archive_broken".into()));
    assert_eq!(problem(&hub.api("POST", VERSIONS, b"words").await), (400, "malformed".into()));
    let other = self::archive(&hub, "greeting").await;
    assert_eq!(problem(&hub.api("POST", VERSIONS, &other).await), (422, "name-differs".into()));
    // A client that goes away in the middle of its upload.
    let mut connection = HttpConnection::open(hub.server.address).await;
    let head = format!(
        "POST /api/v1{VERSIONS} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        hub.token,
        archive.len()
    );
    connection.write(head).await;
    connection.write(&archive[..10]).await;
    drop(connection);
    let mut connection = HttpConnection::open(hub.server.address).await;
    let head = format!(
        "POST /api/v1{VERSIONS} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: 999999999\r\n\r\n",
        hub.token
    );
    connection.write(head).await;
    assert_eq!(problem(&connection.reply().await), (413, "too-large".into()));
    assert_eq!(hub.api("GET", VERSIONS, b"").await.status, 404);
}

#[tokio::test]
async fn a_name_like_a_protected_one_waits_for_an_administrator() {
    let hub = TestHub::start().await;
    hub.run(&["hub", "namespace", "new", "bank", "--protected"]).await.assert_exit(0);
    hub.folder.skill("refunds").skill("refund");
    let bank = ["publish", "refunds", "--namespace", "bank", "--yes"];
    hub.run(&bank).await.assert_exit(0);
    // An administrator's own publication needs no administrator.
    let pia = hub.new_token("pia", &["--scope", "read", "--scope", "publish"]).await;
    hub.run(&["hub", "namespace", "grant", "acme", "pia", "publisher"]).await.assert_exit(0);
    let archive = archive(&hub, "refund").await;
    let reply = hub.api_as(&pia, "POST", "/skills/acme/refund/versions", &archive).await;
    let published: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(published["version"]["state"], "quarantined", "{published}");
    assert!(published["waits"].as_str().unwrap().contains("bank/refunds"), "{published}");
    assert_eq!(hub.uris("/mcp", &hub.token).await, ["skill://bank/refunds/SKILL.md"]);
    hub.run(&["hub", "approve", "acme/refund@1.0.0", "--reason", "ours"]).await.assert_exit(0);
    assert_eq!(hub.uris("/mcp", &hub.token).await.len(), 2);
}

#[tokio::test]
async fn what_a_caller_may_not_do_is_refused_and_what_it_may_not_know_is_not_there() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    let eve = hub.new_token("eve", &[]).await;
    let unknown = hub.api_as(&eve, "GET", "/skills/acme/refunds", b"").await;
    assert_eq!(problem(&unknown), (404, "unknown-namespace".into()));
    let nobody = hub.api_as("", "GET", "/skills/acme/refunds", b"").await;
    assert_eq!(problem(&nobody), (401, "unauthorized".into()));
    let wrong = hub.api_as("swhub_00", "GET", "/skills", b"").await;
    assert_eq!(problem(&wrong).0, 401);
    for path in ["/audit", "/tokens"] {
        let reply = hub.api_as("", "GET", path, b"").await;
        assert!(reply.status == 401 || reply.text() == r#"{"items":[]}"#, "{path}");
    }
    let namespace = json!({"name": "mine"}).to_string();
    let refused = hub.api_as(&eve, "POST", "/namespaces", namespace.as_bytes()).await;
    assert_eq!(problem(&refused), (403, "not-allowed".into()));
    let strange = json!({"name": "mine", "colour": 1}).to_string();
    let refused = hub.api("POST", "/namespaces", strange.as_bytes()).await;
    assert_eq!(problem(&refused), (400, "malformed".into()));
    assert_eq!(problem(&hub.api("GET", "/nowhere", b"").await), (404, "not-found".into()));
    assert_eq!(problem(&hub.api("PATCH", "/skills", b"").await), (405, "method".into()));
}

/// The lists that the description of the API names, with the variable parts filled in.
async fn lists(hub: &TestHub, content: &str) -> Vec<String> {
    let document = hub.api("GET", "/openapi.json", b"").await;
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    let is_list = |item: &Value| {
        let ok = "/get/responses/200/content/application~1json/schema/$ref";
        let schema = item.pointer(ok).and_then(Value::as_str).unwrap_or_default();
        schema.starts_with("#/components/schemas/Page_")
    };
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .filter(|(_, item)| is_list(item))
        .map(|(path, _)| {
            path.trim_start_matches("/api/v1")
                .replace("{namespace}/{name}", "acme/refunds")
                .replace("{namespace}", "acme")
                .replace("{content}", content)
        })
        .collect()
}

async fn page(hub: &TestHub, path: &str) -> Value {
    let reply = hub.api("GET", path, b"").await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

#[tokio::test]
async fn every_list_of_the_api_is_walked_in_pages() {
    let hub = TestHub::start().await;
    for name in ["beta", "careful"] {
        hub.run(&["hub", "namespace", "new", name]).await.assert_exit(0);
    }
    hub.run(&["hub", "namespace", "change", "careful", "--review", "true"]).await.assert_exit(0);
    hub.run(&["hub", "key", "new", "hub"]).await.assert_exit(0);
    hub.run(&["hub", "key", "rotate", "hub"]).await.assert_exit(0);
    let pia = hub.new_token("pia", &[]).await;
    hub.run(&["hub", "namespace", "grant", "careful", "pia", "publisher"]).await.assert_exit(0);
    hub.folder.skill("refunds").skill("greeting").file("pia", &pia);
    let content = hub.publish("refunds").await["version"]["content"].as_str().unwrap().to_owned();
    let beta = ["publish", "refunds", "--namespace", "beta", "--yes"];
    hub.run(&beta).await.assert_exit(0);
    hub.folder.file("refunds/a", "more");
    hub.publish("refunds").await;
    for name in ["refunds", "greeting"] {
        let archive = archive(&hub, name).await;
        let path = format!("/skills/careful/{name}/versions");
        assert_eq!(hub.api_as(&pia, "POST", &path, &archive).await.status, 201);
    }
    for repository in ["repository=acme/a", "repository=acme/b"] {
        let trust = ["hub", "namespace", "trust", "acme", "--issuer", "https://ci.example.com"];
        hub.run(&[&trust[..], &["--claim", repository]].concat()).await.assert_exit(0);
    }
    for label in ["docs", "guides"] {
        let add = ["hub", "upstream", "add", label, "https://docs.example/mcp", "--mode", "pin"];
        hub.run(&add).await.assert_exit(0);
    }
    // The hub reads its keys again after a moment.
    for _ in 0..100 {
        if page(&hub, "/keys").await["items"].as_array().unwrap().len() == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let lists = lists(&hub, &content).await;
    assert!(lists.len() >= 11, "{lists:?}");
    for list in lists {
        let all = page(&hub, &format!("{list}?limit=1000")).await;
        let all = all["items"].as_array().unwrap().clone();
        assert!(all.len() >= 2, "{list} has {} elements", all.len());
        let (mut found, mut cursor) = (Vec::new(), String::new());
        for _ in 0..all.len() {
            let page = page(&hub, &format!("{list}?limit=1{cursor}")).await;
            let items = page["items"].as_array().unwrap();
            assert_eq!(items.len(), 1, "{list}");
            found.extend(items.iter().cloned());
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, all, "{list}");
        let foreign = hub.api("GET", &format!("{list}?cursor=lunch.1"), b"").await;
        assert_eq!(problem(&foreign).0, 400, "{list}");
    }
}

#[tokio::test]
async fn the_api_describes_itself() {
    let hub = TestHub::start().await;
    let document = hub.api_as("", "GET", "/openapi.json", b"").await;
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    assert!(document["paths"]["/api/v1/skills/{namespace}/{name}/versions"]["post"].is_object());
}
