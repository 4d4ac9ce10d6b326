//! `skillwire watch`.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{StdioServer, command, run, skill_with};

/// Starts `watch --json` and reads the first round.
async fn watching(folder: &SkillFolder, skills: usize) -> StdioServer {
    let mut watch = StdioServer::start(command(folder, &["watch", "--json", "."]));
    let round = round(&mut watch).await;
    assert_eq!(round.last().unwrap()["summary"]["skills"], skills, "{round:?}");
    watch
}

/// Reads events up to the summary that ends a round.
async fn round(watch: &mut StdioServer) -> Vec<Value> {
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["event"] != "summary") {
        events.push(watch.next().await.expect("the program runs"));
    }
    events
}

/// Reads rounds until one has an event about this path that matches.
async fn until(watch: &mut StdioServer, origin: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
    loop {
        let round = round(watch).await;
        if let Some(event) = round.into_iter().find(|e| e["origin"] == origin && is_meant(e)) {
            return event;
        }
    }
}

#[tokio::test]
async fn changes_are_told_as_a_client_would_receive_them() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let mut watch = watching(&folder, 2).await;
    folder.file("a/SKILL.md", skill_with("a", "license: MIT\n")).file("a/x.md", "text\n");
    let is_new = |event: &Value| {
        event["entry"]["resources"].as_array().is_some_and(|files| files.len() == 2)
            && event["entry"]["frontmatter"]["license"] == "MIT"
    };
    let event = until(&mut watch, "./a", is_new).await;
    assert_eq!(event["event"], "skill");
    assert_eq!(event["entry"]["uri"], "skill://a/SKILL.md");
    assert_eq!(event["entry"]["resources"][1]["size"], 5);
    assert_eq!(event["findings"], json!([]));

    folder.file("a/SKILL.md", "---\nname: a\ndescription: Use when: asked.\n---\n");
    let event = until(&mut watch, "./a", |event| event["entry"].is_null()).await;
    assert_eq!(event["findings"][0]["code"], "yaml-unquoted-colon");

    folder.remove("b");
    let event = until(&mut watch, "./b", |event| event["event"] == "gone").await;
    assert_eq!(event, json!({ "event": "gone", "origin": "./b" }));

    // A skill that did not change is reported when another skill takes its name.
    folder.skill("c").skill("x/c");
    let shares = |event: &Value| event["findings"][0]["code"] == "duplicate-name";
    until(&mut watch, "./c", shares).await;
}

#[cfg(unix)]
#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let folder = SkillFolder::with_skills(&["a"]);
    for signal in ["INT", "TERM"] {
        let watch = watching(&folder, 1).await;
        watch.process.signal(signal);
        let ended = watch.process.wait().await.assert_exit(0);
        assert_eq!(ended.stderr, "");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn people_see_the_entry_and_pipes_are_not_cleared() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", skill_with("a", "colour: red\n"));
    let mut watch = StdioServer::start(command(&folder, &["watch", "a"]));
    let shown = watch.lines_until("1 skill checked").await;
    insta::assert_snapshot!(shown);
    assert!(!shown.contains('\u{1b}'));
}

#[tokio::test]
async fn a_folder_that_does_not_exist_is_refused() {
    run(&SkillFolder::new(), &["watch", "nowhere"])
        .await
        .assert_refused(2, "`nowhere` cannot be read");
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", skill_md("a"));
    run(&folder, &["watch"]).await.assert_refused(2, "DIR");
}
