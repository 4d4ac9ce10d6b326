//! `skills/list`: SRV-53 to SRV-63.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use skillwire_catalog::SnapshotOptions;
use skillwire_core::Scheme;
use skillwire_server::{CacheScope, Config};
use skillwire_source::PathPatterns;
use skillwire_source::{DirectoryOptions, DirectorySource, SkillSource};
use skillwire_testkit::{LEGACY_HEADERS, RpcReply, SkillFolder, TestOptions, TestServer};

use crate::support::{
    ALICE, BOB, INVALID_PARAMS, TOKENS, digest, entry, in_memory, listed, manifest, pages_of, read,
    refused, text,
};

fn with_tokens(page_size: usize) -> TestOptions {
    TestOptions { tokens: Some(TOKENS.to_owned()), ..pages_of(page_size) }
}

/// Returns every page of a listing as one caller gets it.
async fn pages(server: &TestServer, headers: &[(&str, &str)], method: &str) -> Vec<Value> {
    let (mut pages, mut params) = (Vec::new(), json!({}));
    for _ in 0..1_000 {
        let page = server.modern_with(headers, method, params).await.message().result().clone();
        let next = page.get("nextCursor").cloned();
        pages.push(page);
        match next {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return pages,
        }
    }
    panic!("{method} never ends");
}

fn uris(pages: &[Value]) -> Vec<String> {
    let entries = pages.iter().flat_map(|page| page["skills"].as_array().expect("entries"));
    entries.map(|entry| text(&entry["uri"])).collect()
}

#[tokio::test]
async fn every_page_is_complete_and_says_how_long_it_is_fresh_srv_53_srv_54() {
    let sources = vec![in_memory(["a", "b", "c", "d", "e"])];
    let server = TestServer::with_sources(sources, pages_of(2)).await;
    let pages = pages(&server, &[], "skills/list").await;
    assert_eq!(pages.len(), 3);
    for page in pages {
        assert_eq!(page["resultType"], "complete");
        assert!(page["skills"].is_array());
        assert!(page["ttlMs"].is_u64(), "{page}");
        assert!(page["cacheScope"] == "public" || page["cacheScope"] == "private", "{page}");
        assert!(page.get("nextCursor").is_none_or(Value::is_string), "{page}");
    }
}

