//! Processes that try to outlive their run.

use std::io::Read as _;

use crate::support::{Attack, cells, processes_with, token, users};

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
        let script = "print('up', flush=True); time.sleep(60)";
        let mut driver = Attack::python(script).give("token", token.as_str()).start(cell);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while processes_with(&token).is_empty() {
            assert!(std::time::Instant::now() < deadline, "the script did not start");
            std::thread::yield_now();
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
        while !processes_with(&token).is_empty() {
            assert!(std::time::Instant::now() < deadline, "{cell:?}: it outlives its supervisor");
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
        assert_eq!(rounds[0]["children"], 0, "{cell:?}: {rounds}");
        // What the first round left behind, the second would double.
        assert_eq!(rounds[0], rounds[1], "{cell:?}");
        assert!(processes_with(&token).is_empty());
    }
}
