//! `skills/get`: SRV-64 to SRV-71.

use serde_json::json;
use skillwire_testkit::{SkillFolder, StdioClient, TestOptions, TestServer};

use crate::support::{
    ALICE, BOB, INVALID_PARAMS, TOKENS, digest, entry, in_memory, keys, manifest, refused,
};

const PDF: &str = "skill://acme/pdf/SKILL.md";

async fn serve_pdf() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["acme/pdf", "acme/pdf/inner"]);
    folder.file("acme/pdf/references/a b.md", "x").file("acme/pdf/not/skill/SKILL.md", "no skill");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn the_result_wraps_the_entry_with_freshness_and_no_cursor_srv_64_srv_65_srv_69() {
    let (_folder, server) = serve_pdf().await;
    for entry in server.skills().await {
        let result = server.call("skills/get", json!({ "uri": entry["uri"] })).await;
        assert_eq!(keys(&result), ["cacheScope", "resultType", "skill", "ttlMs"]);
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["skill"], entry);
        assert!(result["ttlMs"].is_u64());
        assert!(result["cacheScope"] == "public" || result["cacheScope"] == "private");
    }
}

#[tokio::test]
async fn only_the_skill_md_of_a_served_skill_is_a_skill_srv_66() {
    let (_folder, server) = serve_pdf().await;
    for uri in [
        "skill://unknown/SKILL.md",
        "skill://acme/pdf/references/a%20b.md",
        "skill://acme/pdf/not/skill/SKILL.md",
        "skill://acme/pdf",
        "skill://acme/pdf/references",
        "skill://acme",
        "skill://acme/SKILL.md",
        "skill://pdf/SKILL.md",
        "github://acme/pdf/SKILL.md",
        "https://example.com/SKILL.md",
        "file:///SKILL.md",
        "SKILL.md",
        "acme/pdf/SKILL.md",
        "pdf",
        "",
    ] {
        refused(&server, "skills/get", uri).await;
    }
    let mut client = StdioClient::in_process(server.engine());
    for params in [
        json!({}),
        json!({ "uri": null }),
        json!({ "uri": 7 }),
        json!({ "uri": [PDF] }),
        json!({ "uri": { "uri": PDF } }),
        json!({ "URI": PDF }),
        json!({ "name": "pdf" }),
    ] {
        let reply = server.modern("skills/get", params.clone()).await;
        assert_eq!(reply.code(), INVALID_PARAMS, "{params}");
        assert_eq!(client.modern(1, "skills/get", params).await.code(), INVALID_PARAMS);
    }
}

#[tokio::test]
async fn every_listed_and_nested_skill_is_answered_srv_67() {
    let (_folder, server) = serve_pdf().await;
    let skills = server.skills().await;
    assert_eq!(skills.len(), 2);
    for skill in skills {
        let uri = skill["uri"].as_str().expect("a URI");
        assert_eq!(entry(&server, uri).await, skill);
    }
}

#[tokio::test]
async fn the_next_call_after_a_change_shows_it_srv_68() {
    let (folder, mut server) = serve_pdf().await;
    let before = manifest(&entry(&server, PDF).await);
    let changed = "---\nname: pdf\ndescription: New. Use when testing.\n---\n";
    folder.file("acme/pdf/SKILL.md", changed).file("acme/pdf/new.md", "new");
    folder.remove("acme/pdf/references/a b.md");
    server.refresh();
    let after = entry(&server, PDF).await;
    assert_eq!(after["frontmatter"]["description"], "New. Use when testing.");
    let files = manifest(&after);
    assert_ne!(files[PDF], before[PDF]);
    assert_eq!(files[PDF].0, digest(changed.as_bytes()));
    assert!(files.contains_key("skill://acme/pdf/new.md"));
    assert!(!files.contains_key("skill://acme/pdf/references/a%20b.md"));
    folder.remove("acme/pdf");
    server.refresh();
    refused(&server, "skills/get", PDF).await;
}

#[tokio::test]
async fn the_entry_has_the_uri_that_was_asked_for_srv_70() {
    let folder = SkillFolder::with_skills(&["pdf", "a b/ü/%20/refunds", "outer", "outer/inner"]);
    let server = TestServer::start(folder.path()).await;
    let skills = server.skills().await;
    assert_eq!(skills.len(), 4);
    for uri in skills.iter().map(|skill| skill["uri"].as_str().expect("a URI")) {
        assert_eq!(entry(&server, uri).await["uri"], json!(uri));
    }
}

#[tokio::test]
async fn no_variant_of_a_uri_is_the_skill_srv_71() {
    let (_folder, server) = serve_pdf().await;
    for method in ["skills/get", "resources/read"] {
        for variant in [
            "skill://acme/pdf/%53KILL.md",
            "skill://acme/%70df/SKILL.md",
            "skill://acme%2Fpdf/SKILL.md",
            "skill://acme/pdf%2FSKILL.md",
            "skill://acme/./pdf/SKILL.md",
            "skill://acme/x/../pdf/SKILL.md",
            "skill://acme/pdf/references/../SKILL.md",
            "skill://acme//pdf/SKILL.md",
            "skill://acme/pdf/SKILL.md/",
            "skill://acme/pdf/SKILL.md?",
            "skill://acme/pdf/SKILL.md?v=1",
            "skill://acme/pdf/SKILL.md#",
            "skill://acme/pdf/SKILL.md#top",
            "SKILL://acme/pdf/SKILL.md",
            "Skill://acme/pdf/SKILL.md",
            "skill://ACME/pdf/SKILL.md",
            "skill://acme/PDF/SKILL.md",
            "skill://acme/pdf/skill.md",
            "skill://acme:80/pdf/SKILL.md",
            "skill://me@acme/pdf/SKILL.md",
            "skill:acme/pdf/SKILL.md",
            "skill:/acme/pdf/SKILL.md",
            "skill:///acme/pdf/SKILL.md",
            " skill://acme/pdf/SKILL.md",
            "skill://acme/pdf/SKILL.md ",
            "skill://acme/pdf/SKILL.md\n",
            "skill://acme/pdf/SKILL.md\0",
            "skill://acme\\pdf\\SKILL.md",
            "<skill://acme/pdf/SKILL.md>",
        ] {
            refused(&server, method, variant).await;
        }
    }
    assert_eq!(entry(&server, PDF).await["uri"], PDF);
}

#[tokio::test]
async fn what_a_caller_may_not_see_is_an_unknown_skill_to_it_srv_66() {
    let options = TestOptions { tokens: Some(TOKENS.to_owned()), ..TestOptions::default() };
    let server = TestServer::with_sources(vec![in_memory(["secret"])], options).await;
    let ask = |uri: &str| json!({ "uri": uri });
    let uri = "skill://secret/SKILL.md";
    let hidden = server.modern_with(&[BOB], "skills/get", ask(uri)).await.message();
    let unknown = server.modern_with(&[BOB], "skills/get", ask("skill://x/SKILL.md")).await;
    assert_eq!(
        hidden.0.to_string().replace(uri, "URI"),
        unknown.message().0.to_string().replace("skill://x/SKILL.md", "URI")
    );
    let seen = server.modern_with(&[ALICE], "skills/get", ask(uri)).await.message();
    assert_eq!(seen.result()["skill"]["uri"], uri);
}
