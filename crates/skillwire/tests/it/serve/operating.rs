//! What operators limit, record and change of a running server.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{HttpServer, ServerProcess, TEST_TIMEOUT, command, run};

const CI: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef0123");

fn folder() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["skills/a"]);
    folder.file("tokens", "ci 0123456789abcdef0123\nold 00112233445566778899\n");
    folder
}

async fn ask(server: &HttpServer, headers: &[(&str, &str)]) -> u16 {
    server.request(headers, "skills/list", Value::Null).await.status
}

/// Asks again until the answer has a status.
async fn until_status(server: &HttpServer, headers: &[(&str, &str)], status: u16) {
    let start = std::time::Instant::now();
    while ask(server, headers).await != status {
        assert!(start.elapsed() < TEST_TIMEOUT, "no answer has the status {status}");
        tokio::task::yield_now().await;
    }
}

/// The lines of an access log, once there are so many.
async fn lines(folder: &SkillFolder, file: &str, count: usize) -> Vec<Value> {
    let start = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        if text.lines().count() >= count {
            return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "{text}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_caller_that_asks_too_often_is_slowed_and_probes_are_not() {
    let folder = folder();
    let server = HttpServer::serve(&folder, &["skills", "--rate", "1/m:2"]).await;
    assert_eq!((ask(&server, &[]).await, ask(&server, &[]).await), (200, 200));
    let refused = server.request(&[], "skills/list", Value::Null).await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn limits_and_logs_that_cannot_be_used_are_named() {
    let folder = folder();
    let serve = ["serve", "skills", "--http", "127.0.0.1:0"];
    for (option, value, words) in [
        ("--rate", "often", "`--rate often` cannot be used"),
        ("--access-log-sample", "2/3", "`--access-log-sample 2/3` cannot be used."),
    ] {
        let ran = run(&folder, &[&serve[..], &[option, value]].concat()).await;
        ran.assert_refused(2, words);
    }
    let missing = run(&folder, &[&serve[..], &["--access-log=no/such/folder"]].concat()).await;
    missing.assert_refused(2, "cannot be written");
    run(&folder, &["serve", "skills", "--rate", "1/s"]).await.assert_refused(2, "needs `--http`");
}

#[cfg(unix)]
#[tokio::test]
async fn the_access_log_names_caller_skill_content_and_outcome_and_follows_its_file() {
    let folder = folder();
    let arguments = ["serve", "skills", "--http", "127.0.0.1:0", "--token-file", "tokens"];
    let logs = ["--access-log=access.log", "--log-format", "json"];
    let mut process = ServerProcess::start(command(&folder, &[&arguments[..], &logs].concat()));
    let start: Value = serde_json::from_str(&process.wait_for_line("\"serving\"").await).unwrap();
    let url = start["fields"]["url"].as_str().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    let mut server = HttpServer { process, address };
    let uri = json!({ "uri": "skill://a/SKILL.md" });
    let named = ("Mcp-Name", "skill://a/SKILL.md");
    server.request(&[CI, named], "resources/read", uri).await;
    assert_eq!(ask(&server, &[("Authorization", "Bearer guess-guess-guess-guess")]).await, 401);
    let said = lines(&folder, "access.log", 2).await;
    let read = &said[0]["fields"];
    assert_eq!((&read["caller"], &read["method"]), (&"ci".into(), &"resources/read".into()));
    assert_eq!((&read["mount"], &read["decision"]), (&"/mcp".into(), &"admitted".into()));
    assert_eq!((&read["status"], &read["outcome"]), (&200.into(), &"ok".into()));
    assert_eq!(read["uri"], "skill://a/SKILL.md");
    assert!(read["content"].as_str().unwrap().starts_with("sha256:"), "{read}");
    assert!(said[0]["timestamp"].is_string() && read["took_us"].is_u64(), "{read}");
    assert_eq!(said[1]["fields"]["decision"], "no-token");
    let text = std::fs::read_to_string(folder.join("access.log")).unwrap();
    assert!(!text.contains("0123456789abcdef0123") && !text.contains("guess"), "{text}");

    // A rotated file begins anew.
    std::fs::rename(folder.join("access.log"), folder.join("access.log.1")).unwrap();
    server.process.signal("HUP");
    server.process.wait_for_line("the configuration was read again").await;
    assert_eq!(ask(&server, &[CI]).await, 200);
    assert_eq!(lines(&folder, "access.log", 1).await[0]["fields"]["method"], "skills/list");
}

#[tokio::test]
async fn changed_files_count_without_a_restart_and_broken_ones_change_nothing() {
    let folder = folder();
    let config = |lines: &str| {
        folder.file("serve.toml", format!("dirs = [\"skills\"]\ntoken-file = \"tokens\"\n{lines}"));
    };
    config("");
    let arguments = ["serve", "--config", "serve.toml", "--http", "127.0.0.1:0", "--metrics"];
    let mut server = HttpServer::start(command(&folder, &arguments)).await;
    let old = ("Authorization", "Bearer 00112233445566778899");
    assert_eq!(ask(&server, &[old]).await, 200);
    // A token that is taken out of the file is refused, without a signal.
    folder.file("tokens", "ci 0123456789abcdef0123\n");
    until_status(&server, &[old], 401).await;

    let host = ("Host", "skills.example.com");
    assert_eq!(ask(&server, &[CI, host]).await, 403);
    config("allow-host = [\"skills.example.com\"]\n");
    until_status(&server, &[CI, host], 200).await;

    config("rate = \"nonsense\"\n");
    let line = server.process.wait_for_line("The configuration stays as it was.").await;
    assert!(line.contains("nonsense"), "{line}");
    assert_eq!(ask(&server, &[CI, host]).await, 200);

    config("rate = \"1/m:1\"\npage-size = 7\n");
    let line = server.process.wait_for_line("count after a restart").await;
    assert!(line.contains("`page-size`"), "{line}");
    until_status(&server, &[CI], 429).await;
}
