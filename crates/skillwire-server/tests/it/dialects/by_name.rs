//! Skills by their names: SEP-2076 and the "Skills" page.

use serde_json::json;
use skillwire_testkit::SkillFolder;

use super::{LEGACY_NOT_FOUND, Legacy, REFUNDS, fixture, twins};
use crate::support::{INVALID_PARAMS, digest, keys, text};

#[tokio::test]
async fn one_entry_serves_three_dialects_and_strict_has_only_its_own_c_05_c_06() {
    let (_folder, legacy) = fixture(&[]).await;
    let listed = legacy.call("skills/list", json!({})).await;
    for member in ["resultType", "ttlMs", "cacheScope"] {
        assert!(listed.get(member).is_none());
    }
    let refunds = &listed["skills"][0];
    assert_eq!(
        keys(refunds),
        [
            "annotations",
            "description",
            "frontmatter",
            "keywords",
            "name",
            "resources",
            "tags",
            "uri",
            "version"
        ]
    );
    assert_eq!((text(&refunds["uri"]).as_str(), &refunds["name"]), (REFUNDS, &json!("refunds")));
    assert_eq!(refunds["version"], "2.1.0");
    assert_eq!(refunds["annotations"], json!({ "audience": ["assistant"], "priority": 0.8 }));
    let modern = legacy.server.call("skills/list", json!({})).await;
    assert_eq!(keys(&modern["skills"][0]), ["frontmatter", "resources", "uri"]);
    assert_eq!(modern["skills"][0]["resources"], refunds["resources"]);
    assert_eq!(modern["resultType"], "complete");
}

#[tokio::test]
async fn pages_are_whole_and_one_skill_is_the_entry_of_the_list_c_07_c_09() {
    let folder = SkillFolder::with_skills(&["a", "b", "c"]);
    let mut options = super::options(&[]);
    options.config.page_size = 1;
    let legacy = Legacy::with(&folder, options).await;
    let all = legacy.all("skills/list", json!({}), "skills").await;
    assert_eq!(all.len(), 3);
    for entry in all {
        let got = legacy.call("skills/get", json!({ "uri": entry["uri"] })).await;
        assert_eq!(got["skill"], entry);
        assert_eq!(keys(&got), ["skill"]);
    }
}

#[tokio::test]
async fn parameters_decide_which_dialect_is_spoken_c_08() {
    let (_folder, legacy) = fixture(&[]).await;
    let both = json!({ "uri": REFUNDS, "name": "refunds" });
    for (params, legacy_works, strict_works) in [
        (json!({}), false, false),
        (json!({ "uri": REFUNDS }), true, true),
        (json!({ "name": "refunds" }), true, false),
        (both, false, true),
    ] {
        let old = legacy.send("skills/get", params.clone()).await;
        let new = legacy.server.modern("skills/get", params.clone()).await;
        for (reply, works) in [(old, legacy_works), (new, strict_works)] {
            if works {
                reply.result();
            } else {
                assert_eq!(reply.code(), INVALID_PARAMS, "{params}");
            }
        }
    }
    let strict = legacy.server.modern("skills/get", json!({ "name": "refunds" })).await;
    assert!(strict.message().contains("`params.uri` is required"), "{}", strict.message());
}

#[tokio::test]
async fn a_skill_by_name_is_its_instructions_and_its_files_d5() {
    let (_folder, legacy) = fixture(&[]).await;
    let got = legacy.call("skills/get", json!({ "name": "refunds" })).await;
    assert_eq!(keys(&got), ["description", "files", "instructions"]);
    let body = "# Refunds\n\n1. Run `scripts/calc.py`.\n2. Answer with `examples/email.md`.\n";
    assert_eq!(got["instructions"], body);
    let files = got["files"].as_array().unwrap();
    let uris: Vec<_> = files.iter().map(|file| text(&file["uri"])).collect();
    for (uri, expected) in uris.iter().zip(["examples/email.md", "scripts/calc.py"]) {
        assert!(uri.ends_with(expected), "{uri}");
        legacy.read(uri).await;
    }
    assert_eq!(files[1]["name"], "calc.py");
    assert_eq!(files[0]["mimeType"], "text/markdown");
    let unknown = legacy.send("skills/get", json!({ "name": "nope" })).await;
    assert_eq!(unknown.code(), INVALID_PARAMS);
    assert_eq!(unknown.0["error"]["data"], json!({ "name": "nope" }));
}

