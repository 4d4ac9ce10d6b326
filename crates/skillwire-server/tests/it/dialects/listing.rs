//! `resources/list` with the additions of dialects.

use serde_json::json;
use skillwire_catalog::SnapshotOptions;
use skillwire_server::dialect::ALIAS_OF;
use skillwire_testkit::reference_skills;

use super::{Legacy, REFUNDS, fixture, options};
use crate::support::{digest, text};

#[tokio::test]
async fn a_manifest_lists_what_the_entry_lists_c_22_c_39_d7() {
    let (_folder, legacy) = fixture(&[]).await;
    let manifest = legacy.json("skill://acme/billing/refunds/_manifest").await;
    assert_eq!(manifest["skill"], "refunds");
    let files = manifest["files"].as_array().unwrap();
    let found: Vec<_> =
        files.iter().map(|file| (text(&file["path"]), text(&file["hash"]))).collect();
    let expected = reference_skills::FILES[..3].iter().map(|(path, _, digest)| {
        let path = path.strip_prefix("acme/billing/refunds/").unwrap();
        (path.to_owned(), (*digest).to_owned())
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    // It belongs to no entry and no directory, and the modern era does not have it at all.
    let entry = legacy.call("skills/get", json!({ "uri": REFUNDS })).await;
    assert!(!entry.to_string().contains("_manifest"));
    let root = json!({ "uri": "skill://acme/billing/refunds" });
    let children = legacy.call("resources/directory/read", root).await;
    assert!(!children.to_string().contains("_manifest"));
    crate::support::refused(
        &legacy.server,
        "resources/read",
        "skill://acme/billing/refunds/_manifest",
    )
    .await;
}

#[tokio::test]
async fn a_real_file_of_that_name_is_that_file_and_nothing_else_c_22() {
    let folder = reference_skills::folder();
    folder.file("git-workflow/_manifest", "mine");
    let legacy = Legacy::start(&folder, &[]).await;
    assert_eq!(legacy.text("skill://git-workflow/_manifest").await, "mine");
    let listed = legacy.listed().await;
    assert!(!listed.contains(&"skill://git-workflow/_manifest".to_owned()));
    assert!(listed.contains(&"skill://acme/billing/refunds/_manifest".to_owned()));
    let entry = legacy.json("skill://acme/billing/refunds/_manifest").await;
    assert_eq!(entry["files"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn both_disclosure_modes_d7() {
    let (_folder, legacy) = fixture(&[]).await;
    let templates = legacy.all("resources/templates/list", json!({}), "resourceTemplates").await;
    let per_skill: Vec<_> = templates
        .iter()
        .filter(|template| text(&template["uriTemplate"]).ends_with("/{path*}"))
        .map(|template| text(&template["name"]))
        .collect();
    assert_eq!(per_skill, ["refunds_files", "git-workflow_files"]);

    let folder = reference_skills::folder();
    let mut options = options(&[]);
    options.snapshot = SnapshotOptions::default().list_files(true);
    let legacy = Legacy::with(&folder, options).await;
    let listed = legacy.listed().await;
    for file in ["examples/email.md", "scripts/calc.py", "SKILL.md", "_manifest"] {
        assert!(listed.contains(&format!("skill://acme/billing/refunds/{file}")), "{file}");
    }
    let templates = legacy.all("resources/templates/list", json!({}), "resourceTemplates").await;
    assert!(!json!(templates).to_string().contains("path*"));
}

#[tokio::test]
async fn skills_come_first_then_documents_then_aliases_on_any_page_c_40() {
    let folder = reference_skills::folder();
    let every = ["skilljack=on", "skills-over-mcp=on"];
    let expected = [
        REFUNDS,
        "skill://git-workflow/SKILL.md",
        "skill://index.json",
        "skill://index",
        "skill://prompt-xml",
        "skill://acme/billing/refunds/_manifest",
        "skill://refunds",
        "skill://refunds/",
        "skill://refunds/documents",
        "skill://refunds/document/examples/email.md",
        "skill://refunds/document/scripts/calc.py",
        "skill://git-workflow/_manifest",
        "skill://git-workflow",
        "skill://git-workflow/",
    ];
    for page_size in 1..=15 {
        let mut options = options(&every);
        options.config.page_size = page_size;
        let legacy = Legacy::with(&folder, options).await;
        assert_eq!(legacy.listed().await, expected, "pages of {page_size}");
    }
    let legacy = Legacy::start(&folder, &every).await;
    let all = legacy.all("resources/list", json!({}), "resources").await;
    let priority = |uri: &str| {
        let item = all.iter().find(|item| item["uri"] == uri).unwrap();
        (item["annotations"]["priority"].clone(), item["_meta"][ALIAS_OF].clone())
    };
    assert_eq!(priority(REFUNDS), (json!(0.8), json!(null)));
    assert_eq!(priority("skill://index.json").0, json!(0.5));
    for alias in ["skill://refunds", "skill://refunds/", "skill://acme/billing/refunds/_manifest"] {
        assert_eq!(priority(alias), (json!(0.1), json!(REFUNDS)), "{alias}");
    }
    // A client can read everything that is listed.
    for item in &all {
        legacy.read(&text(&item["uri"])).await;
    }
    let strict = legacy.server.call("resources/list", json!({})).await;
    assert_eq!(strict["resources"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn flat_addresses_lead_to_nested_skills_on_legacy_alone_c_26() {
    let (_folder, legacy) = fixture(&[]).await;
    let text = legacy.text("skill://refunds/SKILL.md").await;
    assert_eq!(digest(text.as_bytes()), reference_skills::FILES[0].2);
    assert_eq!(legacy.text("skill://refunds/scripts/calc.py").await, reference_skills::FILES[2].1);
    assert_eq!(legacy.json("skill://refunds/_manifest").await["skill"], "refunds");
    for uri in ["skill://refunds/SKILL.md", "skill://refunds/_manifest"] {
        crate::support::refused(&legacy.server, "resources/read", uri).await;
        assert!(!legacy.listed().await.contains(&uri.to_owned()));
    }
}
