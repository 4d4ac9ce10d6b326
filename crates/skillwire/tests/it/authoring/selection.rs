//! Which findings `check` reports, and how briefly.

use serde_json::json;
use skillwire_testkit::SkillFolder;

use crate::support::{run, skill_with};

fn troubled() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["a", "drafts/b"]);
    folder.file("a/SKILL.md", skill_with("a", "colour: red\n") + "[x](no.md) [y](none.md)\n");
    folder.file("drafts/b/SKILL.md", "no fence\n");
    folder
}

#[tokio::test]
async fn concise_prints_one_line_for_each_finding() {
    let ran = run(&troubled(), &["check", "--format", "concise", "."]).await.assert_exit(1);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("./a/SKILL.md:4:1: warning[unknown-key]: "), "{ran:?}");
    assert!(lines.iter().any(|line| line.contains(" error[frontmatter-missing]: ")), "{ran:?}");
    assert!(lines.last().unwrap().starts_with("2 skills checked: "), "{ran:?}");
}

#[tokio::test]
async fn statistics_count_codes_the_most_frequent_first() {
    let ran = run(&troubled(), &["check", "--statistics", "."]).await.assert_exit(1);
    assert!(ran.stdout.starts_with("2  warning[link-missing]  "), "{ran:?}");
    let counts = run(&troubled(), &["check", "--statistics", "--json", "."]).await.assert_exit(1);
    let first = &counts.json()[0];
    assert_eq!((&first["count"], &first["code"]), (&json!(2), &json!("link-missing")));
}

#[tokio::test]
async fn codes_and_paths_can_be_selected_and_left_out() {
    let codes = async |arguments: &[&str]| -> Vec<String> {
        let arguments = [&["check", "--json"], arguments].concat();
        let findings = run(&troubled(), &arguments).await.json()["findings"].clone();
        let code = |one: &serde_json::Value| one["code"].as_str().unwrap().to_owned();
        findings.as_array().unwrap().iter().map(code).collect()
    };
    assert_eq!(codes(&["--select", "unknown-key"]).await, ["unknown-key"]);
    assert_eq!(
        codes(&["--select", "link-*,front*", "--exclude", "drafts/**"]).await,
        ["link-missing"; 2]
    );
    let ignored = codes(&["--ignore", "link-missing", "--exclude", "drafts/**"]).await;
    assert!(ignored.contains(&"unknown-key".to_owned()), "{ignored:?}");
    assert!(!ignored.contains(&"link-missing".to_owned()), "{ignored:?}");
    run(&troubled(), &["check", "--select", "link-mising"])
        .await
        .assert_refused(2, "Did you mean `link-missing`?");
}

#[tokio::test]
async fn a_project_excludes_paths_for_everyone() {
    let folder = troubled();
    folder.file("skillwire.toml", "[check]\nexclude = [\"drafts/**\"]\n");
    run(&folder, &["check", "."]).await.assert_exit(0);
    folder.file("skillwire.toml", "[check]\nexclud = []\n");
    run(&folder, &["check", "."]).await.assert_exit(2);
}

#[tokio::test]
async fn packages_that_npm_installed_are_no_part_of_a_skill() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/package.json", "{}").file("a/node_modules/x/index.js", "1\n");
    folder.file("a/node_modules/x/SKILL.md", "no fence\n");
    let entries = run(&folder, &["manifest", "--json", "."]).await.assert_exit(0);
    assert!(entries.stdout.contains("package.json"), "{entries:?}");
    assert!(!entries.stdout.contains("node_modules"), "{entries:?}");
}

/// Sends a message of the Language Server Protocol.
#[cfg(feature = "editor")]
async fn send(input: &mut tokio::process::ChildStdin, message: serde_json::Value) {
    use tokio::io::AsyncWriteExt as _;

    let text = message.to_string();
    let framed = format!("Content-Length: {}\r\n\r\n{text}", text.len());
    input.write_all(framed.as_bytes()).await.unwrap();
}

/// Reads the next message of the Language Server Protocol.
#[cfg(feature = "editor")]
async fn receive(
    output: &mut tokio::io::BufReader<tokio::process::ChildStdout>,
) -> serde_json::Value {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};

    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", digits)) => length = digits.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[cfg(feature = "editor")]
#[tokio::test]
async fn an_editor_shows_no_findings_of_what_the_project_excludes() {
    let folder = SkillFolder::new();
    folder.file("skillwire.toml", "[check]\nexclude = [\"drafts/**\", \"*/a/old.md\"]\n");
    let broken = crate::support::skill_with("a", "") + "[gone](gone.md) [old](old.md)\n";
    folder.file("drafts/a/SKILL.md", &broken).file("live/a/SKILL.md", &broken);
    folder.file("live/a/old.md", "[gone](gone.md)\n");
    let mut command = crate::support::command(&folder, &["lsp"]);
    command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = tokio::io::BufReader::new(child.stdout.take().unwrap());
    send(
        &mut input,
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}),
    )
    .await;
    receive(&mut output).await;
    send(&mut input, json!({"jsonrpc": "2.0", "method": "initialized", "params": {}})).await;
    for place in ["drafts", "live"] {
        let uri = format!("file://{}", folder.join(place).join("a/SKILL.md").display());
        let document = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": broken});
        let opened = json!({"textDocument": document});
        let method = "textDocument/didOpen";
        send(&mut input, json!({"jsonrpc": "2.0", "method": method, "params": opened})).await;
    }
    // Findings are sent in the order of the folders, so those of drafts would come first.
    let published =
        tokio::time::timeout(crate::support::TEST_TIMEOUT, receive(&mut output)).await.unwrap();
    let uri = published["params"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/live/a/SKILL.md"), "{published}");
    assert_eq!(published["params"]["diagnostics"][0]["code"], "link-missing", "{published}");
    send(&mut input, json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})).await;
    let ended =
        tokio::time::timeout(crate::support::TEST_TIMEOUT, receive(&mut output)).await.unwrap();
    assert_eq!(ended["id"], 2, "nothing is said about `live/a/old.md`: {ended}");
}

#[cfg(feature = "editor")]
#[tokio::test]
async fn an_editor_that_says_nothing_ends_the_language_server_with_one_sentence() {
    let ran = run(&SkillFolder::with_skills(&["a"]), &["lsp", "--stdio"]).await;
    assert_eq!(ran.stdout, "");
    let said = "error: The connection ended before an editor sent `initialize`.\nhelp: ";
    assert!(ran.stderr.starts_with(said), "{ran:?}");
}
