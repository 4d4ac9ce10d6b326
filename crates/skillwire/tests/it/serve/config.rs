//! The configuration file.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{HttpServer, StdioServer, command};

fn folder(config: &str) -> SkillFolder {
    let folder = SkillFolder::with_skills(&["one/a", "one/b", "two/c"]);
    folder.file("skillwire.toml", config);
    folder
}

/// The first page of a server's listing.
async fn page(folder: &SkillFolder, arguments: &[&str]) -> Value {
    let mut server =
        StdioServer::serve(folder, &[&["--config", "skillwire.toml"], arguments].concat());
    let result = server.modern("skills/list", Value::Null).await.result().clone();
    server.close().await.assert_exit(0);
    result
}

fn uris(page: &Value) -> Vec<&str> {
    page["skills"].as_array().unwrap().iter().map(|s| s["uri"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_file_has_the_names_of_the_options() {
    let folder = folder(
        "dirs = [\"team=one\", \"two\"]\npage-size = 1\nttl-ms = 7\ncache-scope = \"private\"\n\
         scheme = \"acme\"\nunlisted = [\"team/a\"]\nlist-files = true\nno-directory-read = true\n\
         strict = true\nallow-secret-file = [\".env\"]\nrequire-single-link = false\n\
         allow-origin = [\"https://app.example.com\"]\nallow-host = [\"app.example.com\"]\n\
         log-format = \"json\"\nhttp = \"127.0.0.1:0\"\ntoken-file = \"none\"\nmetrics = true\n",
    );
    let page = page(&folder, &["--stdio"]).await;
    assert_eq!(uris(&page), ["acme://c/SKILL.md"]);
    assert_eq!((&page["ttlMs"], &page["cacheScope"]), (&json!(7), &json!("private")));
    assert!(page["nextCursor"].is_string());
}

#[tokio::test]
async fn what_is_typed_wins_over_the_file() {
    let folder = folder("dirs = [\"one\"]\npage-size = 1\nttl-ms = 7\nscheme = \"acme\"\n");
    let page = page(&folder, &["--page-size", "50", "--scheme", "skill"]).await;
    assert_eq!(uris(&page), ["skill://a/SKILL.md", "skill://b/SKILL.md"]);
    assert_eq!(page["ttlMs"], 7);
}

#[tokio::test]
async fn a_typed_list_replaces_the_files() {
    let folder = folder("dirs = [\"one\"]\nunlisted = [\"a\"]\n");
    assert_eq!(uris(&page(&folder, &[]).await), ["skill://b/SKILL.md"]);
    assert_eq!(uris(&page(&folder, &["two"]).await), ["skill://c/SKILL.md"]);
    assert_eq!(uris(&page(&folder, &["--unlisted", "b"]).await), ["skill://a/SKILL.md"]);
}

#[tokio::test]
async fn typed_strictness_replaces_the_files() {
    let folder = folder("dirs = [\"long\"]\nstdio = true\nstrict = true\n");
    let long = format!("---\nname: long\ndescription: {}\n---\n", "x".repeat(1_025));
    folder.file("long/SKILL.md", long);
    assert_eq!(uris(&page(&folder, &[]).await), [""; 0]);
    assert_eq!(uris(&page(&folder, &["--lenient"]).await), ["skill://long/SKILL.md"]);
}

#[tokio::test]
async fn the_transport_can_be_in_the_file_or_typed() {
    let folder = folder("dirs = [\"two\"]\nhttp = \"127.0.0.1:0\"\n");
    let arguments = ["serve", "--config", "skillwire.toml"];
    let server = HttpServer::start(command(&folder, &arguments)).await;
    assert_eq!(server.uris().await, ["skill://c/SKILL.md"]);
    assert_eq!(uris(&page(&folder, &["--stdio"]).await), ["skill://c/SKILL.md"]);
}

#[tokio::test]
async fn the_file_cannot_open_the_server_without_tokens_either_v_28() {
    let folder = folder("dirs = [\"two\"]\nhttp = \"0.0.0.0:0\"\n");
    let ran = crate::support::run(&folder, &["serve", "--config", "skillwire.toml"]).await;
    ran.assert_refused(8, "no tokens are required.");
}
