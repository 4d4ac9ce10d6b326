//! `skillwire manifest`: shows exactly what would be served.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, StdioClient};

use crate::support::{BINARY, StdioServer, run, skill_with};

/// Two good skills, one with files, and four that are skipped.
fn corpus() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["skills/acme/billing/refunds"]);
    folder
        .file("skills/forms/SKILL.md", skill_with("forms", "metadata:\n  version: 1.10\n"))
        .file("skills/forms/references/a b.md", "# A\n")
        .file("skills/forms/assets/logo.bin", [0, 159, 146, 150])
        .file("skills/unfenced/SKILL.md", "# No frontmatter\n")
        .file("skills/secret/SKILL.md", skill_with("secret", ""))
        .file("skills/secret/.env", "TOKEN=1\n")
        .file("skills/colon/SKILL.md", "---\nname: colon\ndescription: Use: carefully.\n---\n")
        .file("skills/Bad_Name/SKILL.md", skill_with("Bad_Name", ""));
    folder
}

#[tokio::test]
async fn human_output() {
    let ran = run(&corpus(), &["manifest", "skills"]).await.assert_exit(0);
    insta::assert_snapshot!(ran.transcript());
}

#[tokio::test]
async fn json_output() {
    let ran = run(&corpus(), &["manifest", "--json", "skills"]).await.assert_exit(0);
    assert_eq!(ran.stderr, "");
    let manifest = ran.json();
    let uris: Vec<_> = manifest["skills"].as_array().unwrap().iter().map(|s| &s["uri"]).collect();
    assert_eq!(uris, ["skill://acme/billing/refunds/SKILL.md", "skill://forms/SKILL.md"]);
    let files: Vec<_> = manifest["skills"][1]["resources"].as_array().unwrap().iter().collect();
    assert_eq!(files.len(), 3);
    assert_eq!(manifest["skills"][1]["frontmatter"]["metadata"], json!({ "version": 1.10 }));
    let reasons: Vec<(&str, &str)> = manifest["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skipped| {
            let code = skipped["reasons"][0]["code"].as_str().unwrap();
            (skipped["origin"].as_str().unwrap(), code)
        })
        .collect();
    assert_eq!(
        reasons,
        [
            ("skills/Bad_Name", "name-invalid"),
            ("skills/colon", "yaml-unquoted-colon"),
            ("skills/secret", "secret-file"),
            ("skills/unfenced", "frontmatter-missing"),
        ]
    );
}

#[tokio::test]
async fn nothing_but_skipped_skills_is_still_an_answer() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", "# No frontmatter\n").directory("empty");
    let ran = run(&folder, &["manifest", "a"]).await.assert_exit(0);
    assert!(ran.stdout.ends_with("0 served, 1 skipped.\n"), "{ran:?}");
    let ran = run(&folder, &["manifest", "empty"]).await.assert_exit(0);
    assert!(ran.stdout.starts_with("error[no-skill-found]: "), "{ran:?}");
    assert!(ran.stdout.ends_with("0 served, 0 skipped.\n"), "{ran:?}");
}

#[tokio::test]
async fn two_skills_at_one_path_are_skipped_with_the_reason() {
    let folder = SkillFolder::with_skills(&["one/same", "two/same", "two/other"]);
    let ran = run(&folder, &["manifest", "one", "two"]).await.assert_exit(0);
    insta::assert_snapshot!(ran.transcript());
    let ran = run(&folder, &["manifest", "team=one", "two"]).await.assert_exit(0);
    assert!(ran.stdout.contains("skill://team/same/SKILL.md\n"), "{ran:?}");
}

/// Lists all pages of a real server.
async fn listed(arguments: &[&str]) -> Vec<Value> {
    let mut client =
        StdioClient::spawn(BINARY.as_ref(), &[&["serve", "--page-size", "1"], arguments].concat());
    let (mut skills, mut params) = (Vec::new(), json!({}));
    for id in 0..100 {
        let reply = client.modern(id, "skills/list", params).await;
        skills.extend(reply.result()["skills"].as_array().unwrap().iter().cloned());
        let Some(cursor) = reply.result().get("nextCursor") else {
            assert_eq!(client.close().await.code, Some(0));
            return skills;
        };
        params = json!({ "cursor": cursor });
    }
    panic!("the listing has no end");
}

#[tokio::test]
async fn entries_are_exactly_what_the_server_lists_srv_60() {
    let folder = corpus();
    let controls = "description: \"Use \\e[31m \\x9b31m \\x7f \\u202e when.\"\n";
    folder.file("skills/odd/SKILL.md", format!("---\nname: odd\n{controls}---\n")).file(
        "skills/long/SKILL.md",
        format!("---\nname: long\ndescription: {}\n---\n", "x".repeat(1025)),
    );
    let skills = folder.join("skills");
    let skills = skills.to_str().unwrap();
    let prefixed = format!("team/a b={skills}");
    for arguments in [
        &[skills][..],
        &[&prefixed],
        &[skills, "--lenient"],
        &[skills, "--strict"],
        &[skills, "--scheme", "acme"],
        &[skills, "--allow-secret-file", ".env"],
    ] {
        let ran = run(&folder, &[&["manifest", "--json"], arguments].concat()).await.assert_exit(0);
        let served = listed(arguments).await;
        assert!(served.len() >= 2, "{arguments:?}");
        assert_eq!(ran.json()["skills"], Value::Array(served), "{arguments:?}");
    }
}

#[tokio::test]
async fn json_on_a_terminal_is_harmless_and_complete_v_54() {
    let folder = SkillFolder::new();
    let description = "\"Use \\e[31m \\x9b31m \\x7f \\u202e when.\"";
    folder.file("a/SKILL.md", format!("---\nname: a\ndescription: {description}\n---\n"));
    let ran = run(&folder, &["manifest", "--json", "a"]).await.assert_exit(0);
    assert!(!ran.stdout.contains(['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}']), "{ran:?}");
    assert_eq!(
        ran.json()["skills"][0]["frontmatter"]["description"],
        "Use \u{1b}[31m \u{9b}31m \u{7f} \u{202e} when."
    );
}

#[tokio::test]
async fn what_is_skipped_is_not_served_and_its_neighbours_are() {
    let folder = corpus();
    let mut server = StdioServer::serve(&folder, &["skills"]);
    assert_eq!(
        server.uris().await,
        ["skill://acme/billing/refunds/SKILL.md", "skill://forms/SKILL.md"]
    );
    for name in ["unfenced", "secret", "colon", "Bad_Name"] {
        let uri = format!("skill://{name}/SKILL.md");
        assert_eq!(server.modern("skills/get", json!({ "uri": uri })).await.code(), -32602);
        assert_eq!(server.modern("resources/read", json!({ "uri": uri })).await.code(), -32602);
    }
    let ended = server.close().await.assert_exit(0);
    for origin in ["skills/unfenced", "skills/secret", "skills/colon", "skills/Bad_Name"] {
        assert!(ended.stderr.contains(&format!("skipped {origin}: ")), "{}", ended.stderr);
    }
}
