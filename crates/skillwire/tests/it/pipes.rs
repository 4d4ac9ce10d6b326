//! Output pipes that the reader has closed.
#![cfg(unix)]

use std::{fs::File, os::fd::OwnedFd, process::Stdio};

use serde_json::Value;
use skillwire_testkit::SkillFolder;

use crate::support::{CommandResult, StdioServer, command, finish};

/// A pipe whose reading end is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    Stdio::from(OwnedFd::from(writer))
}

async fn run_with_closed_output(folder: &SkillFolder, arguments: &[&str]) -> CommandResult {
    let mut command = command(folder, arguments);
    command.stdout(closed_pipe());
    finish(command).await
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let folder = SkillFolder::with_skills(&["a"]);
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["check", "."],
        &["check", ".", "--json"],
        &["manifest", "."],
        &["manifest", ".", "--json"],
        &["man"],
        &["completions", "bash"],
        &["serve", "."],
    ] {
        let ran = run_with_closed_output(&folder, arguments).await.assert_exit(0);
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn the_exit_code_is_the_same_when_the_reader_is_gone() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", "no frontmatter");
    for arguments in [&["check", "."][..], &["check", ".", "--json"]] {
        let ran = run_with_closed_output(&folder, arguments).await.assert_exit(1);
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_ends_the_server_in_order_v_29() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut command = command(&folder, &["serve", "."]);
    command.stdout(closed_pipe()).stdin(Stdio::piped());
    let mut child = command.spawn().expect("the server starts");
    let mut input = child.stdin.take().expect("standard input is piped");
    let request = skillwire_testkit::modern_request(1, "skills/list", Value::Null);
    let line = format!("{request}\n");
    tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes()).await.expect("it reads");
    // Standard input stays open, so only the closed output can end the server.
    let output = child.wait_with_output().await.expect("the server ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    drop(input);
}

#[tokio::test]
async fn a_log_whose_reader_is_gone_does_not_disturb_the_server() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("bad/SKILL.md", "no frontmatter");
    let mut command = command(&folder, &["serve", "."]);
    command.env("SKILLWIRE_LOG", "trace").stderr(closed_pipe());
    let mut server = StdioServer::start(command);
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    folder.skill("b");
    server.process.signal("HUP");
    server.until_listed(&["skill://a/SKILL.md", "skill://b/SKILL.md"]).await;
    server.close().await.assert_exit(0);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn output_that_cannot_be_written_is_an_error() {
    let folder = SkillFolder::with_skills(&["a"]);
    for arguments in [
        &["check", "."][..],
        &["check", ".", "--json"],
        &["manifest", "."],
        &["manifest", ".", "--json"],
        &["man"],
        &["completions", "bash"],
    ] {
        let mut command = command(&folder, arguments);
        command.stdout(File::options().write(true).open("/dev/full").expect("Linux has it"));
        finish(command).await.assert_refused(70, "Output could not be written");
    }
}
