//! Resource metadata: SRV-24 to SRV-29.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, TestServer};

use crate::support::{METHOD_NOT_FOUND, children, crawl, entry, keys, read_result, text};

const DESCRIBED: &str = "---\nname: pdf\ndescription: \"Fills forms: with “care”. Use when asked.\"\n\
     metadata:\n  author: someone\n---\n\nText.\n";

const DESCRIPTION: &str = "Fills forms: with “care”. Use when asked.";

/// Finds the one description of a resource in a listing.
fn find<'a>(resources: &'a [Value], uri: &str) -> &'a Value {
    let found: Vec<_> = resources.iter().filter(|resource| resource["uri"] == uri).collect();
    assert_eq!(found.len(), 1, "{uri} in {resources:?}");
    found[0]
}

/// Returns the descriptions of a skill's `SKILL.md` in `resources/list` and
/// `resources/directory/read`.
async fn descriptions(server: &TestServer) -> [Value; 2] {
    let uri = "skill://acme/pdf/SKILL.md";
    let listed = server.pages("resources/list", json!({}), "resources", 10).await;
    let browsed = children(server, "skill://acme/pdf").await;
    [find(&listed, uri).clone(), find(&browsed, uri).clone()]
}

async fn serve_described() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::new();
    folder.file("acme/pdf/SKILL.md", DESCRIBED).file("acme/pdf/references/forms.md", "# Forms\n");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn skill_files_are_markdown_wherever_they_are_described_srv_24() {
    let (_folder, server) = serve_described().await;
    for resource in descriptions(&server).await {
        assert_eq!(resource["mimeType"], "text/markdown");
    }
    let read = read_result(&server, "skill://acme/pdf/SKILL.md").await;
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
}

#[tokio::test]
async fn skill_files_are_named_and_described_by_their_frontmatter_srv_25_srv_26() {
    let (_folder, server) = serve_described().await;
    for resource in descriptions(&server).await {
        assert_eq!(resource["name"], "pdf");
        assert_eq!(resource["description"], DESCRIPTION);
    }
}

#[tokio::test]
async fn media_types_fit_the_content_srv_27() {
    let files: [(&str, &[u8], &str); 8] = [
        ("image.png", b"\x89PNG\r\n\x1a\nrest", "image/png"),
        ("data.json", b"{}", "application/json"),
        ("run.py", b"print()\n", "text/x-python"),
        ("guide.md", b"# Guide\n", "text/markdown"),
        ("LICENSE", b"Words.\n", "text/plain"),
        ("binary", b"\x00\x01\x02", "application/octet-stream"),
        ("wrong.md", b"\x89PNG\r\n\x1a\nrest", "image/png"),
        ("latin.txt", b"caf\xe9", "application/octet-stream"),
    ];
    let folder = SkillFolder::with_skills(&["pdf"]);
    for (name, bytes, _) in files {
        folder.file(&format!("pdf/{name}"), bytes);
    }
    let server = TestServer::start(folder.path()).await;
    let browsed = children(&server, "skill://pdf").await;
    for (name, _, media_type) in files {
        let uri = format!("skill://pdf/{name}");
        assert_eq!(find(&browsed, &uri)["mimeType"], media_type, "{name}");
        let read = read_result(&server, &uri).await;
        assert_eq!(read["contents"][0]["mimeType"], media_type, "{name}");
    }
}

/// Collects the keys of every `_meta` in a value.
fn meta_keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| meta_keys(item, found)),
        Value::Object(members) => {
            if let Some(meta) = members.get("_meta") {
                found.extend(keys(meta).into_iter().map(str::to_owned));
            }
            members.values().for_each(|member| meta_keys(member, found));
        }
        _ => {}
    }
}

#[tokio::test]
async fn resources_repeat_no_frontmatter_in_their_metadata_srv_28() {
    let (_folder, server) = serve_described().await;
    for result in crawl(&server).await {
        for member in ["resources", "contents", "skills", "skill"] {
            let mut found = Vec::new();
            meta_keys(&result[member], &mut found);
            let ours = |key: &String| key.starts_with("io.modelcontextprotocol.skills/");
            assert!(found.iter().all(ours), "{found:?} in {result}");
        }
    }
}

#[tokio::test]
async fn no_reserved_name_is_minted_srv_29() {
    let (_folder, server) = serve_described().await;
    let results = crawl(&server).await;
    let everything = json!(results).to_string();
    assert!(!everything.contains("io.modelcontextprotocol.skills/"), "{everything}");
    let mut found = Vec::new();
    for result in &results {
        meta_keys(result, &mut found);
    }
    // The one key of the base protocol that results carry.
    assert!(found.iter().all(|key| key == "io.modelcontextprotocol/serverInfo"), "{found:?}");
    let entry = entry(&server, "skill://acme/pdf/SKILL.md").await;
    assert_eq!(entry["frontmatter"]["metadata"], json!({ "author": "someone" }));
    let discovered = server.call("server/discover", json!({})).await;
    let settings = &discovered["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(keys(settings), ["directoryRead"]);
}

#[tokio::test]
async fn no_method_of_our_own_is_under_the_reserved_prefix_srv_29() {
    let (_folder, server) = serve_described().await;
    for name in ["search", "read", "subscribe", "verify", "install", "archive", "index", "List", ""]
    {
        let reply = server.modern(&format!("skills/{name}"), json!({})).await;
        assert_eq!(reply.code(), METHOD_NOT_FOUND, "{name}");
        assert!(text(&reply.0["error"]["message"]).contains(name));
    }
}
