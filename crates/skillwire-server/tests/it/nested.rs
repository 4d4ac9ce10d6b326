//! Nested skills: SRV-30 to SRV-33.

use serde_json::Value;
use skillwire_testkit::{SkillFolder, TestServer, skill_md};

use crate::support::{children, entry, keys, listed, manifest, read};

const OUTER: &str = "skill://acme/outer/SKILL.md";
const INNER: &str = "skill://acme/outer/parts/inner/SKILL.md";
const PLAIN: &str = "skill://plain/SKILL.md";

async fn serve_nested() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["acme/outer", "acme/outer/parts/inner", "plain"]);
    folder.file("acme/outer/own.md", "own").file("acme/outer/parts/inner/deep/x.txt", "x");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn a_nested_skill_is_a_skill_below_its_parents_path_srv_30() {
    let (_folder, server) = serve_nested().await;
    assert_eq!(listed(&server).await, [OUTER, INNER, PLAIN]);
    for (uri, name) in [(OUTER, "outer"), (INNER, "inner")] {
        assert_eq!(entry(&server, uri).await["frontmatter"]["name"], name);
        assert_eq!(read(&server, uri).await, skill_md(name).into_bytes());
    }
    let browsed = children(&server, "skill://acme/outer/parts/inner").await;
    assert_eq!(browsed.len(), 2);
}

#[tokio::test]
async fn the_enclosing_manifest_includes_the_nested_files_srv_31() {
    let (_folder, server) = serve_nested().await;
    let outer = manifest(&entry(&server, OUTER).await);
    let inner = manifest(&entry(&server, INNER).await);
    assert_eq!(inner.len(), 2);
    assert_eq!(outer.len(), 4);
    for (uri, file) in inner {
        assert_eq!(outer.get(&uri), Some(&file), "{uri}");
    }
}

#[tokio::test]
async fn nothing_in_a_listing_marks_nesting_srv_32() {
    let (_folder, server) = serve_nested().await;
    let shape = |entry: &Value| {
        let keys = [entry, &entry["frontmatter"], &entry["resources"][0]].map(keys);
        keys.map(|keys| keys.join(" "))
    };
    let plain = shape(&entry(&server, PLAIN).await);
    for uri in [OUTER, INNER] {
        assert_eq!(shape(&entry(&server, uri).await), plain, "{uri}");
    }
}

#[tokio::test]
async fn a_changed_byte_of_a_nested_file_changes_both_entries_srv_33() {
    let (folder, mut server) = serve_nested().await;
    let x = "skill://acme/outer/parts/inner/deep/x.txt";
    let before = [entry(&server, OUTER).await, entry(&server, INNER).await];
    let plain = entry(&server, PLAIN).await;
    folder.file("acme/outer/parts/inner/deep/x.txt", "y");
    server.refresh();
    let after = [entry(&server, OUTER).await, entry(&server, INNER).await];
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(manifest(before)[x], manifest(after)[x]);
    }
    assert_eq!(manifest(&after[0])[x], manifest(&after[1])[x]);
    assert_eq!(entry(&server, PLAIN).await, plain);
}
