//! Changes while a server runs.

use std::{fs, time::Instant};

use serde_json::json;
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{StdioServer, TEST_TIMEOUT, skill_with};

#[tokio::test]
async fn a_change_appears_by_itself_srv_68() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    folder.skill("b");
    server.until_listed(&["skill://a/SKILL.md", "skill://b/SKILL.md"]).await;
    folder.remove("a");
    server.until_listed(&["skill://b/SKILL.md"]).await;
    let gone = server.modern("skills/get", json!({ "uri": "skill://a/SKILL.md" })).await;
    assert_eq!(gone.code(), -32602);
    server.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn sighup_reads_at_once_srv_68() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    for name in ["b", "c", "d"] {
        folder.skill(name);
        server.process.signal("HUP");
        server.process.wait_for_line("reading all folders again").await;
    }
    let expected = ["a", "b", "c", "d"].map(|name| format!("skill://{name}/SKILL.md"));
    server.until_listed(&expected.each_ref().map(String::as_str)).await;
    server.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_vanished_folder_is_served_as_it_was_and_the_operator_is_told() {
    let folder = SkillFolder::with_skills(&["skills/a", "other/b"]);
    let mut server = StdioServer::serve(&folder, &["skills", "other"]);
    let both = ["skill://a/SKILL.md", "skill://b/SKILL.md"];
    assert_eq!(server.uris().await, both);
    fs::rename(folder.join("skills"), folder.join("away")).unwrap();
    server.process.signal("HUP");
    let told = server.process.wait_for_line("skills cannot be read").await;
    assert!(told.ends_with(" What it held before is still served."), "{told}");
    assert_eq!(server.uris().await, both);
    let read = server.modern("resources/read", json!({ "uri": both[0] })).await;
    assert_eq!(read.result()["contents"][0]["text"], skill_md("a"));

    folder.remove("other/b").skill("other/c");
    server.until_listed(&["skill://a/SKILL.md", "skill://c/SKILL.md"]).await;

    fs::rename(folder.join("away"), folder.join("skills")).unwrap();
    server.process.signal("HUP");
    server.process.wait_for_line("resolved: skills cannot be read").await;
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_skill_that_goes_bad_is_withdrawn_with_a_reason_and_comes_back_v_63() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let mut server = StdioServer::serve(&folder, &["."]);
    let both = ["skill://a/SKILL.md", "skill://b/SKILL.md"];
    assert_eq!(server.uris().await, both);
    folder.file("a/.env", "TOKEN=1\n");
    server.until_listed(&both[1..]).await;
    let told = server.process.wait_for_line("skipped ./a: ").await;
    assert!(told.contains("WARN") && told.ends_with("[secret-file]"), "{told}");
    folder.remove("a/.env");
    server.until_listed(&both).await;
    server.process.wait_for_line("resolved: skipped ./a: ").await;
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_neighbour_never_unpublishes_a_running_skill_rs_01() {
    let folder = SkillFolder::with_skills(&["two/pdf", "one/a"]);
    let mut server = StdioServer::serve(&folder, &["one", "two"]);
    let before = ["skill://a/SKILL.md", "skill://pdf/SKILL.md"];
    assert_eq!(server.uris().await, before);
    // In the same folder under another directory's name, and in a folder that was named earlier.
    folder.file("two/zzz/SKILL.md", skill_md("pdf")).file("one/pdf/extra.md", "x").skill("one/pdf");
    server.until_listed(&[before[0], before[1], "skill://zzz/pdf/SKILL.md"]).await;
    let told = server.process.wait_for_line("skipped one/pdf: ").await;
    assert!(told.contains("`two/pdf` is served") && told.ends_with("[path-collision]"), "{told}");
    let entry = server.modern("skills/get", json!({ "uri": before[1] })).await;
    assert_eq!(entry.result()["skill"]["resources"].as_array().map(Vec::len), Some(1), "{entry:?}");
    server.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn skills_that_an_installer_linked_are_served_and_followed_rs_02_fu_14() {
    let folder = SkillFolder::with_skills(&[".agents/skills/pdf", ".agents/skills/forms"]);
    folder.directory(".git").directory(".claude/skills");
    let link = |name: &str| {
        let target = format!("../../.agents/skills/{name}");
        std::os::unix::fs::symlink(target, folder.join(&format!(".claude/skills/{name}"))).unwrap();
    };
    link("pdf");
    let mut server = StdioServer::serve(&folder, &[".claude/skills"]);
    assert_eq!(server.uris().await, ["skill://pdf/SKILL.md"]);
    // A link that is made later is followed, and so are changes behind both.
    link("forms");
    server.until_listed(&["skill://forms/SKILL.md", "skill://pdf/SKILL.md"]).await;
    for name in ["pdf", "forms"] {
        let licensed = skill_with(name, "license: MIT\n");
        folder.file(&format!(".agents/skills/{name}/SKILL.md"), licensed);
        let uri = format!("skill://{name}/SKILL.md");
        let start = Instant::now();
        loop {
            let entry = server.modern("skills/get", json!({ "uri": uri })).await;
            if entry.result()["skill"]["frontmatter"]["license"] == "MIT" {
                break;
            }
            assert!(start.elapsed() < TEST_TIMEOUT, "{entry:?}");
        }
    }
    server.close().await.assert_exit(0);
}
