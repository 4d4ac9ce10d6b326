//! `skill://index.json` and `resources/list` below a URI.

use serde_json::{Value, json};
use skillwire_source::GeneratedFiles;
use skillwire_testkit::{SkillFolder, TestServer, skill_md};

use super::{LEGACY_NOT_FOUND, Legacy, REFUNDS, fixture, options};
use crate::support::{INVALID_PARAMS, generated, in_memory, keys, text};

const INDEX: &str = "skill://index.json";

fn names(index: &Value) -> Vec<String> {
    let skills = index["skills"].as_array().expect("skills");
    skills.iter().map(|skill| text(&skill["name"])).collect()
}

#[tokio::test]
async fn one_document_serves_every_form_of_the_index_c_11_c_14_c_15_c_16_d2_d3_p_19() {
    let (_folder, legacy) = fixture(&[]).await;
    let index = legacy.json(INDEX).await;
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let refunds = &index["skills"][0];
    assert_eq!(
        keys(refunds),
        [
            "archives",
            "description",
            "digest",
            "frontmatter",
            "name",
            "resources",
            "type",
            "uri",
            "url"
        ]
    );
    assert_eq!((&refunds["type"], &refunds["url"]), (&json!("skill-md"), &json!(REFUNDS)));
    assert_eq!(refunds["digest"], refunds["resources"][0]["digest"]);
    let urls: Vec<_> =
        refunds["archives"].as_array().unwrap().iter().map(|a| text(&a["url"])).collect();
    let root = REFUNDS.strip_suffix("/SKILL.md").unwrap();
    assert_eq!(urls, [format!("{root}.tar.gz"), format!("{root}.zip")]);
    for archive in refunds["archives"].as_array().unwrap() {
        let read = legacy.call("resources/read", json!({ "uri": archive["url"] })).await;
        assert_eq!(archive["size"], crate::support::content(&read).len());
    }
    assert!(index["skills"][1].get("archives").is_none(), "one file needs no archive");
    // The entry is that of the extension, with more members around it.
    let entry = legacy.server.call("skills/get", json!({ "uri": REFUNDS })).await;
    assert_eq!(refunds["frontmatter"], entry["skill"]["frontmatter"]);
    assert_eq!(refunds["resources"], entry["skill"]["resources"]);
}

#[tokio::test]
async fn strict_reads_the_index_without_archives_and_does_not_list_it_d2() {
    let (_folder, legacy) = fixture(&[]).await;
    let read = crate::support::read(&legacy.server, INDEX).await;
    let index: Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(names(&index), ["refunds", "git-workflow"]);
    assert!(index["skills"][0].get("archives").is_none());
    let listed = legacy.server.call("resources/list", json!({})).await;
    assert_eq!(listed["resources"].as_array().unwrap().len(), 2);
    let archive = json!({ "uri": "skill://acme/billing/refunds.zip" });
    assert_eq!(legacy.server.modern("resources/read", archive).await.code(), INVALID_PARAMS);
}

#[tokio::test]
async fn an_index_that_is_switched_off_is_not_there_d2() {
    let (_folder, legacy) = fixture(&["index=off", "archives=off"]).await;
    for uri in [INDEX, "skill://acme/billing/refunds.zip"] {
        let reply = legacy.send("resources/read", json!({ "uri": uri })).await;
        assert_eq!(reply.code(), LEGACY_NOT_FOUND, "{uri}");
    }
    assert!(!legacy.listed().await.contains(&INDEX.to_owned()));
}

#[tokio::test]
async fn a_nested_skill_is_in_the_list_and_in_the_index_only_on_demand_c_17() {
    let folder = SkillFolder::with_skills(&["outer", "outer/inner"]);
    let legacy = Legacy::start(&folder, &[]).await;
    assert_eq!(names(&legacy.json(INDEX).await), ["outer"]);
    assert_eq!(legacy.server.skills().await.len(), 2);
    let index = legacy.json(INDEX).await;
    let files = index["skills"][0]["resources"].as_array().unwrap();
    assert!(files.iter().any(|file| file["uri"] == "skill://outer/inner/SKILL.md"));
    let legacy = Legacy::start(&folder, &["index-nested=on"]).await;
    assert_eq!(names(&legacy.json(INDEX).await), ["outer", "inner"]);
}

