//! What operators do with a hub.

use super::TestHub;
use crate::support::{HttpServer, command, run};

#[tokio::test]
async fn a_backup_of_a_running_hub_is_restored_and_served() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "one");
    hub.publish("refunds").await;
    let copied = hub.run(&["hub", "backup", "hub", "saved", "--json"]).await.assert_exit(0).json();
    assert_eq!(copied["blobs"], 2, "{copied}");
    hub.run(&["hub", "restore", "saved", "again", "--json"]).await.assert_exit(0);
    let serve = ["hub", "serve", "again", "--listen", "127.0.0.1:0"];
    let again = HttpServer::start(command(&hub.folder, &serve)).await;
    let bearer = format!("Bearer {}", hub.token);
    let list = again.request(&[("Authorization", &bearer)], "skills/list", ().into()).await;
    assert_eq!(crate::support::uris(&list.message()), ["skill://acme/refunds/SKILL.md"]);
    // A hub that holds something is never overwritten.
    hub.run(&["hub", "restore", "saved", "again"]).await.assert_refused(8, "holds a hub already");
}

#[tokio::test]
async fn a_hub_is_copied_to_another_database_and_folder() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.folder.directory("new");
    let migrate = ["hub", "migrate", "hub", "--to", "new/hub.db", "--blobs", "new/blobs"];
    hub.run(&migrate).await.assert_exit(0);
    hub.folder.file("new/hub.toml", "[database]\nurl = \"hub.db\"\n[blobs]\nurl = \"blobs\"\n");
    let listed = hub.run(&["hub", "list", "--hub", "new", "--json"]).await.assert_exit(0).json();
    assert_eq!(listed[0]["skill"], "acme/refunds");
    let bytes = hub.run(&["hub", "diff", "acme/refunds", "1.0.0", "1.0.0", "--hub", "new"]).await;
    bytes.assert_exit(0);
}

#[tokio::test]
async fn an_erased_version_has_no_bytes_and_keeps_its_number() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "private");
    hub.publish("refunds").await;
    let purge = ["hub", "purge", "acme/refunds@1.0.0", "--reason", "court order"];
    let unconfirmed = hub.run(&purge).await;
    unconfirmed.assert_refused(2, "--yes");
    hub.run(&[&purge[..], &["--yes"]].concat()).await.assert_exit(0);
    assert_eq!(hub.uris("/mcp", &hub.token).await, [""; 0]);
    let path = "/skills/acme/refunds/versions/1.0.0/files/a";
    assert_ne!(hub.api("GET", path, b"").await.status, 200);
    hub.folder.file("refunds/a", "other");
    let next = hub.publish("refunds").await;
    assert_eq!(next["version"]["version"], "1.0.1", "{next}");
}

#[tokio::test]
async fn bytes_that_no_version_names_are_counted_and_kept_for_their_grace() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    let collected = hub.run(&["hub", "gc", "--dry-run", "--json"]).await.assert_exit(0).json();
    assert_eq!((&collected["blobs"], &collected["dry_run"]), (&0.into(), &true.into()));
    hub.run(&["hub", "gc"]).await.assert_exit(0);
    assert_eq!(hub.uris("/mcp", &hub.token).await.len(), 1);
}

#[tokio::test]
async fn skills_of_a_server_and_of_a_web_origin_are_imported() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/greeting").file("vendor/greeting/a", "one");
    let server = HttpServer::serve(&hub.folder, &["vendor", "--public", "**"]).await;
    let mcp = format!("http://{}/mcp", server.address);
    let import = async |from: &str, namespace: &str| {
        let arguments = ["hub", "import", from, "--namespace", namespace, "--yes", "--json"];
        let imported = hub.run(&arguments).await.assert_exit(0).json();
        imported[0]["version"]["content"].as_str().unwrap().to_owned()
    };
    for namespace in ["by-url", "by-label", "by-origin"] {
        hub.run(&["hub", "namespace", "new", namespace]).await.assert_exit(0);
    }
    let content = import(&mcp, "by-url").await;
    run(&hub.folder, &["server", "add", "vendor-server", &mcp]).await.assert_exit(0);
    assert_eq!(import("vendor-server", "by-label").await, content);
    let origin = format!("http://{}", server.address);
    assert_eq!(import(&origin, "by-origin").await, content);
}

#[tokio::test]
async fn a_namespace_at_its_limit_refuses_more_until_the_operator_raises_it() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").skill("greeting");
    let change = async |more: &[&str]| {
        hub.run(&[&["hub", "namespace", "change", "acme", "--json"], more].concat()).await
    };
    // Nothing to change is a mistake.
    assert_eq!(change(&[]).await.code, Some(2));
    let changed = change(&["--max-skills", "1"]).await.assert_exit(0).json();
    assert_eq!(changed["max_skills"], 1);
    hub.publish("refunds").await;
    let second = ["publish", "greeting", "--namespace", "acme", "--yes"];
    hub.run(&second).await.assert_refused(8, "skills in the namespace");
    change(&["--max-skills", "2"]).await.assert_exit(0);
    hub.run(&second).await.assert_exit(0);
    // Limits are the operator's, also for an owner.
    hub.run(&["hub", "namespace", "grant", "acme", "olga", "owner"]).await.assert_exit(0);
    let olga = hub.new_token("olga", &[]).await;
    let body = br#"{"max_skills":9}"#;
    assert_eq!(hub.api_as(&olga, "PATCH", "/namespaces/acme", body).await.status, 403);
    let body = br#"{"review":true}"#;
    assert_eq!(hub.api_as(&olga, "PATCH", "/namespaces/acme", body).await.status, 200);
}