const WITH_EVERYTHING: &str = "---\nname: full\ndescription: Does it. Use when needed.\nmetadata:\n  \
    title: Everything\n  tags: a, b\n  version: \"3\"\n  lastModified: \"2026-01-15T10:30:00Z\"\n  \
    arguments: '[{\"name\":\"country\",\"description\":\"Where.\",\"required\":true}]'\n  \
    dependencies: '{\"tools\":[\"gone\"],\"resources\":[{\"type\":\"ref/resource\",\"uri\":\"skill://full/x.md\"},{\"type\":\"ref/resource\",\"uri\":\"skill://none/x.md\"}]}'\n\
    ---\n\nGo to {{country}}. See [the list](x.md).\n";

#[tokio::test]
async fn metadata_becomes_arguments_tags_and_a_title_d5() {
    let folder = SkillFolder::new();
    folder.file("full/SKILL.md", WITH_EVERYTHING).file("full/x.md", "x").file("full/y.md", "y");
    let legacy = Legacy::start(&folder, &[]).await;
    let listed = legacy.call("skills/list", json!({})).await;
    let entry = &listed["skills"][0];
    assert_eq!(entry["title"], "Everything");
    assert_eq!((&entry["tags"], &entry["keywords"]), (&json!(["a", "b"]), &json!(["a", "b"])));
    assert_eq!(entry["annotations"]["lastModified"], "2026-01-15T10:30:00Z");
    let declared = json!([{ "name": "country", "description": "Where.", "required": true }]);
    assert_eq!(entry["arguments"], declared);

    let get = async |arguments| {
        legacy.send("skills/get", json!({ "name": "full", "arguments": arguments })).await
    };
    let got = get(json!({ "country": "DE {{country}}" })).await.result().clone();
    assert_eq!(got["instructions"], "Go to DE { {country}}. See [the list](x.md).\n");
    let required: Vec<_> =
        got["files"].as_array().unwrap().iter().map(|f| &f["required"]).collect();
    assert_eq!(required, [&json!(true), &json!(false)]);
    for bad in [json!({}), json!({ "country": 5 }), json!([]), json!({ "country": "", "x": "" })] {
        assert_eq!(get(bad.clone()).await.code(), INVALID_PARAMS, "{bad}");
    }
}

#[tokio::test]
async fn dependencies_are_those_of_the_same_server_and_missing_ones_are_found_at_start_c_47() {
    let folder = SkillFolder::new();
    folder.file("full/SKILL.md", WITH_EVERYTHING).file("full/x.md", "x");
    let legacy = Legacy::start(&folder, &[]).await;
    let listed = legacy.call("skills/list", json!({})).await;
    let expected = json!({
        "tools": [],
        "resources": [{ "type": "ref/resource", "uri": "skill://full/x.md" }],
    });
    assert_eq!(listed["skills"][0]["dependencies"], expected);
    let engine = legacy.server.engine();
    let missing = engine.missing_dependencies();
    let names: Vec<_> = missing.iter().map(|m| (m.kind, m.name.as_str())).collect();
    assert_eq!(names, [("tool", "gone"), ("resource", "skill://none/x.md")]);
    assert!(missing[0].to_string().contains("`skill://full/SKILL.md` depends on the tool `gone`"));
}

