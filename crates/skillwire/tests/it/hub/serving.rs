//! What clients of a hub get.

use serde_json::json;

use super::TestHub;

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";

#[tokio::test]
async fn a_version_that_is_named_is_read_and_never_listed() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    for text in ["one", "two"] {
        hub.folder.file("refunds/a", text);
        hub.publish("refunds").await;
    }
    assert_eq!(hub.uris("/mcp", &hub.token).await, [REFUNDS]);
    for (version, text) in [("1.0.0", "one"), ("1.0.1", "two")] {
        let uri = format!("skill://acme/_v/{version}/refunds/a");
        let reply = hub.read("/mcp", &hub.token, &uri).await;
        assert_eq!(reply["result"]["contents"][0]["text"], text, "{reply}");
    }
    let uri = "skill://acme/_v/1.0.0/refunds/SKILL.md";
    let entry = hub.mcp("/mcp", &hub.token, "skills/get", json!({"uri": uri})).await.message();
    assert_eq!(entry.result()["skill"]["uri"], uri);
    assert_eq!(hub.uris("/mcp", &hub.token).await, [REFUNDS]);
    // A yanked version is read on, a revoked one is not.
    hub.run(&["hub", "yank", "acme/refunds@1.0.0", "--reason", "old"]).await.assert_exit(0);
    let reply = hub.read("/mcp", &hub.token, "skill://acme/_v/1.0.0/refunds/a").await;
    assert_eq!(reply["result"]["contents"][0]["text"], "one", "{reply}");
    hub.run(&["hub", "revoke", "acme/refunds@1.0.0", "--reason", "bad"]).await.assert_exit(0);
    let reply = hub.read("/mcp", &hub.token, "skill://acme/_v/1.0.0/refunds/a").await;
    assert!(reply.get("error").is_some(), "{reply}");
    let path = "/skills/acme/refunds/versions/1.0.0/files/a";
    assert_eq!(hub.api("GET", path, b"").await.status, 403);
}

#[tokio::test]
async fn revoked_bytes_are_refused_at_once_and_content_everywhere() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "one");
    let content = hub.publish("refunds").await["version"]["content"].clone();
    let read = async || hub.read("/mcp", &hub.token, "skill://acme/refunds/a").await;
    assert_eq!(read().await["result"]["contents"][0]["text"], "one");
    let revoke = ["hub", "revoke", content.as_str().unwrap(), "--reason", "stolen"];
    hub.run(&revoke).await.assert_exit(0);
    assert!(read().await.get("error").is_some());
    assert_eq!(hub.uris("/mcp", &hub.token).await, [""; 0]);
    // The same bytes are refused elsewhere, too.
    hub.run(&["hub", "namespace", "new", "other"]).await.assert_exit(0);
    let again = ["publish", "refunds", "--namespace", "other", "--yes"];
    hub.run(&again).await.assert_refused(8, "was revoked");
}

#[tokio::test]
async fn a_token_shows_the_namespaces_of_its_subject_until_it_is_revoked() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.run(&["hub", "namespace", "new", "secret"]).await.assert_exit(0);
    let other = ["publish", "refunds", "--namespace", "secret", "--yes"];
    hub.run(&other).await.assert_exit(0);
    let ana = hub.new_token("ana", &["--scope", "read"]).await;
    assert_eq!(hub.uris("/mcp", &ana).await, [""; 0]);
    hub.run(&["hub", "namespace", "grant", "acme", "ana", "reader"]).await.assert_exit(0);
    assert_eq!(hub.uris("/mcp", &ana).await, [REFUNDS]);
    let hidden = hub.read("/mcp", &ana, "skill://secret/refunds/SKILL.md").await;
    let missing = hub.read("/mcp", &ana, "skill://secret/nothing/SKILL.md").await;
    assert_eq!(hidden["error"]["code"], missing["error"]["code"]);
    let pinned = hub.read("/mcp", &ana, "skill://secret/_v/1.0.0/refunds/SKILL.md").await;
    assert!(pinned.get("error").is_some(), "{pinned}");
    assert_eq!(hub.api_as(&ana, "GET", "/skills/secret/refunds", b"").await.status, 404);
    assert_eq!(hub.api_as(&ana, "POST", "/skills/acme/refunds/versions", b"x").await.status, 403);
    let tokens = hub.run(&["hub", "token", "list", "--json"]).await.json();
    let id = tokens.as_array().unwrap().iter().find(|token| token["subject"] == "ana").unwrap();
    let id = id["id"].to_string();
    hub.run(&["hub", "token", "revoke", &id]).await.assert_exit(0);
    assert_eq!(hub.mcp("/mcp", &ana, "skills/list", json!(null)).await.status, 401);
    assert_eq!(hub.api_as(&ana, "GET", "/skills", b"").await.status, 401);
}

