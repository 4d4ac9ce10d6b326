//! `check --compare reference`.

use serde_json::json;
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{run, skill_with};

fn folder() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["clean"]);
    let uneven = "metadata:\n  one:\n    two: x\n  three:\n      four: x\n";
    folder
        .file("keys/SKILL.md", skill_with("keys", "colour: red\nlicense: no\n"))
        .file("secret/.env", "TOKEN=1\n")
        .file("secret/SKILL.md", skill_md("secret"))
        .file("uneven/SKILL.md", skill_with("uneven", uneven));
    folder
}

#[tokio::test]
async fn each_finding_says_whether_the_reference_validator_raises_it() {
    let ran = run(&folder(), &["check", "--compare", "reference", "."]).await.assert_exit(1);
    insta::assert_snapshot!(ran.stdout);
}

#[tokio::test]
async fn json_lists_what_the_reference_validator_would_raise() {
    let report = run(&folder(), &["check", "--compare", "reference", "--json", "."])
        .await
        .assert_exit(1)
        .json();
    let verdicts: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["code"].as_str().unwrap(), finding["reference"].as_str().unwrap()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("unknown-key", "raised"),
            ("yaml-ambiguous-scalar", "missed"),
            ("secret-file", "missed"),
            ("metadata-value", "missed"),
            ("metadata-value", "missed"),
        ]
    );
    let refused = &report["reference"]["refused"];
    assert_eq!(refused[0]["origin"], "./keys");
    assert_eq!(refused[0]["complaints"][0]["code"], "unknown-key");
    assert_eq!(refused[0]["complaints"][0]["reported"], true);
    assert_eq!(refused[1]["origin"], "./uneven");
    assert_eq!(refused[1]["complaints"][0]["code"], json!(null));
    assert_eq!(refused[1]["complaints"][0]["reported"], false);
    let plain = run(&folder(), &["check", "--json", "."]).await.assert_exit(1).json();
    assert_eq!(plain.get("reference"), None);
    assert_eq!(plain["findings"][0].get("reference"), None);
}
