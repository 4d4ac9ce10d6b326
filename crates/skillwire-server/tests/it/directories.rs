//! `resources/directory/read`: SRV-80 to SRV-88.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, skill_md};

use crate::support::{
    INVALID_PARAMS, children, entry, in_memory, keys, manifest, pages_of, refused, root, text,
};

async fn serve_tree() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["acme/pdf", "acme/pdf/nested/inner", "plain"]);
    folder
        .file("acme/pdf/templates/invoice.md", "i")
        .file("acme/pdf/templates/regional/eu.md", "e")
        .file("acme/pdf/data.bin", b"\xff\0")
        .directory("acme/pdf/empty/also-empty");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

/// Walks down from a directory and returns the URIs of all files.
async fn walk(server: &TestServer, from: &str) -> BTreeSet<String> {
    let (mut files, mut directories) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(directory) = directories.pop() {
        for child in children(server, &directory).await {
            let uri = text(&child["uri"]);
            if child["mimeType"] == "inode/directory" {
                directories.push(uri);
            } else {
                assert!(files.insert(uri), "{child} appears twice");
            }
        }
    }
    files
}

#[tokio::test]
async fn the_result_is_complete_and_holds_resources_srv_80() {
    let (_folder, server) = serve_tree().await;
    let result =
        server.call("resources/directory/read", json!({ "uri": "skill://acme/pdf" })).await;
    assert_eq!(keys(&result), ["cacheScope", "resources", "resultType", "ttlMs"]);
    assert_eq!(result["resultType"], "complete");
    for child in result["resources"].as_array().expect("an array") {
        assert!(child["uri"].is_string() && child["name"].is_string(), "{child}");
    }
}

#[tokio::test]
async fn installed_packages_are_neither_listed_nor_read() {
    let (folder, _) = serve_tree().await;
    folder.file("acme/pdf/node_modules/left-pad/index.js", "0");
    let server = TestServer::start(folder.path()).await;
    let packages = "skill://acme/pdf/node_modules";
    let listed = walk(&server, "skill://acme/pdf").await;
    assert!(listed.contains("skill://acme/pdf/data.bin"), "{listed:?}");
    assert!(listed.iter().all(|uri| !uri.contains("node_modules")), "{listed:?}");
    for directory in [packages.to_owned(), format!("{packages}/left-pad")] {
        refused(&server, "resources/directory/read", &directory).await;
    }
    refused(&server, "resources/read", &format!("{packages}/left-pad/index.js")).await;
}

#[tokio::test]
async fn what_is_no_directory_is_invalid_params_srv_81() {
    let (_folder, server) = serve_tree().await;
    for uri in [
        "skill://acme/pdf/SKILL.md",
        "skill://acme/pdf/data.bin",
        "skill://acme/pdf/unknown",
        "skill://unknown",
        "skill://acme/pdf/",
        "skill://acme/pdf/templates/",
        "skill://acme/pdf/SKILL.md/",
        "skill://acme/pdf/templates/..",
        "skill://acme/pdf/%74emplates",
        "skill://acme/pdf?",
        "github://acme/pdf",
        "skill://",
        "skill:",
        "acme/pdf",
        "",
    ] {
        refused(&server, "resources/directory/read", uri).await;
    }
    for params in [json!({}), json!({ "uri": null }), json!({ "uri": ["skill://acme/pdf"] })] {
        let reply = server.modern("resources/directory/read", params.clone()).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{params}");
    }
}

#[tokio::test]
async fn all_direct_children_and_no_others_are_returned_srv_82() {
    let (_folder, server) = serve_tree().await;
    let found = children(&server, "skill://acme/pdf").await;
    let shown = |child: &Value| {
        let name = text(&child["uri"]);
        let name = name.strip_prefix("skill://acme/pdf/").expect("a child").to_owned();
        (name, text(&child["mimeType"]), child["size"].as_u64())
    };
    let found: Vec<_> = found.iter().map(shown).collect();
    let directory = |name: &str| (name.to_owned(), "inode/directory".to_owned(), None);
    let file = |name: &str, kind: &str, size| (name.to_owned(), kind.to_owned(), Some(size));
    let size = skill_md("pdf").len() as u64;
    assert_eq!(
        found,
        [
            file("SKILL.md", "text/markdown", size),
            file("data.bin", "application/octet-stream", 2),
            directory("empty"),
            directory("nested"),
            directory("templates"),
        ]
    );
    let templates = children(&server, "skill://acme/pdf/templates").await;
    let names: Vec<_> = templates.iter().map(|child| text(&child["name"])).collect();
    assert_eq!(names, ["invoice.md", "regional"]);
}

#[tokio::test]
async fn an_empty_directory_has_no_children_srv_83() {
    let (_folder, server) = serve_tree().await;
    let uri = "skill://acme/pdf/empty/also-empty";
    let result = server.call("resources/directory/read", json!({ "uri": uri })).await;
    assert_eq!(result["resources"], json!([]));
    assert!(result.get("nextCursor").is_none());
}