#[tokio::test]
async fn a_public_namespace_is_read_without_a_token_over_mcp_and_the_well_known_address() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").skill("greeting");
    hub.publish("refunds").await;
    assert_eq!(hub.mcp("/mcp", "", "skills/list", json!(null)).await.status, 401);
    hub.run(&["hub", "namespace", "new", "open", "--public"]).await.assert_exit(0);
    let open = ["publish", "greeting", "--namespace", "open", "--yes"];
    hub.run(&open).await.assert_exit(0);
    assert_eq!(hub.uris("/mcp", "").await, ["skill://open/greeting/SKILL.md"]);
    let index = hub.server.get("/.well-known/agent-skills/index.json").await;
    assert_eq!(index.status, 200, "{}", index.text());
    assert!(index.text().contains("greeting") && !index.text().contains("refunds"));
    // The newer index would have no skill with several files; without it, clients read the older one.
    hub.folder.skill("careful").file("careful/a.txt", "one\n");
    let open = ["publish", "careful", "--namespace", "open", "--yes"];
    hub.run(&open).await.assert_exit(0);
    let index = hub.server.get("/.well-known/agent-skills/index.json").await;
    assert_eq!(index.status, 404, "{}", index.text());
    let index = hub.server.get("/.well-known/skills/index.json").await;
    assert!(index.text().contains("greeting") && index.text().contains("careful"), "{index:?}");
    let added = hub.run(&["add", &hub.url(), "--list", "--json"]).await.assert_exit(0);
    assert!(added.stdout.contains("greeting") && added.stdout.contains("careful"), "{added:?}");
    hub.run(&["hub", "namespace", "grant", "open", "*", "reader", "--remove"]).await.assert_exit(0);
    assert_eq!(hub.mcp("/mcp", "", "skills/list", json!(null)).await.status, 401);
    let index = hub.server.get("/.well-known/agent-skills/index.json").await;
    assert!(!index.text().contains("greeting"), "{}", index.text());
}

#[tokio::test]
async fn a_changed_blob_is_never_served() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "one");
    hub.publish("refunds").await;
    let mut changed = 0;
    let mut folders = vec![hub.blobs()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read(&path).unwrap() == b"one" {
                std::fs::write(&path, "two").unwrap();
                changed += 1;
            }
        }
    }
    assert_eq!(changed, 1);
    let reply = hub.read("/mcp", &hub.token, "skill://acme/refunds/a").await;
    assert!(reply.get("error").is_some(), "{reply}");
    let path = "/skills/acme/refunds/versions/1.0.0/files/a";
    assert_eq!(hub.api("GET", path, b"").await.status, 500);
    let audit = hub.run(&["hub", "audit", "--json"]).await.json();
    let damaged = audit.as_array().unwrap().iter().any(|it| it["action"] == "blob-damaged");
    assert!(damaged, "{audit}");
}

#[tokio::test]
async fn a_hub_serves_again_what_it_served_before_and_a_second_replica_follows() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    let second = TestHub::serve(&hub.folder).await;
    let token = format!("Bearer {}", hub.token);
    let listed = async |server: &crate::support::HttpServer| {
        let reply = server.request(&[("Authorization", &token)], "skills/list", json!(null)).await;
        crate::support::uris(&reply.message())
    };
    assert_eq!(listed(&second).await, [REFUNDS]);
    hub.folder.skill("greeting");
    hub.publish("greeting").await;
    let start = std::time::Instant::now();
    while listed(&second).await.len() != 2 {
        assert!(start.elapsed() < crate::support::TEST_TIMEOUT, "the second replica never follows");
    }
    assert_eq!(second.get("/readyz").await.status, 200);
    assert_eq!(second.get("/healthz").await.status, 200);
}

#[cfg(feature = "search")]
#[tokio::test]
async fn a_caller_finds_by_search_what_it_may_read_in_the_version_of_the_channel() {
    let hub = TestHub::start().await;
    let text =
        |word: &str| format!("---\nname: weather\ndescription: Reads {word}.\n---\n\n# Text\n");
    hub.folder.file("weather/SKILL.md", text("barometers")).skill("refunds");
    hub.publish("weather").await;
    hub.publish("refunds").await;
    hub.run(&["hub", "promote", "acme/weather", "1.0.0", "stable"]).await.assert_exit(0);
    hub.folder.file("weather/SKILL.md", text("thermometers"));
    hub.publish("weather").await;
    hub.run(&["hub", "namespace", "new", "secret"]).await.assert_exit(0);
    let secret = ["publish", "refunds", "--namespace", "secret", "--yes"];
    hub.run(&secret).await.assert_exit(0);
    let ana = hub.new_token("ana", &["--scope", "read"]).await;
    hub.run(&["hub", "namespace", "grant", "acme", "ana", "reader"]).await.assert_exit(0);
    let found = async |mount: &str, token: &str, query: &str| {
        let call = json!({"name": "search_skills", "arguments": {"query": query}});
        let reply = hub.mcp(mount, token, "tools/call", call).await.message();
        let text = reply.result()["content"][0]["text"].as_str().unwrap().to_owned();
        let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
        lines.map(|line| line.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("/mcp", &ana, "thermometer").await, ["acme/weather"]);
    assert_eq!(found("/mcp", &ana, "barometer").await, [""; 0]);
    assert_eq!(found("/mcp/c/stable", &ana, "barometer").await, ["acme/weather"]);
    assert_eq!(found("/mcp", &ana, "refunds").await, ["acme/refunds"]);
    assert_eq!(found("/mcp", &hub.token, "refunds").await.len(), 2);
    hub.run(&["hub", "yank", "acme/weather@1.0.1", "--reason", "old"]).await.assert_exit(0);
    assert_eq!(found("/mcp", &ana, "thermometer").await, [""; 0]);
}
