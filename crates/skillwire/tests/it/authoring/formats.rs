//! The formats in which programs read findings.

use serde_json::{Value, json};
use skillwire_core::Code;
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{run, skill_with};

/// A folder with findings of every level, with and without a position.
fn troubled() -> SkillFolder {
    let folder = SkillFolder::new();
    folder
        .file("a b/SKILL.md", "---\nname: a\ndescription: Does: é things.\n---\n")
        .file("b/SKILL.md", skill_with("b", "colour: red\n"))
        .file("b/.hidden", "")
        .file("c/SKILL.md", "---\nname: c\ndescription: Reads files.\n---\n");
    folder
}

#[tokio::test]
async fn sarif_has_what_the_schema_requires() {
    let log = run(&troubled(), &["check", "--format", "sarif", "."]).await.assert_exit(1).json();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().ends_with("sarif-2.1.0.json"));
    let [run] = log["runs"].as_array().unwrap().as_slice() else { panic!("{log}") };
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "skillwire");
    let rules = driver["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        let code = Code::parse(rule["id"].as_str().unwrap()).unwrap();
        assert_eq!(rule["shortDescription"]["text"], json!(code.summary()));
        assert_eq!(rule["help"]["markdown"], json!(code.page()));
        for level in [&result["level"], &rule["defaultConfiguration"]["level"]] {
            assert!(["error", "warning", "note"].contains(&level.as_str().unwrap()), "{result}");
        }
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.starts_with("./") && !uri.contains(' '), "{uri}");
        if let Some(region) = place["region"].as_object() {
            assert!(region.values().all(|number| number.as_u64().unwrap() > 0), "{result}");
        }
    }
    let colon = find(results, "yaml-unquoted-colon");
    let place = &colon["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/SKILL.md");
    let region = json!({ "startLine": 3, "startColumn": 14, "endLine": 3, "endColumn": 29 });
    assert_eq!(place["region"], region);
    let hidden = find(results, "hidden-file");
    assert_eq!(hidden["level"], "note");
    assert_eq!(hidden["locations"][0]["physicalLocation"].get("region"), None);
}

fn find<'a>(results: &'a [Value], code: &str) -> &'a Value {
    results.iter().find(|result| result["ruleId"] == code).unwrap_or_else(|| panic!("no {code}"))
}

#[tokio::test]
async fn sarif_of_a_clean_folder_has_no_results() {
    let folder = SkillFolder::with_skills(&["a"]);
    let log = run(&folder, &["check", "--format", "sarif", "."]).await.assert_exit(0).json();
    assert_eq!(log["runs"][0]["results"], json!([]));
}

#[tokio::test]
async fn github_gets_one_command_for_each_finding() {
    let ran = run(&troubled(), &["check", "--format", "github", "."]).await.assert_exit(1);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{ran:?}");
    assert!(
        lines[0].starts_with(
            "::error file=a b/SKILL.md,line=3,col=14,endLine=3,endColumn=29,\
             title=yaml-unquoted-colon::The value of"
        ),
        "{ran:?}"
    );
    assert!(lines[1].starts_with("::notice file=b/.hidden,title=hidden-file::"), "{ran:?}");
    assert!(lines[2].starts_with("::warning file=b/SKILL.md,line=4,col=1,"), "{ran:?}");
    let strict = run(&troubled(), &["check", "--format", "github", "--strict", "."]).await;
    assert!(strict.stdout.contains("::error file=b/SKILL.md,line=4,col=1,"), "{strict:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_name_cannot_begin_a_command_of_its_own_v_54() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/x\n::error::mine", "").file("a/.y,line=1", "");
    let ran = run(&folder, &["check", "--format", "github", "."]).await.assert_exit(0);
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert!(ran.stdout.lines().all(|line| line.starts_with("::notice file=a/")), "{ran:?}");
    assert!(ran.stdout.contains(".y%2Cline=1,"), "{ran:?}");
}

#[tokio::test]
async fn json_says_where_a_finding_ends_what_it_is_about_and_how_to_repair_it() {
    let report = run(&troubled(), &["check", "--format", "json", "."]).await.assert_exit(1).json();
    let colon = &report["findings"][0];
    assert_eq!(colon["position"], json!({ "line": 3, "column": 14 }));
    assert_eq!(colon["end"], json!({ "line": 3, "column": 29 }));
    assert_eq!(colon["span"], json!({ "start": 25, "end": 41 }));
    assert_eq!(
        colon["excerpt"],
        json!({ "text": "description: Does: é things.", "marked": { "start": 13, "end": 29 } })
    );
    let edit = json!({ "span": { "start": 25, "end": 41 }, "text": "\"Does: é things.\"" });
    assert_eq!(colon["repair"], json!({ "replace": [edit] }));
    let same = run(&troubled(), &["check", "--json", "."]).await.assert_exit(1);
    assert_eq!(same.json(), report);
    let both = run(&troubled(), &["check", "--json", "--format", "sarif", "."]).await;
    both.assert_refused(2, "cannot be used with");
}

#[tokio::test]
async fn no_form_shows_a_token_v_43() {
    let folder = SkillFolder::new();
    let token = ["ghp_", "Q7kT2mZ9xR4bW8nJ5", "vL3cH6pF1dGsYqAz0Uo"].concat();
    folder.file("a/SKILL.md", skill_md("a") + &format!("[x](nowhere.md) {token}\n"));
    for format in ["human", "json", "sarif", "github"] {
        let ran = run(&folder, &["check", "--format", format, "."]).await.assert_exit(1);
        assert!(ran.stdout.contains("secret-text"), "{format}: {ran:?}");
        assert!(!ran.stdout.contains(&token[8..]), "{format}: {ran:?}");
    }
    // A server does not serve a file that `check` reports as a secret, unless the operator allows
    // it.
    let served = run(&folder, &["manifest", "--json", "."]).await.assert_exit(0).json();
    assert_eq!(served["skills"], json!([]));
    assert_eq!(served["skipped"][0]["reasons"][0]["code"], "secret-text");
    let allowed = ["manifest", "--json", ".", "--allow-secret-file", "SKILL.md"];
    let served = run(&folder, &allowed).await.assert_exit(0).json();
    assert_eq!(served["skills"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn colours_are_only_for_terminals_and_those_who_insist() {
    let plain = run(&troubled(), &["check", "."]).await.assert_exit(1);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    let folder = troubled();
    let mut command = crate::support::command(&folder, &["check", "."]);
    command.env("CLICOLOR_FORCE", "1");
    let colours = crate::support::finish(command).await.assert_exit(1);
    assert!(colours.stdout.contains("\u{1b}["), "{colours:?}");
}
