//! Other addresses of the same bytes: skilljack and skills-over-mcp.

use serde_json::json;
use skillwire_testkit::{
    LEGACY_HEADERS, SkillFolder, TestOptions, TestServer, initialize_params, legacy_request,
    reference_skills,
};

use super::{LEGACY_NOT_FOUND, Legacy, REFUNDS, fixture, options};
use crate::support::{ALICE, BOB, INVALID_PARAMS, TOKENS, text};

const EVERY: [&str; 2] = ["skilljack=on", "skills-over-mcp=on"];

#[tokio::test]
async fn a_bare_name_is_content_on_legacy_and_a_directory_on_strict_c_20_c_21() {
    let (_folder, legacy) = fixture(&EVERY).await;
    let read = legacy.read("skill://git-workflow").await;
    let item = &read["contents"][0];
    assert_eq!(
        (&item["uri"], &item["mimeType"]),
        (&json!("skill://git-workflow"), &json!("text/markdown"))
    );
    assert_eq!(item["text"], reference_skills::FILES[3].1);
    for uri in ["skill://git-workflow", "skill://git-workflow/"] {
        let strict = legacy.server.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(strict.code(), INVALID_PARAMS, "{uri}");
    }
    let strict =
        legacy.server.modern("resources/read", json!({ "uri": "skill://git-workflow" })).await;
    assert!(strict.message().contains("`resources/directory/read`"), "{}", strict.message());
    // Listing it as a directory works for both, and never with a slash.
    let directory = json!({ "uri": "skill://git-workflow" });
    let old = legacy.call("resources/directory/read", directory.clone()).await;
    let new = legacy.server.call("resources/directory/read", directory).await;
    assert_eq!(old["resources"], new["resources"]);
    let slash = json!({ "uri": "skill://git-workflow/" });
    assert_eq!(legacy.code("resources/directory/read", slash).await, INVALID_PARAMS);
    // Without a dialect that knows bare names it is a directory for every client.
    let (_folder, plain) = fixture(&[]).await;
    let reply = plain.send("resources/read", json!({ "uri": "skill://git-workflow" })).await;
    assert_eq!(reply.code(), LEGACY_NOT_FOUND);
    assert!(reply.message().contains("is a directory"));
}

#[tokio::test]
async fn a_collection_has_every_other_file_in_one_answer_d8() {
    let folder = reference_skills::folder();
    folder
        .file("acme/billing/refunds/.hidden/x", "x")
        .file("acme/billing/refunds/node_modules/y.js", "y")
        .file("acme/billing/refunds/large.bin", vec![0xff; 1024 * 1024 + 1]);
    let legacy = Legacy::start(&folder, &["skilljack=on"]).await;
    let read = legacy.read("skill://refunds/").await;
    let contents = read["contents"].as_array().unwrap();
    let uris: Vec<_> = contents.iter().map(|item| text(&item["uri"])).collect();
    assert_eq!(uris, ["skill://refunds/examples/email.md", "skill://refunds/scripts/calc.py"]);
    assert_eq!(contents[0]["text"], reference_skills::FILES[1].1);
    for uri in uris {
        legacy.read(&uri).await;
    }
}

#[tokio::test]
async fn the_index_the_prompt_and_the_documents_d9() {
    let (_folder, legacy) = fixture(&["skills-over-mcp=on"]).await;
    let index = legacy.json("skill://index").await;
    assert_eq!(
        index,
        json!([
            {
                "name": "refunds",
                "description": "Handle a customer refund by the book. Use when money goes back.",
                "uri": "skill://refunds",
                "documentsUri": "skill://refunds/documents",
                "documentCount": 2,
                "metadata": { "version": "2.1.0" },
            },
            {
                "name": "git-workflow",
                "description": "Branch and commit the way this team does. Use when committing.",
                "uri": "skill://git-workflow",
                "documentCount": 0,
            },
        ])
    );
    let xml = legacy.text("skill://prompt-xml").await;
    assert!(xml.starts_with("<available_skills>\n  <skill>\n    <name>refunds</name>"), "{xml}");
    let documents = legacy.json("skill://refunds/documents").await;
    assert_eq!(documents["skill"], "refunds");
    for (item, file) in
        documents["documents"].as_array().unwrap().iter().zip(&reference_skills::FILES[1..3])
    {
        assert_eq!(item["size"], file.1.len());
        assert_eq!(legacy.text(&text(&item["uri"])).await, file.1);
    }
    for uri in ["skill://refunds", "skill://lookup/refunds"] {
        assert_eq!(legacy.text(uri).await, reference_skills::FILES[0].1, "{uri}");
    }
    // A skill without other files has no list of them, and a failure is an error, not a text.
    for uri in
        ["skill://git-workflow/documents", "skill://lookup/nope", "skill://refunds/document/x"]
    {
        let code = legacy.code("resources/read", json!({ "uri": uri })).await;
        assert_eq!(code, LEGACY_NOT_FOUND, "c_29 {uri}");
    }
}

