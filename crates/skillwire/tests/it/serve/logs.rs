//! The log, which is never written to standard output.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{HttpServer, StdioServer, command, finish, run};

/// A folder that makes a server log warnings.
fn noisy() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("bad/SKILL.md", "# No frontmatter\n");
    folder
}

#[tokio::test]
async fn stdout_carries_only_messages_srv_103() {
    let folder = noisy();
    for format in ["text", "json"] {
        let mut command = command(&folder, &["serve", ".", "--log-format", format]);
        command.env("SKILLWIRE_LOG", "trace");
        let mut server = StdioServer::start(command);
        // Fails if a line of standard output is not a message.
        assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
        let unknown = server.modern("no/such/method", Value::Null).await;
        assert_eq!(unknown.code(), -32601);
        let missing = json!({ "uri": "skill://nowhere/SKILL.md" });
        assert_eq!(server.modern("resources/read", missing).await.code(), -32602);
        server.input = None;
        assert_eq!(server.next().await, None);
        let ended = server.close().await.assert_exit(0);
        assert!(ended.stderr.contains("frontmatter-missing"), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn stdout_of_a_server_on_a_port_stays_empty_v_30() {
    let folder = noisy();
    let mut command = command(&folder, &["serve", ".", "--http", "127.0.0.1:0"]);
    command.env("SKILLWIRE_LOG", "trace");
    let server = HttpServer::start(command).await;
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    assert_eq!(server.process.kill().await, "");
}

#[cfg(not(feature = "otel"))]
#[tokio::test]
async fn a_collector_that_a_build_cannot_send_to_is_named_once_with_the_feature() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut command = command(&folder, &["serve", "."]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let ran = finish(command).await.assert_exit(0);
    let said = ran.stderr.matches("`OTEL_EXPORTER_OTLP_ENDPOINT` is ignored: the feature `otel`");
    assert_eq!(said.count(), 1, "{}", ran.stderr);
}

#[tokio::test]
async fn json_logs_are_one_object_a_line() {
    let folder = noisy();
    let mut command = command(&folder, &["serve", ".", "--log-format", "json"]);
    command.env("SKILLWIRE_LOG", "trace").env("CLICOLOR_FORCE", "1");
    let ran = finish(command).await.assert_exit(0);
    assert!(!ran.stderr.is_empty());
    for line in ran.stderr.lines() {
        let event: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(event["level"].is_string() && event["timestamp"].is_string(), "{line}");
    }
    assert!(ran.stderr.contains("skipped ./bad: "), "{}", ran.stderr);
}

#[tokio::test]
async fn the_log_is_quiet_unless_it_is_asked() {
    let folder = noisy();
    let said = |filter: &'static str| {
        let mut command = command(&folder, &["serve", "."]);
        command.env("SKILLWIRE_LOG", filter);
        async { finish(command).await.assert_exit(0).stderr }
    };
    assert_eq!(said("info").await.lines().count(), 1);
    assert_eq!(said("error").await, "");
    assert_eq!(said("off").await, "");
    let misunderstood = said("=!=").await;
    assert!(misunderstood.contains("`SKILLWIRE_LOG` cannot be understood"), "{misunderstood}");
    assert!(misunderstood.contains("skipped ./bad: "), "{misunderstood}");
}

#[cfg(unix)]
#[tokio::test]
async fn strangers_cannot_write_lines_into_the_log_v_54() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("b\u{1b}[2J\nlistening on http://evil/SKILL.md", "# No frontmatter\n");
    folder.file("a/x\nfake: line", "").file("a/.env", "");
    let ran = run(&folder, &["serve", "."]).await.assert_exit(0);
    assert!(!ran.stderr.contains("\u{1b}[2J"), "{ran:?}");
    assert!(ran.stderr.lines().all(|line| line.contains(" WARN ")), "{ran:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_log_names_the_start_refused_callers_and_new_skills_fu_10() {
    let folder = noisy();
    folder.file("tokens", "ci 0123456789abcdef0123\n");
    let arguments = ["serve", ".", "--http", "127.0.0.1:0", "--token-file", "tokens"];
    let mut server = HttpServer::start(command(&folder, &arguments)).await;
    assert_eq!(server.request(&[], "skills/list", Value::Null).await.status, 401);
    server.process.wait_for_line("requests without a valid token were refused").await;
    folder.file("b/SKILL.md", crate::support::skill_with("b", ""));
    let line = server.process.wait_for_line("skills are new").await;
    assert!(line.contains("skill://b/SKILL.md"), "{line}");
    server.process.signal("TERM");
    let said = server.process.wait().await.assert_exit(0).stderr;
    let start = said.lines().find(|line| line.contains(" serving ")).expect(&said);
    assert!(start.contains("skills=1 skipped=1 url=") && start.contains("tokens=true"), "{start}");
    // Single requests are for those who ask.
    assert!(!said.contains("answered"), "{said}");
    let mut command = command(&folder, &arguments);
    command.env("SKILLWIRE_LOG", "debug");
    let mut server = HttpServer::start(command).await;
    let ci = ("Authorization", "Bearer 0123456789abcdef0123");
    server.request(&[ci], "skills/list", Value::Null).await;
    let line = server.process.wait_for_line("answered").await;
    assert!(line.contains("skills/list") && line.contains("code=0"), "{line}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_json_log_is_json_from_its_first_line_fu_10() {
    let folder = noisy();
    let arguments = ["serve", ".", "--http", "127.0.0.1:0", "--log-format", "json"];
    let mut process = crate::support::ServerProcess::start(command(&folder, &arguments));
    let line = process.wait_for_line("\"serving\"").await;
    let start: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
    let url = start["fields"]["url"].as_str().expect("the log names the address");
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    process.signal("TERM");
    let said = process.wait().await.assert_exit(0).stderr;
    for line in said.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "not JSON: {line}");
    }
}

#[tokio::test]
async fn the_log_names_the_option_that_serves_a_skill_that_is_too_long_rs_03() {
    let folder = SkillFolder::new();
    let long = |name: &str, lines: &str| {
        let text = format!("---\nname: {name}\ndescription: Use when asked.{lines}\n---\n");
        folder.file(&format!("{name}/SKILL.md"), text);
    };
    long("a", &" word".repeat(210));
    long("b", &format!("\ncompatibility: Needs{}", " word".repeat(110)));
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(server.uris().await, [""; 0]);
    let said = server.close().await.assert_exit(0).stderr;
    for (name, code) in [("a", "description-too-long"), ("b", "compatibility-too-long")] {
        let line = said.lines().find(|line| line.contains(&format!("skipped ./{name}: ")));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(code) && line.contains("`--lenient`"), "{line}");
    }
    let mut server = StdioServer::serve(&folder, &[".", "--lenient"]);
    assert_eq!(server.uris().await.len(), 2);
    server.close().await.assert_exit(0);
}