#[tokio::test]
async fn a_skill_is_read_with_its_scripts_references_and_assets_d6() {
    let (folder, mut legacy) = fixture(&[]).await;
    folder.file("acme/billing/refunds/assets/logo.png", [0x89, 0x50, 0xff]);
    legacy.server.refresh();
    let read = legacy.call("skills/read", json!({ "name": "refunds" })).await;
    let skill = &read["skill"];
    assert_eq!(skill["name"], "refunds");
    assert!(text(&skill["instructions"]).starts_with("# Refunds\n"));
    for (kind, path) in [
        ("scripts", "scripts/calc.py"),
        ("references", "examples/email.md"),
        ("assets", "assets/logo.png"),
    ] {
        let items = skill[kind].as_array().unwrap();
        assert_eq!(items.len(), 1, "{kind}");
        assert_eq!(items[0]["path"], path);
        assert_eq!(keys(&items[0]), ["description", "name", "path"]);
    }
    assert_eq!(skill["metadata"], json!({ "license": "Apache-2.0", "version": "2.1.0" }));
    assert_eq!(skill["annotations"]["priority"], 0.8);

    for reference in ["examples/email.md", "email.md", "email"] {
        let asked = json!({ "name": "refunds", "reference": reference });
        let content = legacy.call("skills/read_reference", asked).await["content"].clone();
        assert_eq!(content["uri"], "skill://acme/billing/refunds/examples/email.md");
        assert_eq!(content["text"], "Hello,\n\nyour refund is on its way.\n");
    }
    let logo = json!({ "name": "refunds", "reference": "logo" });
    let content = legacy.call("skills/read_reference", logo).await;
    assert_eq!(content["content"]["blob"], "iVD/");
}

#[tokio::test]
async fn has_codes_of_its_own_for_what_is_not_there_c_28_d6() {
    let (_folder, legacy) = fixture(&[]).await;
    let unknown = legacy.send("skills/read", json!({ "name": "nope" })).await;
    assert_eq!(unknown.code(), LEGACY_NOT_FOUND);
    assert_eq!(unknown.0["error"]["data"], json!({ "name": "nope" }));
    for reference in ["nope", "../SKILL.md", "", "examples", "%2e%2e/SKILL.md"] {
        let asked = json!({ "name": "refunds", "reference": reference });
        assert_eq!(legacy.code("skills/read_reference", asked).await, -32004, "{reference}");
    }
    assert_eq!(legacy.code("skills/read", json!({})).await, INVALID_PARAMS);
    let halves = json!({ "name": "refunds" });
    assert_eq!(legacy.code("skills/read_reference", halves).await, INVALID_PARAMS);
}

#[tokio::test]
async fn a_name_that_two_skills_have_is_neither_ones() {
    let folder = twins();
    let legacy = Legacy::start(&folder, &["skilljack=on", "skills-over-mcp=on"]).await;
    let all = legacy.all("skills/list", json!({}), "skills").await;
    let names: Vec<_> = all.iter().map(|entry| text(&entry["name"])).collect();
    assert_eq!(names, ["billing-refunds", "other", "support-refunds"]);
    let candidates =
        json!(["skill://billing/refunds/SKILL.md", "skill://support/refunds/SKILL.md"]);
    for (method, code) in [("skills/get", INVALID_PARAMS), ("skills/read", LEGACY_NOT_FOUND)] {
        let reply = legacy.send(method, json!({ "name": "refunds" })).await;
        assert_eq!(reply.code(), code, "{method}");
        assert_eq!(reply.0["error"]["data"]["candidates"], candidates);
        for name in ["billing-refunds", "support-refunds", "other"] {
            legacy.call(method, json!({ "name": name })).await;
        }
    }
    let bare = json!({ "uri": "skill://refunds" });
    assert_eq!(legacy.code("resources/read", bare).await, LEGACY_NOT_FOUND);
    legacy.read("skill://billing-refunds").await;
    // The extension itself has both, each under its own URI.
    assert_eq!(legacy.server.skills().await.len(), 3);
}

