//! Public skills under `/.well-known/`.

use serde_json::{Value, json};
use skillwire_archive::{ArchiveFormat, ArchiveLimits, unpack};
use skillwire_testkit::{HttpReply, SkillFolder, TestOptions, TestServer, reference_skills};

use super::{options, twins};
use crate::support::{TOKENS, digest, text};

const FILES: &str = "/.well-known/skills/";
const ARTIFACTS: &str = "/.well-known/agent-skills/";

async fn server(folder: &SkillFolder, public: &[&str], switches: &[&str]) -> TestServer {
    let public = public.iter().map(|pattern| (*pattern).to_owned()).collect();
    let options = TestOptions { public, ..options(switches) };
    TestServer::with(folder.path(), options).await
}

async fn fetch(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> HttpReply {
    let mut connection = server.connect().await;
    connection.send(method, path, headers, b"").await;
    if method == "HEAD" {
        let (status, headers) = connection.head().await.expect("an answer");
        return HttpReply { status, headers, body: Vec::new() };
    }
    connection.reply().await
}

async fn get(server: &TestServer, path: &str) -> HttpReply {
    fetch(server, "GET", path, &[]).await
}

async fn json_of(server: &TestServer, path: &str) -> Value {
    let reply = get(server, path).await;
    assert_eq!(reply.status, 200, "{path}");
    serde_json::from_slice(&reply.body).expect("JSON")
}

#[tokio::test]
async fn the_first_revision_lists_files_and_serves_each_d11() {
    let folder = reference_skills::folder();
    let server = server(&folder, &["**"], &[]).await;
    let index = json_of(&server, &format!("{FILES}index.json")).await;
    let refunds = json!({
        "name": "refunds",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "files": ["SKILL.md", "examples/email.md", "scripts/calc.py"],
    });
    assert_eq!(index["skills"][0], refunds);
    for (path, content, _) in reference_skills::FILES {
        let flat = path.trim_start_matches("acme/billing/");
        let reply = get(&server, &format!("{FILES}{flat}")).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, content), "{flat}");
    }
    let skill = get(&server, &format!("{FILES}refunds/SKILL.md")).await;
    assert_eq!(skill.header("content-type"), Some("text/markdown; charset=utf-8"));
}

#[tokio::test]
async fn the_second_revision_has_digests_d11() {
    let folder = reference_skills::folder();
    let server = server(&folder, &["**"], &["well-known-digests=on"]).await;
    let index = json_of(&server, &format!("{FILES}index.json")).await;
    assert_eq!(index["version"], "0.2.0");
    let refunds = &index["skills"][0];
    assert_eq!(refunds["digest"], reference_skills::REFUNDS_DIGEST);
    let found: Vec<_> =
        refunds["files"].as_array().unwrap().iter().map(|f| text(&f["digest"])).collect();
    assert_eq!(found, reference_skills::FILES[..3].iter().map(|f| f.2).collect::<Vec<_>>());
    let package = get(&server, &text(&refunds["package"]["url"])).await;
    assert_eq!(digest(&package.body), text(&refunds["package"]["digest"]));
}

#[tokio::test]
async fn the_last_revision_has_files_and_archives_with_digests_d11() {
    let folder = reference_skills::folder();
    let server = server(&folder, &["**"], &[]).await;
    let index = json_of(&server, &format!("{ARTIFACTS}index.json")).await;
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let kinds: Vec<_> =
        index["skills"].as_array().unwrap().iter().map(|s| text(&s["type"])).collect();
    assert_eq!(kinds, ["archive", "skill-md"]);
    for skill in index["skills"].as_array().unwrap() {
        let artifact = get(&server, &text(&skill["url"])).await;
        assert_eq!(digest(&artifact.body), text(&skill["digest"]), "{skill}");
    }
    let archive = get(&server, &format!("{ARTIFACTS}refunds.tar.gz")).await;
    assert_eq!(archive.header("content-type"), Some("application/gzip"));
    let files =
        unpack(ArchiveFormat::TarGz, &archive.body, &ArchiveLimits::default()).expect("it opens");
    assert_eq!(files.len(), 3);
}

