//! Templates of every era, and the values of their variables.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use super::{Legacy, fixture};
use crate::support::{INVALID_PARAMS, text};

async fn templates(legacy: &Legacy) -> Vec<String> {
    let all = legacy.all("resources/templates/list", json!({}), "resourceTemplates").await;
    all.iter().map(|template| text(&template["uriTemplate"])).collect()
}

fn complete(template: &str, variable: &str, typed: &str, known: &Value) -> Value {
    json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": variable, "value": typed },
        "context": { "arguments": known },
    })
}

async fn values(legacy: &Legacy, params: Value) -> Value {
    legacy.call("completion/complete", params).await["completion"]["values"].clone()
}

#[tokio::test]
async fn templates_are_those_of_the_dialects_that_are_spoken_c_45_d12() {
    let own = ["skill://{+skillPath}/SKILL.md", "skill://{+skillPath}/{+filePath}"];
    let (_folder, plain) = fixture(&["fastmcp=off"]).await;
    assert_eq!(templates(&plain).await, own);
    let (_folder, every) = fixture(&["fastmcp=off", "skilljack=on", "skills-over-mcp=on"]).await;
    let more = [
        "skill://{skillName}",
        "skill://{skillName}/",
        "skill://{skillName}/{+filePath}",
        "skill://lookup/{name}",
        "skill://{skillName}/document/{+documentPath}",
    ];
    assert_eq!(templates(&every).await, [&own[..], &more].concat());
    let strict = every.server.call("resources/templates/list", json!({})).await;
    assert_eq!(strict["resourceTemplates"].as_array().unwrap().len(), 2);
    let (_folder, none) = fixture(&["fastmcp=off", "templates=off"]).await;
    assert_eq!(templates(&none).await, [""; 0]);
    let own = complete(own[0], "skillPath", "", &json!({}));
    assert_eq!(none.code("completion/complete", own).await, INVALID_PARAMS);
}

#[tokio::test]
async fn names_and_paths_are_completed_d12() {
    let (_folder, legacy) = fixture(&["skilljack=on", "skills-over-mcp=on"]).await;
    for (template, variable, typed, known, expected) in [
        ("skill://{skillName}", "skillName", "REF", json!({}), json!(["refunds"])),
        ("skill://{skillName}/", "skillName", "", json!({}), json!(["git-workflow", "refunds"])),
        ("skill://lookup/{name}", "name", "git", json!({}), json!(["git-workflow"])),
        (
            "skill://{skillName}/{+filePath}",
            "filePath",
            "s",
            json!({ "skillName": "refunds" }),
            json!(["scripts/calc.py"]),
        ),
        // Only a skill that has documents, and nothing without knowing which skill.
        (
            "skill://{skillName}/document/{+documentPath}",
            "skillName",
            "",
            json!({}),
            json!(["refunds"]),
        ),
        ("skill://{skillName}/document/{+documentPath}", "documentPath", "", json!({}), json!([])),
        (
            "skill://{skillName}/document/{+documentPath}",
            "documentPath",
            "",
            json!({ "skillName": "refunds" }),
            json!(["examples/email.md", "scripts/calc.py"]),
        ),
        (
            "skill://acme/billing/refunds/{path*}",
            "path",
            "ex",
            json!({}),
            json!(["examples/email.md"]),
        ),
    ] {
        let params = complete(template, variable, typed, &known);
        assert_eq!(values(&legacy, params).await, expected, "{template} {variable} {typed}");
    }
    for (template, variable) in
        [("skill://{skillName}", "filePath"), ("skill://{nope}", "nope"), ("", "skillName")]
    {
        let params = complete(template, variable, "", &json!({}));
        assert_eq!(legacy.code("completion/complete", params).await, INVALID_PARAMS, "{template}");
    }
}

#[tokio::test]
async fn a_completion_has_a_hundred_values_at_most_and_templates_have_pages_d12() {
    let folder = SkillFolder::new();
    for number in 0..150 {
        folder.skill(&format!("s{number:03}"));
    }
    let legacy = Legacy::start(&folder, &["skilljack=on"]).await;
    let params = complete("skill://{skillName}", "skillName", "s", &json!({}));
    let completion = legacy.call("completion/complete", params).await["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["hasMore"], true);
    assert_eq!(templates(&legacy).await.len(), 2 + 3 + 150);
}
