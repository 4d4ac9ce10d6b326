//! Processes that try to outlive their run.

use std::{
    fs,
    io::Read as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use skillwire_sandbox::{
    Bytes, CancelHandle, InterpreterFinder, IsolationPolicy, JobFile, RelPath, Sandbox,
    ScriptArguments, ScriptJob,
};

use crate::{
    support::{AttackScript, processes_with, test_cases, unique_token, users},
    test_skip::{TestNeed, skip},
};

/// Starts processes that leave the session, lose their parents, and close all files.
const DAEMON: &str = r#"
def daemon():
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-c", "import os, time; os.closerange(0, 64); time.sleep(30)", given["token"]])
        os._exit(0)
    os.wait()
attempt("daemon", daemon)
attempt("background", lambda: os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", "import time; time.sleep(30)", given["token"]]))
attempt("subreaper", lambda: call(157, 36, 1, 0, 0, 0))
"#;

fn kill(pids: &[u32]) {
    for pid in pids {
        let status =
            std::process::Command::new("/bin/kill").args(["-9", &pid.to_string()]).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn nothing_survives_its_run() {
    for user in users() {
        let token = unique_token();
        let mut child =
            AttackScript::python(DAEMON).argument("token", token.as_str()).start_outside(user);
        let mut line = [0; 12];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"daemon done\n");
        child.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let survivors = loop {
            let found = processes_with(&token);
            if !found.is_empty() {
                break found;
            }
            assert!(Instant::now() < deadline, "nothing survives outside of the sandbox");
            std::thread::yield_now();
        };
        kill(&survivors);
    }
    for case in test_cases() {
        let token = unique_token();
        let answer = AttackScript::python(DAEMON).argument("token", token.as_str()).run(case);
        assert_eq!(answer["end"]["exited"], 0, "{case:?}: {answer}");
        assert!(processes_with(&token).is_empty(), "{case:?}: {answer}");
    }
}

#[test]
fn nothing_survives_a_supervisor_that_is_killed() {
    for case in test_cases() {
        let token = unique_token();
        // A folder without permissions must not keep the rest from being removed.
        let script = "os.mkdir('deep'); os.mkdir('deep/closed', 0); time.sleep(60)";
        let mut driver = AttackScript::python(script).argument("token", token.as_str()).start(case);
        let deadline = Instant::now() + Duration::from_secs(30);
        while processes_with(&token).is_empty() {
            assert!(Instant::now() < deadline, "the script did not start");
            std::thread::yield_now();
        }
        let folder = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let script =
                line.split('\0').find(|word| word.ends_with("/skill/attack.py"))?.to_owned();
            Some(PathBuf::from(script.strip_suffix("/skill/attack.py")?))
        };
        let folder = processes_with(&token).iter().find_map(folder).unwrap();
        assert_eq!(case.tier == "restricted", folder.join("output").exists(), "{folder:?}");
        while case.tier == "restricted" && !folder.join("output/deep/closed").exists() {
            assert!(Instant::now() < deadline, "the script did nothing");
            std::thread::yield_now();
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
        while !processes_with(&token).is_empty() {
            assert!(Instant::now() < deadline, "{case:?}: the script outlives its supervisor");
            std::thread::yield_now();
        }
        // The helper removes the folder: no other process knows of it any more.
        while case.tier == "restricted" && folder.exists() {
            assert!(Instant::now() < deadline, "{folder:?} is left behind");
            std::thread::yield_now();
        }
    }
}

#[test]
fn fifty_runs_at_once_leave_no_process_mount_or_descriptor() {
    for case in test_cases() {
        let token = unique_token();
        let attack = AttackScript::python("print('ran')").argument("token", token.as_str());
        let rounds = attack.request_field("at_once", 50.into()).run(case);
        assert_eq!(rounds[0]["succeeded"], 50, "{case:?}: {rounds}");
        // The fork server.
        assert_eq!(rounds[0]["processes"], 1, "{case:?}: {rounds}");
        // If the first round left something behind, the second would leave twice as much.
        assert_eq!(rounds[0], rounds[1], "{case:?}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn one_standby_helper_is_kept_and_ends_with_its_program() {
    for case in test_cases() {
        let token = unique_token();
        let attack = AttackScript::python("print('ran')").argument("token", token.as_str());
        let attack =
            attack.request_field("at_once", 10.into()).request_field("standby_helper", true.into());
        let mut driver = attack.start(case);
        let rounds: serde_json::Value =
            serde_json::from_reader(driver.stdout.take().unwrap()).unwrap();
        assert_eq!(rounds[0]["succeeded"], 10, "{case:?}: {rounds}");
        // The standby helper and the fork server.
        assert_eq!(rounds[0]["processes"], 2, "{case:?}: {rounds}");
        assert_eq!(rounds[0], rounds[1], "{case:?}");
        driver.wait().unwrap();
        assert_eq!(left_in_group(driver.id()), Vec::<u32>::new(), "{case:?}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn the_fork_server_is_started_again_after_it_was_killed() {
    let policy = IsolationPolicy::default().accept_restricted(true);
    let sandbox = Sandbox::with_helper(policy, env!("CARGO_BIN_EXE_skillwire-isolate").into());
    if let Err(unavailable) = sandbox.isolation() {
        assert!(!unavailable.missing.is_empty());
        skip(TestNeed::Isolation, &unavailable.to_string());
        return;
    }
    let script = RelPath::parse("empty.sh").unwrap();
    let file = JobFile { path: script.clone(), bytes: Bytes::new() };
    let arguments = ScriptArguments::from_words(Vec::new(), Vec::new()).unwrap();
    let job = ScriptJob::new(vec![file], script, arguments, &InterpreterFinder::default()).unwrap();
    for _ in 0..2 {
        let ran = sandbox.run(&job, &CancelHandle::new().unwrap(), &mut |_| {}).unwrap();
        assert!(ran.end.is_success(), "{ran:?}");
        sandbox.wait_for_cleanup();
        kill(&fork_servers());
    }
}

/// The fork servers that this process started.
fn fork_servers() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = threads.flat_map(|thread| {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
    });
    let is_fork_server = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"skillwire-"))
    };
    let found: Vec<_> = children.filter(is_fork_server).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found
}

/// The processes that are left in a process group.
fn left_in_group(group: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let its = stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse::<u32>().ok()?;
        (its == group).then_some(pid)
    })
    .collect()
}