#[tokio::test]
async fn freshness_is_what_the_operator_set_srv_54() {
    let config = Config::default().ttl_ms(0).cache_scope(CacheScope::Private);
    let options = TestOptions { config, ..TestOptions::default() };
    let server = TestServer::with_sources(vec![in_memory(["a"])], options).await;
    let body = server.modern_with(&[], "skills/list", json!({})).await.text();
    assert!(body.contains(r#""ttlMs":0,"cacheScope":"private""#), "{body}");
}

#[tokio::test]
async fn what_is_not_listed_is_still_served_srv_55_srv_67() {
    let unlisted = PathPatterns::parse(["secret", "acme/**"]).expect("patterns");
    let snapshot = SnapshotOptions::default().unlisted(unlisted);
    let options = TestOptions { snapshot, ..TestOptions::default() };
    let sources = vec![in_memory(["open", "secret", "acme/hidden"])];
    let server = TestServer::with_sources(sources, options).await;
    assert_eq!(listed(&server).await, ["skill://open/SKILL.md"]);
    for uri in ["skill://secret/SKILL.md", "skill://acme/hidden/SKILL.md"] {
        assert_eq!(entry(&server, uri).await["uri"], json!(uri));
        assert!(!read(&server, uri).await.is_empty());
    }
}

#[tokio::test]
async fn a_listing_may_be_empty_srv_55() {
    let server = TestServer::with_sources(Vec::new(), TestOptions::default()).await;
    let result = server.call("skills/list", json!({})).await;
    assert_eq!(result["skills"], json!([]));
    assert!(result.get("nextCursor").is_none());
}

#[tokio::test]
async fn pages_unite_to_the_whole_and_never_split_an_entry_srv_56() {
    let paths: Vec<String> = (0..1_000).map(|n| format!("team-{}/skill-{n}", n % 7)).collect();
    let server = TestServer::with_sources(vec![in_memory(&paths)], pages_of(7)).await;
    let pages = pages(&server, &[], "skills/list").await;
    assert_eq!(pages.len(), 143);
    let found = uris(&pages);
    let expected: BTreeSet<_> = paths.iter().map(|p| format!("skill://{p}/SKILL.md")).collect();
    assert_eq!(found.len(), 1_000);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    for entry in pages.iter().flat_map(|page| page["skills"].as_array().expect("entries")) {
        assert_eq!(manifest(entry).len(), 1);
    }
}

#[tokio::test]
async fn an_entry_with_many_files_is_on_one_page_srv_56() {
    let folder = SkillFolder::with_skills(&["large", "small"]);
    for index in 0..300 {
        folder.file(&format!("large/f{index}"), "x");
    }
    let server = TestServer::with(folder.path(), pages_of(1)).await;
    let pages = pages(&server, &[], "skills/list").await;
    let sizes: Vec<_> = pages.iter().map(|page| manifest(&page["skills"][0]).len()).collect();
    assert_eq!(sizes, [301, 1]);
}

async fn with_cursor(server: &TestServer, cursor: Value) -> RpcReply {
    server.modern("skills/list", json!({ "cursor": cursor })).await
}

#[tokio::test]
async fn forged_cursor_is_invalid_params_srv_57() {
    let sources = vec![in_memory(["a", "b", "c"])];
    let server = TestServer::with_sources(sources, pages_of(1)).await;
    let first = server.call("skills/list", json!({})).await;
    let cursor = text(&first["nextCursor"]);
    let other = text(&server.call("resources/list", json!({})).await["nextCursor"]);
    let mut forged = vec![
        json!(""),
        json!("1"),
        json!("skill://a/SKILL.md"),
        json!("../../etc/passwd"),
        json!("ü\u{0}\n"),
        json!("A".repeat(100_000)),
        json!(format!("{cursor}{cursor}")),
        json!(format!("{cursor}=")),
        json!(format!(" {cursor}")),
        json!(other),
        json!(1),
        json!(null),
        json!(true),
        json!([cursor]),
        json!({ "cursor": cursor }),
    ];
    forged.extend((0..cursor.len()).map(|length| json!(cursor[..length])));
    forged.extend((0..cursor.len()).map(|at| {
        let flipped = if &cursor[at..=at] == "A" { "B" } else { "A" };
        json!(format!("{}{flipped}{}", &cursor[..at], &cursor[at + 1..]))
    }));
    for cursor in forged {
        let reply = with_cursor(&server, cursor.clone()).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{cursor}");
    }
    let second = with_cursor(&server, json!(cursor)).await;
    assert_eq!(second.result()["skills"][0]["uri"], "skill://b/SKILL.md");
}

#[tokio::test]
async fn another_callers_cursor_is_invalid_params_srv_57() {
    let sources = vec![in_memory(["acme/a", "acme/b", "secret"])];
    let server = TestServer::with_sources(sources, with_tokens(1)).await;
    for method in ["skills/list", "resources/list"] {
        let page = server.modern_with(&[ALICE], method, json!({})).await.message();
        let cursor = page.result()["nextCursor"].clone();
        assert!(cursor.is_string());
        let params = json!({ "cursor": cursor });
        let stolen = server.modern_with(&[BOB], method, params.clone()).await.message();
        assert_eq!(stolen.code(), INVALID_PARAMS, "{method}");
        let own = server.modern_with(&[ALICE], method, params).await.message();
        assert!(own.0.get("error").is_none());
    }
}

#[tokio::test]
async fn a_cursor_outlives_the_skill_it_stopped_at_srv_57() {
    let folder = SkillFolder::with_skills(&["a", "b", "c", "d"]);
    let mut server = TestServer::with(folder.path(), pages_of(2)).await;
    let first = server.call("skills/list", json!({})).await;
    assert_eq!(uris(std::slice::from_ref(&first)), ["skill://a/SKILL.md", "skill://b/SKILL.md"]);
    folder.remove("b").skill("aa");
    server.refresh();
    let second = with_cursor(&server, first["nextCursor"].clone()).await;
    assert_eq!(
        uris(std::slice::from_ref(second.result())),
        ["skill://c/SKILL.md", "skill://d/SKILL.md"]
    );
}

#[tokio::test]
async fn all_pages_of_a_listing_have_the_same_scope_srv_58() {
    let sources = vec![in_memory(["acme/a", "acme/b", "acme/c", "other"])];
    let server = TestServer::with_sources(sources, with_tokens(1)).await;
    for headers in [[ALICE], [BOB]] {
        let pages = pages(&server, &headers, "skills/list").await;
        assert!(pages.len() >= 3);
        let scopes: BTreeSet<_> = pages.iter().map(|page| text(&page["cacheScope"])).collect();
        assert_eq!(scopes.len(), 1, "{scopes:?}");
    }
}

#[tokio::test]
async fn skills_of_every_scheme_are_listed_srv_59() {
    let folders = [SkillFolder::with_skills(&["one"]), SkillFolder::with_skills(&["two"])];
    let source = |index: usize, scheme: &str| -> Box<dyn SkillSource> {
        let scheme = Scheme::parse(scheme).expect("a scheme");
        let options = DirectoryOptions::default().scheme(scheme);
        let source = DirectorySource::new(folders[index].path(), options);
        Box::new(source.expect("the folder is there"))
    };
    let sources = vec![source(0, "skill"), source(1, "github")];
    let server = TestServer::with_sources(sources, TestOptions::default()).await;
    assert_eq!(listed(&server).await, ["github://two/SKILL.md", "skill://one/SKILL.md"]);
    for uri in ["github://two/SKILL.md", "skill://one/SKILL.md"] {
        assert!(!read(&server, uri).await.is_empty());
    }
    refused(&server, "skills/get", "github://one/SKILL.md").await;
}

#[tokio::test]
async fn a_listed_entry_is_enough_to_verify_every_file_srv_60() {
    let folder = SkillFolder::with_skills(&["pdf", "outer", "outer/inner"]);
    folder.file("pdf/a.bin", b"\xff\0").file("outer/inner/b.md", "b\r\n");
    let server = TestServer::start(folder.path()).await;
    let mut verified = 0;
    for entry in server.skills().await {
        for (uri, listed) in manifest(&entry) {
            let bytes = read(&server, &uri).await;
            assert_eq!((digest(&bytes), bytes.len() as u64), listed, "{uri}");
            verified += 1;
        }
    }
    assert_eq!(verified, 2 + 3 + 2);
}

#[tokio::test]
async fn nothing_ever_asks_for_input_srv_61() {
    let sources = vec![in_memory(["acme/a", "secret"])];
    let server = TestServer::with_sources(sources, with_tokens(10)).await;
    let stranger = server.modern_with(&[], "skills/list", json!({})).await;
    assert_eq!(stranger.status, 401);
    for (caller, secret_is_served) in [(ALICE, true), (BOB, false)] {
        let secret = json!({ "uri": "skill://secret/SKILL.md" });
        for (method, params) in [
            ("skills/list", json!({})),
            ("skills/get", secret.clone()),
            ("resources/read", secret.clone()),
            ("resources/directory/read", json!({ "uri": "skill://secret" })),
        ] {
            let reply = server.modern_with(&[caller], method, params).await.message();
            if method == "skills/list" || secret_is_served {
                assert_eq!(reply.result()["resultType"], "complete", "{method}");
            } else {
                assert_eq!(reply.code(), INVALID_PARAMS, "{method}");
            }
            assert!(!reply.0.to_string().contains("input_required"));
        }
    }
}

#[tokio::test]
async fn parameters_may_be_absent_and_unknown_ones_are_ignored_srv_62() {
    let server = TestServer::with_sources(vec![in_memory(["a"])], TestOptions::default()).await;
    let plain = server.call("skills/list", json!({})).await;
    for params in [
        json!({ "filter": "b", "limit": 0, "name": ["x"] }),
        json!({ "uri": "skill://unknown/SKILL.md" }),
        json!({ "requestId": {}, "ref": 7, "argument": null, "notifications": [] }),
    ] {
        assert_eq!(server.call("skills/list", params).await, plain);
    }
    let (session, _) = server.initialize("2025-11-25").await;
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.extend([("Mcp-Session-Id", &*session), ("MCP-Protocol-Version", "2025-11-25")]);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"skills/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"_meta":{}}}"#,
    ] {
        let reply = server.post(&headers, body.as_bytes()).await.message();
        let (found, expected) = (&reply.result()["skills"], &plain["skills"]);
        assert_eq!(found.as_array().unwrap().len(), expected.as_array().unwrap().len(), "{body}");
        assert_eq!(found[0]["resources"], expected[0]["resources"], "{body}");
    }
}

#[tokio::test]
async fn a_set_that_depends_on_the_caller_is_private_to_every_caller_srv_63() {
    let sources = vec![in_memory(["acme/a", "acme/deep/b", "acme-not", "secret"])];
    let server = TestServer::with_sources(sources, with_tokens(10)).await;
    let all = pages(&server, &[ALICE], "skills/list").await;
    let some = pages(&server, &[BOB], "skills/list").await;
    assert_eq!(uris(&all).len(), 4);
    assert_eq!(uris(&some), ["skill://acme/a/SKILL.md", "skill://acme/deep/b/SKILL.md"]);
    for caller in [ALICE, BOB] {
        let uri = json!({ "uri": "skill://acme/a/SKILL.md" });
        for (method, params) in [
            ("skills/list", json!({})),
            ("skills/get", uri.clone()),
            ("resources/list", json!({})),
            ("resources/read", uri),
            ("resources/directory/read", json!({ "uri": "skill://acme" })),
            ("server/discover", json!({})),
        ] {
            let reply = server.modern_with(&[caller], method, params).await.message();
            assert_eq!(reply.result()["cacheScope"], "private", "{method} for {caller:?}");
        }
    }
}

#[tokio::test]
async fn the_rest_of_the_frontmatter_is_repeated_in_meta_if_the_operator_wants_it_p_19() {
    let folder = SkillFolder::new();
    let text = "---\nname: a\ndescription: Does a. Use when testing.\nlicense: MIT\n\
                dependencies:\n  tools: [lookup]\nscopes: [billing.read]\nmetadata:\n  \
                owner: team\n---\n";
    folder.file("a/SKILL.md", text);
    let usual = TestServer::start(folder.path()).await;
    let listed = usual.call("resources/list", json!({})).await;
    assert!(listed["resources"][0].get("_meta").is_none());
    let snapshot = SnapshotOptions::default().list_frontmatter(true);
    let options = TestOptions { snapshot, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    let listed = server.call("resources/list", json!({})).await;
    let expected = json!({
        "io.modelcontextprotocol.skills/license": "MIT",
        "io.modelcontextprotocol.skills/dependencies": { "tools": ["lookup"] },
        "io.modelcontextprotocol.skills/scopes": ["billing.read"],
        "io.modelcontextprotocol.skills/metadata": { "owner": "team" },
    });
    assert_eq!(listed["resources"][0]["_meta"], expected);
}
