//! Servers that run as processes: H-70, their environment, and what they leave behind.

use std::time::Duration;

use serde_json::json;
use skillwire_client::{Client, ClientError, ClientOptions, CommandEndpoint, Endpoint, Secret};
use skillwire_protocol::Era;
use tokio::time::timeout;

use super::{object, within};

const PATIENCE: Duration = Duration::from_secs(20);

/// A legacy server in one line: it answers `initialize` and ignores the rest.
const INITIALIZED: &str = r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id""#;

fn shell(script: &str, env: &[(&str, &str)]) -> Endpoint {
    let command = CommandEndpoint::new("/bin/sh").args(["-c", script]);
    let with = |command: CommandEndpoint, (name, value): &(&str, &str)| {
        command.env(*name, Secret::new(*value))
    };
    Endpoint::Command(env.iter().fold(command, with))
}

/// A script that answers `initialize`, whose id is the number in its line, after running `first`.
fn legacy(first: &str) -> String {
    format!(
        r#"read -r line; id=${{line#*\"id\":}}; id=${{id%%,*}}; {first}; {INITIALIZED}; while read -r line; do :; done"#
    )
}

fn options() -> ClientOptions {
    ClientOptions::default().with_era(Era::Legacy).with_shutdown_grace(Duration::from_millis(200))
}

/// Waits until the server's output on standard error passes a test.
async fn stderr_until(client: &Client, is_enough: impl Fn(&str) -> bool) -> String {
    let waited = async {
        loop {
            let text = client.stderr();
            if is_enough(&text) {
                return text;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waited).await.expect("the text comes")
}

#[tokio::test]
async fn standard_error_is_drained_bounded_and_escaped_h_70() {
    let flood = r#"i=0; while [ $i -lt 20000 ]; do echo "noise noise noise noise noise" >&2; i=$((i+1)); done; printf 'end\033[2J' >&2"#;
    let client = Client::connect(shell(&legacy(flood), &[]), options()).await.unwrap();
    let text = stderr_until(&client, |text| text.contains("end")).await;
    assert!(text.ends_with("end\\u{1b}[2J"), "{text}");
    assert!(text.len() < 20_000, "{}", text.len());
}

#[tokio::test]
async fn a_server_gets_the_environment_it_is_given_and_nothing_else_hst_05() {
    let script = legacy("env >&2; echo ${#TOKEN} bytes >&2; echo done >&2");
    let env = [("PATH", "/usr/bin:/bin"), ("TOKEN", "hush-hush")];
    let endpoint = shell(&script, &env);
    assert!(!format!("{endpoint:?}").contains("hush"));
    let client = Client::connect(endpoint, options()).await.unwrap();
    let text = stderr_until(&client, |text| text.contains("done")).await;
    // The server has the value, and shows it to no one.
    assert!(text.contains("TOKEN=***") && text.contains("9 bytes"), "{text}");
    for inherited in ["HOME=", "CARGO", "USER="] {
        assert!(!text.contains(inherited), "{text}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_unreachable_hst_05() {
    let endpoint = Endpoint::Command(CommandEndpoint::new("/nowhere/server"));
    let failed = Client::connect(endpoint, options()).await;
    assert!(matches!(failed, Err(ClientError::Unreachable { .. })), "{failed:?}");
}

#[tokio::test]
async fn a_legacy_program_that_ends_at_the_new_question_is_started_again_hst_05() {
    let script = format!(
        r#"read -r line; case "$line" in *'"initialize"'*) ;; *) exit 1 ;; esac; id=${{line#*\"id\":}}; id=${{id%%,*}}; {INITIALIZED}; while read -r line; do :; done"#
    );
    let found = Client::connect(shell(&script, &[]), ClientOptions::default()).await.unwrap();
    assert_eq!(found.server().era, Era::Legacy);
}

#[tokio::test]
async fn a_program_that_exits_fails_what_is_under_way_h_70() {
    let script = legacy("true")
        .replace("while read -r line; do :; done", "read -r line; read -r line; exit 3");
    let client = Client::connect(shell(&script, &[]), options()).await.unwrap();
    let failed = client.request("ping", object(json!({})), within(20_000)).await;
    assert!(matches!(failed, Err(ClientError::Closed { .. })), "{failed:?}");
}

/// Tells whether a process exists and is not a zombie.
fn is_alive(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    match stat {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => !cfg!(target_os = "linux") && rustix::process::test_kill_process(pid).is_ok(),
    }
}

async fn until_dead(pid: &str) {
    let waited = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waited).await.expect("the process ends");
}

/// A server that ignores the end of its input and has a child that ignores `TERM` and `HUP`.
const STUBBORN: &str = r#"trap '' TERM; sh -c 'trap "" TERM HUP; echo "child $$ ready" >&2; while :; do sleep 1; done' & exec 0<&-"#;

async fn stubborn() -> (Client, String) {
    let script = legacy(STUBBORN).replace("while read -r line; do :; done", "wait");
    let env = [("PATH", "/usr/bin:/bin")];
    let client = Client::connect(shell(&script, &env), options()).await;
    let client = client.expect("the server answers");
    let text = stderr_until(&client, |text| text.contains("ready")).await;
    let pid = text.split("child ").nth(1).and_then(|rest| rest.split(' ').next());
    let pid = pid.expect("the child says its id").to_owned();
    assert!(is_alive(&pid));
    (client, pid)
}

#[tokio::test]
async fn closing_ends_a_stubborn_server_and_what_it_started_h_70() {
    let (client, child) = stubborn().await;
    client.close().await;
    until_dead(&child).await;
}

#[tokio::test]
async fn letting_go_ends_a_stubborn_server_and_what_it_started_h_70() {
    let (client, child) = stubborn().await;
    drop(client);
    until_dead(&child).await;
}

#[tokio::test]
async fn a_program_runs_in_the_folder_it_is_configured_for_fu_02() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let command = CommandEndpoint::new("/bin/sh")
        .args(["-c", &legacy("pwd >&2; echo done >&2")])
        .folder(Some(real.clone()));
    let client = Client::connect(Endpoint::Command(command.clone()), options()).await.unwrap();
    let text = stderr_until(&client, |text| text.contains("done")).await;
    assert_eq!(text.lines().next(), real.to_str());
    let gone = command.folder(Some(real.join("gone")));
    let failed = Client::connect(Endpoint::Command(gone), options()).await.unwrap_err();
    assert!(failed.to_string().contains("gone`, in which it is started, is not there"), "{failed}");
}

#[tokio::test]
async fn a_program_that_dies_leaves_its_last_words_in_the_error_without_secrets_fu_02_sec_04() {
    let script = "printf 'no config.toml with hush-hush\\033[2J\\n' >&2; exit 1";
    let failed = Client::connect(shell(script, &[("TOKEN", "hush-hush")]), options()).await;
    let error = failed.unwrap_err();
    assert_eq!(error.server_text(), Some("no config.toml with ***\\u{1b}[2J"), "{error:?}");
    assert!(!error.to_string().contains("config.toml"), "our own words alone: {error}");
}
