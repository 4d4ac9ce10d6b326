//! Progressive disclosure: FMT-23.

use serde_json::json;
use skillwire_testkit::{SkillFolder, TestServer};

#[tokio::test]
async fn a_listing_carries_metadata_only_and_files_are_read_one_by_one_fmt_23() {
    let folder = SkillFolder::new();
    let head = "---\nname: a\ndescription: Does a. Use when testing.\n---\n";
    folder.file("a/SKILL.md", format!("{head}BODY")).file("a/references/x.md", "REFERENCE");
    let server = TestServer::start(folder.path()).await;
    for method in ["server/discover", "skills/list", "resources/list"] {
        let text = server.call(method, json!({})).await.to_string();
        assert!(!text.contains("BODY") && !text.contains("REFERENCE"), "{method}: {text}");
    }
    let read = async |uri: &str| {
        server.call("resources/read", json!({ "uri": uri })).await["contents"].to_string()
    };
    let body = read("skill://a/SKILL.md").await;
    assert!(body.contains("BODY") && !body.contains("REFERENCE"), "{body}");
    let reference = read("skill://a/references/x.md").await;
    assert!(!reference.contains("BODY") && reference.contains("REFERENCE"), "{reference}");
}
