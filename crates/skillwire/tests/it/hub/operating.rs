//! What operators do with a hub.

use serde_json::Value;

use super::TestHub;
use crate::support::{HttpServer, command, run};

#[tokio::test]
async fn a_backup_of_a_running_hub_is_restored_and_served() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "one");
    hub.publish("refunds").await;
    let copied = hub.run(&["hub", "backup", "hub", "saved", "--json"]).await.assert_exit(0).json();
    assert_eq!(copied["blobs"], 2, "{copied}");
    hub.give_place("again");
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
    let copied = hub.run(&migrate).await.assert_exit(0);
    let absolute = hub.folder.join("new/hub.db");
    assert!(copied.stdout.contains(absolute.to_str().unwrap()), "{copied:?}");
    assert!(copied.stderr.contains("stop it before you migrate"), "{copied:?}");
    hub.folder.file("new/hub.toml", "[database]\nurl = \"hub.db\"\n[blobs]\nurl = \"blobs\"\n");
    let listed = hub.run(&["hub", "list", "--hub", "new", "--json"]).await.assert_exit(0).json();
    assert_eq!(listed[0]["skill"], "acme/refunds");
    let diff = ["hub", "diff", "acme/refunds", "1.0.0", "1.0.0", "--hub", "new"];
    let diff = hub.run(&diff).await.assert_exit(0);
    assert_eq!(diff.stderr, "No file differs between versions 1.0.0 and 1.0.0.\n");
    hub.run(&migrate).await.assert_refused(8, "that no hub has used yet");
}

#[tokio::test]
async fn an_erased_version_has_no_bytes_and_keeps_its_number() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a", "private");
    hub.publish("refunds").await;
    let purge = ["hub", "purge", "acme/refunds@1.0.0", "--reason", "court order"];
    let unconfirmed = hub.run(&purge).await;
    unconfirmed.assert_refused(2, "was not confirmed");
    let said =
        async |more: &str| hub.run(&[&purge[..], &[more]].concat()).await.assert_exit(0).stdout;
    assert_eq!(said("--dry-run").await, "acme/refunds@1.0.0 would be erased.\n");
    assert_eq!(hub.uris("/mcp", &hub.token).await.len(), 1);
    assert_eq!(said("--yes").await, "acme/refunds@1.0.0 is erased now.\n");
    assert_eq!(said("--yes").await, "acme/refunds@1.0.0 was erased already.\n");
    assert_eq!(said("--dry-run").await, "acme/refunds@1.0.0 was erased already.\n");
    let versions = hub.run(&["hub", "versions", "acme/refunds"]).await.assert_exit(0);
    assert!(versions.stdout.contains("revoked, its files erased  20"), "{versions:?}");
    assert_eq!(hub.uris("/mcp", &hub.token).await, [""; 0]);
    let path = "/skills/acme/refunds/versions/1.0.0/files/a";
    assert_ne!(hub.api("GET", path, b"").await.status, 200);
    hub.folder.file("refunds/a", "other");
    let next = hub.publish("refunds").await;
    assert_eq!(next["version"]["version"], "1.0.1", "{next}");
}

#[tokio::test]
async fn a_person_is_erased_under_a_pseudonym_and_loses_every_token() {
    let hub = TestHub::start().await;
    hub.run(&["hub", "namespace", "grant", "acme", "zoe", "publisher"]).await.assert_exit(0);
    let zoe = hub.new_token("zoe", &[]).await;
    hub.folder.skill("refunds").file("zoe", &zoe);
    let url = hub.url();
    hub.run(&["login", &url, "--token-file", "zoe"]).await.assert_exit(0);
    hub.publish("refunds").await;
    hub.run(&["login", &url, "--token-file", "token"]).await.assert_exit(0);
    let purge = ["hub", "purge", "--subject", "zoe", "--reason", "zoe asked for it"];
    hub.run(&purge).await.assert_refused(2, "was not confirmed");
    let asked = hub.run(&[&purge[..], &["--dry-run"]].concat()).await.assert_exit(0);
    assert!(asked.stdout.starts_with("`zoe` would be erased in "), "{asked:?}");
    assert_eq!(hub.uris("/mcp", &zoe).await.len(), 1);
    let erased = hub.run(&[&purge[..], &["--yes", "--json"]].concat()).await.assert_exit(0).json();
    assert_eq!((&erased["tokens"], &erased["dry_run"]), (&1.into(), &false.into()));
    let pseudonym = erased["pseudonym"].as_str().unwrap();
    for list in
        [&["hub", "versions", "acme/refunds"][..], &["hub", "audit"], &["hub", "token", "list"]]
    {
        let listed = hub.run(list).await.assert_exit(0);
        assert!(!listed.stdout.contains("zoe"), "{listed:?}");
        assert!(listed.stdout.contains(pseudonym), "{listed:?}");
    }
    assert_eq!(hub.api_as(&zoe, "GET", "/hub", b"").await.status, 401);
    hub.run(&["hub", "audit", "--verify"]).await.assert_exit(0);
    let again = hub.run(&[&purge[..], &["--yes"]].concat()).await.assert_exit(0);
    assert_eq!(again.stdout, "No record of the hub names `zoe`.\n");
}

