//! Reading: SRV-72 to SRV-79.

use serde_json::json;
use skillwire_catalog::SnapshotOptions;
use skillwire_source::PathPatterns;
use skillwire_testkit::{SkillFolder, StdioClient, TestOptions, TestServer, skill_md};

use crate::support::{
    INVALID_PARAMS, content, entry, in_memory, keys, manifest, read, read_result, refused, text,
};

#[tokio::test]
async fn files_are_read_without_any_call_before_and_whether_listed_or_not_srv_72() {
    let folder = SkillFolder::with_skills(&["pdf", "unlisted"]);
    folder.file("pdf/references/a.md", "supporting");
    let unlisted = PathPatterns::parse(["unlisted"]).expect("a pattern");
    let snapshot = SnapshotOptions::default().unlisted(unlisted);
    let options = TestOptions { snapshot, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    assert_eq!(read(&server, "skill://pdf/references/a.md").await, b"supporting");
    assert_eq!(read(&server, "skill://unlisted/SKILL.md").await, skill_md("unlisted").into_bytes());
    let listed = server.pages("resources/list", json!({}), "resources", 10).await;
    let uris: Vec<_> = listed.iter().map(|resource| text(&resource["uri"])).collect();
    assert_eq!(uris, ["skill://pdf/SKILL.md"]);
}

#[tokio::test]
async fn listing_supporting_files_changes_nothing_about_reading_them_srv_72() {
    let folder = SkillFolder::with_skills(&["pdf"]);
    folder.file("pdf/references/a.md", "supporting");
    let snapshot = SnapshotOptions::default().list_files(true);
    let options = TestOptions { snapshot, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    let listed = server.pages("resources/list", json!({}), "resources", 10).await;
    assert_eq!(listed.len(), 2);
    for resource in listed {
        let bytes = read(&server, &text(&resource["uri"])).await;
        assert_eq!(resource["size"], json!(bytes.len()));
    }
}

#[tokio::test]
async fn what_is_not_served_is_invalid_params_srv_73() {
    let folder = SkillFolder::with_skills(&["pdf"]);
    folder
        .file("pdf/gone.md", "soon deleted")
        .file("pdf/.git/config", "[core]")
        .file("pdf/__pycache__/x.pyc", "x")
        .file("pdf/notes.md~", "backup")
        .file("beside.md", "not in a skill")
        .directory("pdf/empty");
    let mut server = TestServer::start(folder.path()).await;
    assert_eq!(read(&server, "skill://pdf/gone.md").await, b"soon deleted");
    folder.remove("pdf/gone.md");
    server.refresh();
    let mut client = StdioClient::in_process(server.engine());
    for uri in [
        "skill://pdf/unknown.md",
        "skill://unknown/SKILL.md",
        "skill://pdf/gone.md",
        "skill://pdf/.git/config",
        "skill://pdf/__pycache__/x.pyc",
        "skill://pdf/notes.md~",
        "skill://beside.md",
        "skill://pdf",
        "skill://pdf/empty",
        "skill://pdf/",
        "",
    ] {
        let reply = refused(&server, "resources/read", uri).await;
        assert!(reply.0.get("result").is_none(), "{uri}");
        let reply = client.modern(1, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{uri}");
    }
    for params in [json!({}), json!({ "uri": 1 }), json!({ "uri": null })] {
        let reply = client.modern(2, "resources/read", params).await;
        assert_eq!(reply.code(), INVALID_PARAMS);
    }
}

#[tokio::test]
async fn a_read_is_complete_with_freshness_and_one_item_of_the_requested_uri_srv_74_srv_77() {
    let folder = SkillFolder::with_skills(&["pdf", "outer", "outer/inner"]);
    folder.file("pdf/a b.bin", b"\xff").file("pdf/empty", "");
    let server = TestServer::start(folder.path()).await;
    for entry in server.skills().await {
        for uri in manifest(&entry).into_keys() {
            let result = read_result(&server, &uri).await;
            assert_eq!(keys(&result), ["_meta", "cacheScope", "contents", "resultType", "ttlMs"]);
            assert_eq!(result["resultType"], "complete");
            assert!(result["ttlMs"].is_u64());
            assert!(result["cacheScope"] == "public" || result["cacheScope"] == "private");
            assert_eq!(result["contents"].as_array().map(Vec::len), Some(1));
            assert_eq!(result["contents"][0]["uri"], json!(uri));
        }
    }
}

#[tokio::test]
async fn utf_8_is_text_and_everything_else_is_base64_on_both_transports_srv_75() {
    let corpus: [(&str, &[u8], &str); 11] = [
        ("plain.txt", b"plain", "text"),
        ("empty.txt", b"", "text"),
        ("crlf.txt", b"a\r\nb\rc\n", "text"),
        ("bom.txt", b"\xef\xbb\xbfa", "text"),
        ("nul.txt", b"a\0b", "text"),
        ("separators.txt", "a\u{2028}\u{2029}\u{85}".as_bytes(), "text"),
        ("nfd.txt", "e\u{301}".as_bytes(), "text"),
        ("latin-1.txt", b"caf\xe9", "blob"),
        ("surrogate.txt", b"\xed\xa0\x80", "blob"),
        ("overlong.txt", b"\xc0\xaf", "blob"),
        ("cut.txt", b"\xe2\x82", "blob"),
    ];
    let folder = SkillFolder::with_skills(&["exact"]);
    for (name, bytes, _) in corpus {
        folder.file(&format!("exact/{name}"), bytes);
    }
    let server = TestServer::start(folder.path()).await;
    let mut client = StdioClient::in_process(server.engine());
    for (name, bytes, member) in corpus {
        let uri = format!("skill://exact/{name}");
        let over_http = read_result(&server, &uri).await;
        let over_stdio = client.modern(1, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(*over_stdio.result(), over_http, "{name}");
        assert_eq!(content(&over_http), bytes, "{name}");
        let mut expected = ["mimeType", "uri", member];
        expected.sort_unstable();
        assert_eq!(keys(&over_http["contents"][0]), expected, "{name}");
    }
}

#[tokio::test]
async fn no_uri_leads_out_of_what_is_served_srv_76() {
    let folder = SkillFolder::with_skills(&["served/pdf"]);
    folder.file("secret.txt", "top secret").file("served/beside.txt", "top secret");
    folder.file("served/pdf/references/a.md", "a");
    let server = TestServer::start(&folder.join("served")).await;
    let absolute = folder.join("secret.txt").display().to_string();
    let mut attempts: Vec<String> = [
        "skill://pdf/../beside.txt",
        "skill://pdf/../../secret.txt",
        "skill://pdf/references/../../../secret.txt",
        "skill://pdf/references/../SKILL.md",
        "skill://pdf/%2e%2e/beside.txt",
        "skill://pdf/%2E%2E%2Fbeside.txt",
        "skill://pdf/..%2f..%2fsecret.txt",
        "skill://pdf/..%5c..%5csecret.txt",
        "skill://pdf/..\\..\\secret.txt",
        "skill://pdf/%252e%252e/beside.txt",
        "skill://pdf/%c0%ae%c0%ae/beside.txt",
        "skill://pdf/\u{ff0e}\u{ff0e}/beside.txt",
        "skill://pdf/./../beside.txt",
        "skill://pdf//../beside.txt",
        "skill://pdf/SKILL.md/../../beside.txt",
        "skill://pdf/SKILL.md\0.txt",
        "skill://../secret.txt",
        "skill://..",
        "skill://.",
        "skill:///etc/passwd",
        "skill://beside.txt",
        "file:///etc/passwd",
        "/etc/passwd",
        "../secret.txt",
        "~/.ssh/id_rsa",
        "skill://pdf/CON",
        "skill://pdf/SKILL.md::$DATA",
    ]
    .map(str::to_owned)
    .into();
    attempts.push(absolute.clone());
    attempts.push(format!("file://{absolute}"));
    attempts.push(format!("skill://pdf/{absolute}"));
    attempts.push(format!("skill://pdf{absolute}"));
    attempts.push(format!("skill://pdf/{}secret.txt", "../".repeat(1_000)));
    let mut client = StdioClient::in_process(server.engine());
    for uri in attempts {
        for method in ["resources/read", "resources/directory/read", "skills/get"] {
            let reply = refused(&server, method, &uri).await;
            assert!(!reply.0.to_string().contains("top secret"), "{uri}");
            let reply = client.modern(1, method, json!({ "uri": uri })).await;
            assert_eq!(reply.code(), INVALID_PARAMS, "{uri}");
        }
    }
}

#[tokio::test]
async fn a_file_is_readable_exactly_when_the_entry_lists_it_srv_78() {
    let folder = SkillFolder::with_skills(&["pdf"]);
    let mut server = TestServer::start(folder.path()).await;
    let (pdf, new) = ("skill://pdf/SKILL.md", "skill://pdf/new.md");
    folder.file("pdf/new.md", "new");
    assert!(!manifest(&entry(&server, pdf).await).contains_key(new));
    refused(&server, "resources/read", new).await;
    server.refresh();
    assert!(manifest(&entry(&server, pdf).await).contains_key(new));
    assert_eq!(read(&server, new).await, b"new");
    folder.file("pdf/new.md", "changed on disk only");
    assert_eq!(read(&server, new).await, b"new");
}

#[tokio::test]
async fn every_uri_in_the_instructions_is_a_skill_srv_79() {
    let paths: Vec<String> = (0..30).map(|n| format!("team/skill-{n}")).collect();
    for count in [1, 2, 30] {
        let sources = vec![in_memory(&paths[..count])];
        let server = TestServer::with_sources(sources, TestOptions::default()).await;
        let discovered = server.call("server/discover", json!({})).await;
        let (_, initialized) = server.initialize("2025-11-25").await;
        assert_eq!(discovered["instructions"], initialized["instructions"]);
        let instructions = text(&discovered["instructions"]);
        let uris: Vec<_> = instructions
            .split(|c: char| c.is_whitespace() || "`,;()".contains(c))
            .filter(|word| word.contains("://"))
            .collect();
        assert!(!uris.is_empty(), "{instructions}");
        for uri in uris {
            assert_eq!(entry(&server, uri).await["uri"], json!(uri));
        }
    }
}