#[tokio::test]
async fn real_files_win_over_documents_c_23() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder
        .file("a/documents/real.md", "real")
        .file("a/document/other.md", "other")
        .file("a/other.md", "top");
    let legacy = Legacy::start(&folder, &EVERY).await;
    assert_eq!(legacy.text("skill://a/documents/real.md").await, "real");
    assert_eq!(legacy.text("skill://a/document/other.md").await, "other");
    // A client that lists the directory still gets a directory.
    assert_eq!(legacy.json("skill://a/documents").await["skill"], "a");
    let listed =
        legacy.call("resources/directory/read", json!({ "uri": "skill://a/documents" })).await;
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn skills_may_be_called_like_the_documents_c_24() {
    let folder = SkillFolder::with_skills(&["index", "prompt-xml", "lookup"]);
    folder.file("lookup/index", "a file");
    let on = Legacy::start(&folder, &EVERY).await;
    assert!(on.json("skill://index").await.is_array());
    assert!(on.text("skill://prompt-xml").await.starts_with("<available_skills>"));
    assert_eq!(on.text("skill://lookup/index").await, "a file", "a real file comes first");
    assert!(on.text("skill://lookup/prompt-xml").await.contains("# prompt-xml"));
    let off = Legacy::start(&folder, &["skilljack=on"]).await;
    for name in ["index", "prompt-xml", "lookup"] {
        assert!(off.text(&format!("skill://{name}")).await.contains(&format!("# {name}")));
        for legacy in [&on, &off] {
            let canonical = format!("skill://{name}/SKILL.md");
            assert!(legacy.text(&canonical).await.contains(&format!("# {name}")));
        }
    }
    assert!(off.json("skill://index.json").await.is_object());
}

/// Returns every spelling of the URI of a skill that a caller may not see.
fn spellings() -> Vec<String> {
    let mut found = Vec::new();
    for name in ["secret", "%73ecret", "private/secret", "private%2Fsecret", "private%2fsecret"] {
        for rest in [
            "",
            "/",
            "/SKILL.md",
            "/SKILL.md/",
            "/_manifest",
            "/documents",
            "/document/key.txt",
            "/key.txt",
            ".tar.gz",
            ".zip",
            "/%6bey.txt",
            "/./key.txt",
            "//key.txt",
            "/%2e%2e/secret/key.txt",
            "/..%2Fsecret%2Fkey.txt",
        ] {
            found.push(format!("skill://{name}{rest}"));
        }
    }
    for rest in ["secret", "%2e%2e/private/secret", "../private/secret", "private%2Fsecret"] {
        found.extend([format!("skill://lookup/{rest}"), format!("skill://acme/{rest}/key.txt")]);
        found.push(format!("skill://open/{rest}/SKILL.md"));
    }
    found
}

#[tokio::test]
async fn no_spelling_gets_around_a_rule_on_the_canonical_uri_c_43_c_44() {
    let folder = SkillFolder::with_skills(&["acme/open", "private/secret"]);
    folder.file("private/secret/key.txt", "SECRET").file("acme/open/x.md", "x");
    let tokens = Some(TOKENS.to_owned());
    let every = ["skilljack=on", "skills-over-mcp=on", "archives=on", "strict:skills-page=on"];
    let options = TestOptions { tokens, ..options(&every) };
    let server = TestServer::with(folder.path(), options).await;
    let session = async |who: (&str, &str)| {
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.push(who);
        let body = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
        let reply = server.post(&headers, body.as_bytes()).await;
        reply.header("mcp-session-id").expect("a session").to_owned()
    };
    let ask = async |who: (&str, &str), session: &str, method: &str, params| {
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.extend([who, ("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]);
        let body = legacy_request(1, method, params).to_string();
        server.post(&headers, body.as_bytes()).await.message()
    };
    let (alice, bob) = (session(ALICE).await, session(BOB).await);
    let mut reachable = 0;
    for uri in spellings() {
        for method in ["resources/read", "resources/list", "resources/directory/read", "skills/get"]
        {
            let params = json!({ "uri": uri });
            let refused = ask(BOB, &bob, method, params.clone()).await;
            assert!(refused.0.get("error").is_some(), "{method} {uri}: {}", refused.0);
            assert!(!refused.0.to_string().contains("SECRET"));
            let allowed = ask(ALICE, &alice, method, params.clone()).await;
            reachable += usize::from(allowed.0.get("result").is_some());
            let strict = server.modern_with(&[BOB], method, params).await.message();
            assert!(strict.0.get("error").is_some(), "{method} {uri}: {}", strict.0);
        }
    }
    assert!(reachable > 20, "the spellings are those of a skill that is there: {reachable}");
    for method in ["skills/get", "skills/read"] {
        let refused = ask(BOB, &bob, method, json!({ "name": "secret" })).await;
        assert!(refused.0.get("error").is_some());
        let error = refused.0["error"].to_string();
        assert!(!error.contains("private"), "{error}");
    }
    let index = ask(BOB, &bob, "resources/read", json!({ "uri": "skill://index.json" })).await;
    assert!(!index.0.to_string().contains("secret"));
}

#[tokio::test]
async fn what_hides_a_slash_or_a_way_up_is_nothing_c_43() {
    let (_folder, legacy) = fixture(&EVERY).await;
    for uri in [
        "skill://refunds%2FSKILL.md",
        "skill://refunds/examples%2Femail.md",
        "skill://refunds/%2e%2e/git-workflow/SKILL.md",
        "skill://refunds/../git-workflow/SKILL.md",
        "skill://refunds/examples/%2e%2e/SKILL.md",
        "skill://refunds/examples%5Cemail.md",
        "skill://refunds/examples//email.md",
        "skill://refunds/%00",
        "skill://refunds//",
        "skill:///refunds",
        "skill://refunds?x",
        "skill://refunds#x",
        "SKILL://refunds",
    ] {
        let code = legacy.code("resources/read", json!({ "uri": uri })).await;
        assert_eq!(code, LEGACY_NOT_FOUND, "{uri}");
    }
    // Decoded once, it is the same name; the server must not decode it twice.
    assert_eq!(legacy.text("skill://%72efunds").await, reference_skills::FILES[0].1);
    let twice = json!({ "uri": "skill://%2572efunds" });
    assert_eq!(legacy.code("resources/read", twice).await, LEGACY_NOT_FOUND);
    assert_eq!(
        legacy.server.call("skills/get", json!({ "uri": REFUNDS })).await["resultType"],
        "complete"
    );
}