#[tokio::test]
async fn templates_come_last_and_only_on_demand_c_12_c_13() {
    let (_folder, legacy) = fixture(&["index-templates=on"]).await;
    let index = legacy.json(INDEX).await;
    let last = index["skills"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "mcp-resource-template");
    assert_eq!(last["url"], "skill://{+skillPath}/SKILL.md");
    assert!(last.get("urlTemplate").is_none() && last.get("name").is_none());
}

#[tokio::test]
async fn a_generated_skill_has_an_address_and_no_digest_d2() {
    let files = GeneratedFiles::new().file("SKILL.md", || skill_md("daily"));
    let sources = vec![generated("reports/daily", files), in_memory(["a"])];
    let server = TestServer::with_sources(sources, options(&[])).await;
    let (session, _) = server.initialize("2025-11-25").await;
    let reply = server.legacy(&session, "resources/read", json!({ "uri": INDEX })).await;
    let text = crate::support::content(reply.message().result());
    let index: Value = serde_json::from_slice(&text).unwrap();
    let daily = &index["skills"][1];
    assert_eq!(keys(daily), ["description", "frontmatter", "name", "type", "uri"]);
}

#[tokio::test]
async fn resources_are_listed_below_a_uri_c_41_d4() {
    let (_folder, legacy) = fixture(&[]).await;
    for (uri, expected) in [
        ("skill://", vec![REFUNDS, "skill://git-workflow/SKILL.md"]),
        (
            "skill://acme/billing/refunds/",
            vec![
                REFUNDS,
                "skill://acme/billing/refunds/examples",
                "skill://acme/billing/refunds/scripts",
            ],
        ),
        ("skill://acme/billing", vec!["skill://acme/billing/refunds"]),
        (
            "skill://acme/billing/refunds/scripts",
            vec!["skill://acme/billing/refunds/scripts/calc.py"],
        ),
    ] {
        let old = legacy.call("resources/list", json!({ "uri": uri })).await;
        let new = legacy.server.call("resources/list", json!({ "uri": uri })).await;
        assert_eq!(old["resources"], new["resources"], "{uri}");
        let items = old["resources"].as_array().unwrap();
        let found: Vec<_> = items.iter().map(|item| text(&item["uri"])).collect();
        assert_eq!(found, expected, "{uri}");
    }
    for unknown in ["skill://nope", "skill://nope/", REFUNDS, "skill://acme/../x", "x", ""] {
        let params = json!({ "uri": unknown });
        let old = legacy.code("resources/list", params.clone()).await;
        let new = legacy.server.modern("resources/list", params).await.code();
        assert_eq!((old, new), (LEGACY_NOT_FOUND, INVALID_PARAMS), "{unknown}");
    }
    assert_eq!(legacy.code("resources/list", json!({ "uri": 5 })).await, INVALID_PARAMS);
}

#[tokio::test]
async fn a_scope_has_pages_and_cursors_of_its_own_c_41() {
    let folder = SkillFolder::with_skills(&["a", "b", "c", "x/d"]);
    let mut options = options(&[]);
    options.config.page_size = 2;
    let legacy = Legacy::with(&folder, options).await;
    let all = legacy.all("resources/list", json!({ "uri": "skill://" }), "resources").await;
    let uris: Vec<_> = all.iter().map(|item| text(&item["uri"])).collect();
    assert_eq!(uris.len(), 4);
    assert!(uris.iter().all(|uri| uri.ends_with("/SKILL.md")), "only skills: {uris:?}");
    let first = legacy.call("resources/list", json!({ "uri": "skill://" })).await;
    let elsewhere = json!({ "cursor": first["nextCursor"] });
    assert_eq!(legacy.code("resources/list", elsewhere).await, INVALID_PARAMS);
}