#[tokio::test]
async fn a_hub_whose_database_is_missing_is_neither_served_nor_made() {
    let hub = TestHub::configured(|text| text).await;
    if hub.place.is_some() {
        // A database that is missing on a server is the server's error.
        return;
    }
    let TestHub { folder, server, .. } = hub;
    drop(server);
    let file = folder.join("hub/hub.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"hub.db\"", "\"hbu.db\"")).unwrap();
    for arguments in [
        &["hub", "serve", "hub", "--listen", "127.0.0.1:0"][..],
        &["hub", "list", "--hub", "hub"],
        &["hub", "backup", "hub", "saved"],
    ] {
        let refused = run(&folder, arguments).await;
        assert!(refused.stderr.contains("`hub/hub.toml`"), "{refused:?}");
        refused.assert_refused(2, "There is no database `hub/hbu.db`.");
    }
    assert!(!folder.join("hub/hbu.db").exists());
}

#[tokio::test]
async fn a_restore_takes_the_configuration_of_the_backup_and_leaves_nothing_when_it_fails() {
    let hub =
        TestHub::configured(|text| text.replace("\"skillwire-hub\"", "\"Acme skills\"")).await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.run(&["hub", "backup", "hub", "saved"]).await.assert_exit(0);
    if hub.place.is_some() {
        // It names the database of the hub that was saved, which holds a hub already.
        let refused = hub.run(&["hub", "restore", "saved", "again"]).await;
        assert!(refused.stderr.contains("names another one"), "{refused:?}");
        refused.assert_refused(8, "holds a hub already");
        assert!(!hub.folder.join("again").exists());
        return;
    }
    let planned = hub.run(&["hub", "restore", "saved", "again", "--dry-run"]).await.assert_exit(0);
    assert!(planned.stdout.starts_with("Would restore "), "{planned:?}");
    assert!(planned.stdout.contains(" and 1 file, "), "{planned:?}");
    assert!(!hub.folder.join("again").exists());
    hub.run(&["hub", "restore", "saved", "again"]).await.assert_exit(0);
    let saved = std::fs::read_to_string(hub.folder.join("hub/hub.toml")).unwrap();
    assert_eq!(std::fs::read_to_string(hub.folder.join("again/hub.toml")).unwrap(), saved);
    // A backup that lost its manifest.
    std::fs::remove_file(hub.folder.join("saved/manifest.json")).unwrap();
    hub.run(&["hub", "restore", "saved", "third"]).await.assert_refused(8, "was not finished");
    assert!(!hub.folder.join("third").exists());
}

#[tokio::test]
async fn changes_of_an_operator_are_tried_without_being_made() {
    let hub = TestHub::start().await;
    hub.new_token("ana", &[]).await;
    let try_it = async |arguments: &[&str]| {
        hub.run(&[arguments, &["--dry-run"]].concat()).await.assert_exit(0)
    };
    let before = hub.run(&["hub", "audit", "--json"]).await.json();
    let granted = try_it(&["hub", "namespace", "grant", "acme", "ana", "owner"]).await;
    assert!(granted.stdout.contains("owner  ana"), "{granted:?}");
    assert!(granted.stderr.contains("Nothing was changed"), "{granted:?}");
    let changed = try_it(&["hub", "namespace", "change", "acme", "--review", "true"]).await;
    assert!(changed.stdout.contains(", reviewed"), "{changed:?}");
    let tokens = hub.run(&["hub", "token", "list", "--json"]).await.json();
    let ana = tokens.as_array().unwrap().iter().find(|it| it["subject"] == "ana").unwrap();
    let id = ana["id"].to_string();
    let revoked = try_it(&["hub", "token", "revoke", &id]).await;
    assert!(revoked.stdout.contains("of `ana` would be refused."), "{revoked:?}");
    let made = try_it(&["hub", "namespace", "new", "open", "--public", "--json"]).await.json();
    assert_eq!(made["grants"][0]["subject"], "*", "{made}");
    let trust = ["hub", "namespace", "trust", "acme", "--issuer", "https://ci.example.com"];
    let trusted = try_it(&[&trust[..], &["--claim", "repository=acme/skills"]].concat()).await;
    assert!(trusted.stdout.contains("could publish into `acme`"), "{trusted:?}");
    let token = try_it(&["hub", "token", "new", "ben", "--json"]).await.json();
    assert_eq!((&token["token"], &token["info"]["subject"]), (&Value::Null, &"ben".into()));
    for (arguments, says) in [
        (&["hub", "key", "new", "hub"][..], "A key would be made"),
        (&["hub", "backup", "hub", "saved"], "Would write "),
        (&["hub", "init", "hub"], "it would stay as it is"),
        (&["hub", "init", "second"], "A hub would be made in `second`."),
    ] {
        let tried = try_it(arguments).await;
        assert!(tried.stdout.contains(says), "{tried:?}");
    }
    for made in ["saved", "second", "hub/keys"] {
        assert!(!hub.folder.join(made).exists(), "{made}");
    }
    // What would be refused is refused when it is tried, too.
    let again = hub.run(&["hub", "namespace", "new", "acme", "--dry-run"]).await;
    again.assert_refused(8, "acme");
    hub.folder.directory("new");
    let migrate = ["hub", "migrate", "hub", "--to", "new/hub.db", "--blobs", "new/blobs"];
    let planned = try_it(&migrate).await;
    let absolute = hub.folder.join("new/hub.db");
    assert!(planned.stdout.contains(absolute.to_str().unwrap()), "{planned:?}");
    assert!(!absolute.exists());
    assert_eq!(hub.run(&["hub", "audit", "--json"]).await.json(), before);
    assert_eq!(hub.run(&["hub", "token", "list", "--json"]).await.json(), tokens);
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