#[tokio::test]
async fn longer_names_never_take_the_name_of_another_skill() {
    let folder = SkillFolder::with_skills(&[
        "a/b/c",
        "x/c",
        "b-c",
        "c",
        "Team One/c",
        "deep/a/b/c/d/e",
        "e",
    ]);
    let long = format!("{}/{}", "l".repeat(40), "m".repeat(40));
    folder.skill(&format!("{long}/c"));
    let legacy = Legacy::start(&folder, &[]).await;
    let all = legacy.all("skills/list", json!({}), "skills").await;
    let mut names = std::collections::BTreeMap::new();
    for entry in &all {
        let (name, uri) = (text(&entry["name"]), text(&entry["uri"]));
        assert!(names.insert(name.clone(), uri.clone()).is_none(), "{name} twice");
        let got = legacy.call("skills/read", json!({ "name": name })).await;
        assert_eq!(got["skill"]["description"], entry["description"], "{name}");
    }
    // `b-c` is the name of another skill, so `a/b/c` needs one more segment.
    assert_eq!(names["a-b-c"], "skill://a/b/c/SKILL.md");
    assert_eq!(names["b-c"], "skill://b-c/SKILL.md");
    assert_eq!(names["team-one-c"], "skill://Team%20One/c/SKILL.md");
    // A skill without a path gets digits of its URI instead.
    let digits = &digest(b"skill://c/SKILL.md")["sha256:".len()..][..8];
    assert_eq!(names[&format!("c-{digits}")], "skill://c/SKILL.md");
    let long = names.keys().find(|name| name.contains("mmm")).expect("a long name");
    assert!(long.len() <= 64, "{long}");
    assert!(!names.contains_key("c") && !names.contains_key("e"));
}

#[tokio::test]
async fn an_author_decides_about_audience_priority_and_the_words_about_files_p_07_p_08() {
    let folder = SkillFolder::new();
    let files = r#"{"scripts/calc.py": "Computes the amount.", "a.md": {"title": "Model answer"}}"#;
    let text = format!(
        "---\nname: refunds\ndescription: Refunds. Use when money goes back.\npriority: 0.3\n\
         metadata:\n  audience: user\n  files: '{files}'\n---\n\nSee [the policy](policy.md).\n"
    );
    folder.file("refunds/SKILL.md", text);
    folder.file("refunds/scripts/calc.py", "print(1)\n");
    folder.file("refunds/a.md", "# A\n").file("refunds/policy.md", "# P\n");
    folder.skill("plain");
    let legacy = Legacy::with(&folder, super::options(&[])).await;
    let annotations = json!({ "audience": ["user"], "priority": 0.3 });
    let listed = legacy.call("skills/list", json!({})).await;
    assert_eq!(listed["skills"][1]["annotations"], annotations);
    // Resources have them in both eras; without any, only legacy clients get a priority.
    let modern = legacy.server.call("resources/list", json!({})).await;
    assert_eq!(modern["resources"][1]["annotations"], annotations);
    assert!(modern["resources"][0].get("annotations").is_none());
    let resources = legacy.call("resources/list", json!({})).await;
    assert_eq!(resources["resources"][0]["annotations"], json!({ "priority": 0.8 }));
    assert_eq!(resources["resources"][1]["annotations"], annotations);

    let got = legacy.call("skills/get", json!({ "name": "refunds" })).await;
    let files = got["files"].as_array().unwrap();
    let words = |name: &str| {
        let file = files.iter().find(|file| file["name"] == name).unwrap();
        (file["title"].as_str(), file["description"].as_str())
    };
    assert_eq!(words("calc.py"), (None, Some("Computes the amount.")));
    assert_eq!(words("a.md"), (Some("Model answer"), None));
    assert_eq!(words("policy.md"), (Some("the policy"), None));
    let page = legacy.call("skills/read", json!({ "name": "refunds" })).await;
    assert_eq!(page["skill"]["scripts"][0]["description"], "Computes the amount.");
    assert_eq!(page["skill"]["references"][0]["description"], "Model answer");
}
