//! How `run` ends, what it prints meanwhile, and what is in the log afterwards.

use std::process::Stdio;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use super::ScriptUser;
use crate::support::TEST_TIMEOUT;

const EXIT: &str = "import os, sys\n\
    if sys.argv[1] == 'signal':\n    os.kill(os.getpid(), 15)\n\
    sys.exit(int(sys.argv[1]))\n";

#[tokio::test]
async fn the_exit_code_of_the_script_is_that_of_the_command() {
    let user = ScriptUser::new(&[("exit.py", EXIT)]).await;
    for code in [0, 1, 3, 42, 255] {
        user.run(&[], &["exit.py", &code.to_string()]).await.assert_exit(code);
    }
    user.run(&[], &["exit.py", "signal"]).await.assert_exit(128 + 15);
    // What ends the command before the script is in another range.
    user.run(&["--no-such-option"], &["exit.py", "0"]).await.assert_exit(102);
    user.run(&["--memory", "much"], &["exit.py", "0"]).await.assert_exit(102);
    user.user.run(&["run", "acme:none", "exit.py"]).await.assert_exit(105);
    user.user.run(&["run", "none:tools", "exit.py"]).await.assert_exit(105);
    user.user.run(&["run", "--help"]).await.assert_exit(0);
}

#[tokio::test]
async fn limits_of_the_command_line_hold() {
    let scripts = [
        ("memory.py", "x = bytearray(200 << 20)\nprint(len(x))\n"),
        ("disk.py", "open('x', 'wb').write(bytes(40 << 20))\n"),
        ("files.py", "for n in range(40): open(str(n), 'w').close()\n"),
        ("cpu.py", "while True: pass\n"),
        ("slow.py", "import time\ntime.sleep(60)\n"),
    ];
    let user = ScriptUser::granted(&scripts, &["--memory", "1024"]).await;
    user.run(&["--memory", "1G"], &["memory.py"]).await.assert_exit(0);
    let ran = user.run(&["--memory", "64M"], &["memory.py"]).await;
    assert!(matches!(ran.code, Some(1 | 108)), "{ran:?}");
    user.run(&["--disk", "64M"], &["disk.py"]).await.assert_exit(0);
    let ran = user.run(&["--disk", "8M"], &["disk.py"]).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    user.run(&["--files", "64", "--output", "out"], &["files.py"]).await.assert_exit(0);
    assert_eq!(std::fs::read_dir(user.user.home.join("work/out")).unwrap().count(), 40);
    let ran = user.run(&["--files", "8"], &["files.py"]).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    user.run(&["--cpu", "1"], &["cpu.py"]).await.assert_exit(108);
    user.run(&["--time", "1"], &["slow.py"]).await.assert_exit(108);
}

/// A script that writes a line and then waits for longer than the test.
const SPEAK: &str = "import sys, time\n\
    print('first', flush=True)\n\
    print('problem', file=sys.stderr, flush=True)\n\
    time.sleep(300)\n";

#[tokio::test]
async fn output_arrives_while_the_script_runs_and_a_stopped_command_is_in_the_log_b_15() {
    let user = ScriptUser::granted(&[("speak.py", SPEAK)], &["--time", "300"]).await;
    for signal in ["-TERM", "-KILL"] {
        let arguments = ["run", "--quiet", "--time", "300", "acme:tools", "speak.py"];
        let mut command = user.user.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(TEST_TIMEOUT, lines.next_line()).await.unwrap().unwrap();
        assert_eq!(line.as_deref(), Some("first"));
        let pid = child.id().unwrap().to_string();
        let kill = tokio::process::Command::new("kill").args([signal, &pid]).status().await;
        assert!(kill.unwrap().success());
        let ended = timeout(TEST_TIMEOUT, child.wait()).await.unwrap().unwrap();
        assert_eq!(ended.code(), (signal == "-TERM").then_some(130));
    }
    let log = user.user.run_ok(&["audit", "--json"]).await;
    let outcomes = outcomes(&log);
    assert_eq!(outcomes, ["started", "was stopped: it was cancelled", "started"], "{log}");
}

#[tokio::test]
async fn requests_for_absent_files_and_paths_outside_are_in_the_log_b_15() {
    let user = ScriptUser::new(&[("exit.py", EXIT)]).await;
    for script in ["none.py", "../../etc/passwd", "/etc/passwd"] {
        user.run(&[], &[script]).await.assert_exit(102);
    }
    let log = user.user.run_ok(&["audit", "--json"]).await;
    let logged = details(&log);
    let scripts: Vec<_> = logged.iter().map(|detail| detail["script"].as_str().unwrap()).collect();
    assert_eq!(scripts, ["none.py", "../../etc/passwd", "/etc/passwd"]);
    for detail in &logged {
        assert!(detail["outcome"].as_str().unwrap().starts_with("not run: "), "{detail}");
    }
}

/// The details of the runs in a log, oldest first.
fn details(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs = lines.filter(|line| line["action"] == "run");
    runs.map(|line| serde_json::from_str(line["detail"].as_str().unwrap()).unwrap()).collect()
}

fn outcomes(log: &str) -> Vec<String> {
    details(log).iter().map(|detail| detail["outcome"].as_str().unwrap().to_owned()).collect()
}
