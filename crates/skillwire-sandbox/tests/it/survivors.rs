//! Processes that try to outlive their run.

use std::{fs, io::Read as _, path::PathBuf};

use skillwire_sandbox::{
    Bytes, CancelHandle, InterpreterFinder, IsolationPolicy, JobFile, RelPath, Sandbox,
    ScriptArguments, ScriptJob,
};

use crate::{
    support::{Attack, cells, processes_with, token, users},
    test_skip::{TestNeed, skip},
};

/// Leaves the session, forks twice, closes everything, and goes on without its parents.
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

fn end(pids: &[u32]) {
    for pid in pids {
        let status =
            std::process::Command::new("/bin/kill").args(["-9", &pid.to_string()]).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn nothing_survives_its_run() {
    for user in users() {
        let token = token();
        let mut child = Attack::python(DAEMON).give("token", token.as_str()).start_outside(user);
        let mut line = [0; 12];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"daemon done\n");
        child.wait().unwrap();
        // Bounded: it was made before its parent said so.
        let survivors = loop {
            let found = processes_with(&token);
            if !found.is_empty() {
                break found;
            }
        };
        end(&survivors);
    }
    for cell in cells() {
        let token = token();
        let answer = Attack::python(DAEMON).give("token", token.as_str()).run(cell);
        assert_eq!(answer["end"]["exited"], 0, "{cell:?}: {answer}");
        assert!(processes_with(&token).is_empty(), "{cell:?}: {answer}");
    }
}

#[test]
fn nothing_survives_a_supervisor_that_is_killed() {
    for cell in cells() {
        let token = token();
        // A folder that nobody can enter does not keep the rest from being removed.
        let script = "os.mkdir('deep'); os.mkdir('deep/closed', 0); time.sleep(60)";
        let mut driver = Attack::python(script).give("token", token.as_str()).start(cell);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while processes_with(&token).is_empty() {
            assert!(std::time::Instant::now() < deadline, "the script did not start");
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
        assert_eq!(cell.tier == "restricted", folder.join("output").exists(), "{folder:?}");
        while cell.tier == "restricted" && !folder.join("output/deep/closed").exists() {
            assert!(std::time::Instant::now() < deadline, "the script did nothing");
            std::thread::yield_now();
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
        while !processes_with(&token).is_empty() {
            assert!(std::time::Instant::now() < deadline, "{cell:?}: it outlives its supervisor");
            std::thread::yield_now();
        }
        // The helper removes it, since nobody else knows of it.
        while cell.tier == "restricted" && folder.exists() {
            assert!(std::time::Instant::now() < deadline, "{folder:?} is left");
            std::thread::yield_now();
        }
    }
}

#[test]
fn fifty_runs_at_once_leave_no_process_mount_or_descriptor() {
    for cell in cells() {
        let token = token();
        let attack = Attack::python("print('ran')").give("token", token.as_str());
        let rounds = attack.set("at_once", 50.into()).run(cell);
        assert_eq!(rounds[0]["succeeded"], 50, "{cell:?}: {rounds}");
        // The one that helpers are copies of.
        assert_eq!(rounds[0]["processes"], 1, "{cell:?}: {rounds}");
        // What the first round left behind, the second would double.
        assert_eq!(rounds[0], rounds[1], "{cell:?}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn of_helpers_that_are_kept_ready_there_is_one_and_it_goes_with_its_program() {
    for cell in cells() {
        let token = token();
        let attack = Attack::python("print('ran')").give("token", token.as_str());
        let attack = attack.set("at_once", 10.into()).set("standby_helper", true.into());
        let mut driver = attack.start(cell);
        let rounds: serde_json::Value =
            serde_json::from_reader(driver.stdout.take().unwrap()).unwrap();
        assert_eq!(rounds[0]["succeeded"], 10, "{cell:?}: {rounds}");
        // And the one that they are copies of.
        assert_eq!(rounds[0]["processes"], 2, "{cell:?}: {rounds}");
        assert_eq!(rounds[0], rounds[1], "{cell:?}");
        driver.wait().unwrap();
        assert_eq!(left_in_group(driver.id()), Vec::<u32>::new(), "{cell:?}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn where_helpers_come_from_is_started_anew_when_it_was_ended() {
    let policy = IsolationPolicy::default().accept_restricted(true);
    let sandbox = Sandbox::with_helper(policy, env!("CARGO_BIN_EXE_skillwire-isolate").into());
    if let Err(unavailable) = sandbox.isolation() {
        assert!(!unavailable.missing.is_empty());
        skip(TestNeed::AvailableIsolation, &unavailable.to_string());
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
        end(&origins());
    }
}

/// The processes that this one started to make helpers.
fn origins() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = threads.flat_map(|thread| {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
    });
    let is_origin = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"skillwire-"))
    };
    let found: Vec<_> = children.filter(is_origin).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found
}

/// The processes in the group that was a program's own.
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