#[tokio::test]
async fn a_directory_with_many_children_comes_in_pages_srv_84() {
    let paths: Vec<String> = (0..5_000).map(|n| format!("many/skill-{n}")).collect();
    let server = TestServer::with_sources(vec![in_memory(&paths)], pages_of(100)).await;
    let expected: BTreeSet<_> = paths.iter().map(|path| format!("skill://{path}")).collect();
    let first = json!({ "uri": "skill://many" });
    let page = server.call("resources/directory/read", first).await;
    assert_eq!(page["resources"].as_array().map(Vec::len), Some(100));
    assert!(page["nextCursor"].is_string());
    let found = children(&server, "skill://many").await;
    assert_eq!(found.len(), 5_000);
    let found: BTreeSet<_> = found.iter().map(|child| text(&child["uri"])).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_own_directory_srv_84() {
    let folder = SkillFolder::with_skills(&["one", "two"]);
    for index in 0..500 {
        folder.file(&format!("one/f{index}"), "");
    }
    folder.file("two/a", "").file("two/b", "");
    let server = TestServer::with(folder.path(), pages_of(7)).await;
    assert_eq!(children(&server, "skill://one").await.len(), 501);
    let ask = |uri: &str, cursor: &Value| json!({ "uri": uri, "cursor": cursor });
    let page = server.call("resources/directory/read", json!({ "uri": "skill://one" })).await;
    let cursor = &page["nextCursor"];
    let listed = server.call("skills/list", json!({})).await;
    assert!(listed.get("nextCursor").is_none());
    for (uri, cursor) in
        [("skill://two", cursor), ("skill://one", &json!("x")), ("skill://one", &json!(""))]
    {
        let reply = server.modern("resources/directory/read", ask(uri, cursor)).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{uri} {cursor}");
    }
    for method in ["skills/list", "resources/list"] {
        let reply = server.modern(method, json!({ "cursor": cursor })).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{method}");
    }
    let second = server.call("resources/directory/read", ask("skill://one", cursor)).await;
    assert_eq!(second["resources"].as_array().map(Vec::len), Some(7));
}

#[tokio::test]
async fn walking_from_each_root_finds_exactly_the_manifest_srv_85() {
    let (_folder, server) = serve_tree().await;
    let skills = server.skills().await;
    assert_eq!(skills.len(), 3);
    for entry in skills {
        let expected: BTreeSet<_> = manifest(&entry).into_keys().collect();
        assert_eq!(walk(&server, &root(&entry)).await, expected);
    }
}

#[tokio::test]
async fn directories_are_addressable_though_not_listed_srv_86() {
    let (_folder, server) = serve_tree().await;
    let listed = server.pages("resources/list", json!({}), "resources", 10).await;
    assert!(listed.iter().all(|resource| resource["mimeType"] != "inode/directory"));
    for uri in ["skill://acme/pdf", "skill://acme/pdf/templates", "skill://acme/pdf/nested"] {
        assert!(listed.iter().all(|resource| resource["uri"] != uri));
        assert!(!children(&server, uri).await.is_empty());
    }
}

#[tokio::test]
async fn the_directories_above_skills_lead_to_them_srv_87() {
    let server = TestServer::with_sources(
        vec![in_memory(["acme/billing/refunds", "acme/pdf", "acme/support/chat"])],
        TestOptions::default(),
    )
    .await;
    let above = children(&server, "skill://acme").await;
    let shown: Vec<_> = above.iter().map(|child| text(&child["uri"])).collect();
    assert_eq!(shown, ["skill://acme/billing", "skill://acme/pdf", "skill://acme/support"]);
    assert!(above.iter().all(|child| child["mimeType"] == "inode/directory"));
    assert_eq!(walk(&server, "skill://acme").await.len(), 3);
}

#[cfg(unix)]
#[tokio::test]
async fn children_stay_in_the_directory_and_agree_with_the_manifest_srv_88() {
    use std::os::unix::fs::symlink;

    let folder = SkillFolder::with_skills(&["served/pdf", "served/leaving", "served/beside"]);
    folder
        .file("secret/key.txt", "top secret")
        .file("served/pdf/target.md", "target")
        .file("served/pdf/sub/own.md", "own")
        .file("served/pdf/.git/HEAD", "ref")
        .file("served/pdf/sub/__pycache__/x.pyc", "x")
        .file("served/pdf/sub/.DS_Store", "x");
    symlink("../target.md", folder.join("served/pdf/sub/inside.md")).expect("a link");
    symlink(folder.join("secret"), folder.join("served/leaving/out")).expect("a link");
    symlink(folder.join("secret"), folder.join("served/linked")).expect("a link");
    let server = TestServer::start(&folder.join("served")).await;
    for uri in ["skill://leaving", "skill://leaving/out", "skill://linked"] {
        refused(&server, "resources/directory/read", uri).await;
    }
    let files = walk(&server, "skill://pdf").await;
    let manifest = manifest(&entry(&server, "skill://pdf/SKILL.md").await);
    assert_eq!(files, manifest.into_keys().collect());
    let expected = ["SKILL.md", "sub/inside.md", "sub/own.md", "target.md"];
    assert_eq!(files, expected.map(|path| format!("skill://pdf/{path}")).into());
    assert!(files.iter().all(|uri| uri.starts_with("skill://pdf/")));
}