#[tokio::test]
async fn answers_can_be_cached_and_asked_about_d11() {
    let folder = reference_skills::folder();
    let server = server(&folder, &["**"], &[]).await;
    for path in ["skills/index.json", "agent-skills/index.json", "skills/git-workflow/SKILL.md"] {
        let path = format!("/.well-known/{path}");
        let first = get(&server, &path).await;
        assert_eq!(first.header("cache-control"), Some("public, max-age=60"));
        let tag = first.header("etag").expect("a tag").to_owned();
        assert_eq!(tag, format!("\"{}\"", digest(&first.body)));
        for given in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            let again = fetch(&server, "GET", &path, &[("If-None-Match", &given)]).await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{given}");
            assert_eq!(again.header("etag"), Some(&*tag));
        }
        let other = fetch(&server, "GET", &path, &[("If-None-Match", "\"x\"")]).await;
        assert_eq!(other.status, 200);
        let head = fetch(&server, "HEAD", &path, &[]).await;
        assert_eq!(head.header("content-length"), Some(&*first.body.len().to_string()));
        assert_eq!(fetch(&server, "POST", &path, &[]).await.status, 405);
        assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
    }
}

#[tokio::test]
async fn only_what_is_public_is_published_c_42() {
    let folder = SkillFolder::with_skills(&["open/a", "open/twin", "secret/b", "secret/twin"]);
    folder.file("secret/b/key.txt", "SECRET");
    let tokens = Some(TOKENS.to_owned());
    let public = vec!["open/*".to_owned()];
    let server =
        TestServer::with(folder.path(), TestOptions { tokens, public, ..options(&[]) }).await;
    for place in [FILES, ARTIFACTS] {
        let index = json_of(&server, &format!("{place}index.json")).await;
        let names: Vec<_> =
            index["skills"].as_array().unwrap().iter().map(|s| text(&s["name"])).collect();
        // The public does not learn that a private skill has the same name.
        assert_eq!(names, ["a", "twin"]);
        for hidden in
            ["b/SKILL.md", "b/key.txt", "b.tar.gz", "secret/b/key.txt", "secret-twin/SKILL.md"]
        {
            assert_eq!(get(&server, &format!("{place}{hidden}")).await.status, 404, "{hidden}");
        }
    }
    // The MCP endpoint still needs a token.
    assert_eq!(get(&server, "/mcp").await.status, 401);
}

#[tokio::test]
async fn nothing_is_published_unless_somebody_says_so_d11() {
    let folder = reference_skills::folder();
    let server = TestServer::start(folder.path()).await;
    for path in [format!("{FILES}index.json"), format!("{ARTIFACTS}index.json")] {
        assert_eq!(get(&server, &path).await.status, 404);
    }
}

#[tokio::test]
async fn twins_have_longer_names_and_paths_are_looked_up_d11() {
    let folder = twins();
    folder.file("other/a b.md", "blank").file("other/ü.md", "not ASCII");
    let server = server(&folder, &["**"], &[]).await;
    let index = json_of(&server, &format!("{FILES}index.json")).await;
    let names: Vec<_> =
        index["skills"].as_array().unwrap().iter().map(|s| text(&s["name"])).collect();
    assert_eq!(names, ["billing-refunds", "support-refunds"], "one has a file it cannot name");
    assert_eq!(get(&server, &format!("{FILES}refunds/SKILL.md")).await.status, 404);
    assert_eq!(get(&server, &format!("{FILES}billing-refunds/SKILL.md")).await.status, 200);
    assert_eq!(get(&server, &format!("{ARTIFACTS}other/a%20b.md")).await.text(), "blank");
    for hostile in [
        "other/%2e%2e/support/refunds/SKILL.md",
        "other/..%2F..%2Fetc%2Fpasswd",
        "other%2FSKILL.md",
        "other//SKILL.md",
        "other/",
        "other",
        "",
        "../../../etc/passwd",
        "other/%00",
    ] {
        for place in [FILES, ARTIFACTS] {
            let reply = get(&server, &format!("{place}{hostile}")).await;
            assert!(matches!(reply.status, 404 | 400), "{hostile}: {}", reply.status);
        }
    }
}
