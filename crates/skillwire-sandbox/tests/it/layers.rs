//! Layers that other layers stand behind. No attack would show that one of them is missing, so each
//! is checked by itself.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{AttackScript, attempts, processes_with, test_cases, unique_token};

/// Sets its own name and sleeps. It writes nothing, because the driver may be gone.
const STAY: &str = "libc.prctl(15, b'staying', 0, 0, 0)\ntime.sleep(60)";

/// Waits until the script with this token has set its name, and returns its id.
fn wait_for_script(token: &str) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(30);
    let stays = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "staying\n")
    };
    loop {
        if let Some(pid) = processes_with(token).into_iter().find(stays) {
            return pid;
        }
        assert!(Instant::now() < deadline, "the script did not start");
        std::thread::yield_now();
    }
}

/// A field after the name in `/proc/PID/stat`: 1 is the parent, 2 the process group, 3 the session.
fn stat(pid: u32, field: usize) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(field).unwrap().parse().unwrap()
}

#[test]
fn a_run_has_a_session_of_its_own() {
    for case in test_cases() {
        let token = unique_token();
        let attack = AttackScript::python(STAY).argument("token", token.as_str());
        let mut driver = attack.start(case);
        let script = wait_for_script(&token);
        for (what, field) in [("group", 2), ("session", 3)] {
            assert_ne!(stat(script, field), stat(driver.id(), field), "{what}, {case:?}");
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
    }
}

#[test]
fn a_script_ends_with_its_helper() {
    // The script tries to undo the signal that it gets when its parent dies.
    let script = format!("libc.prctl(1, 0, 0, 0, 0)\n{STAY}");
    for case in test_cases() {
        let token = unique_token();
        let driver = AttackScript::python(&script).argument("token", token.as_str()).start(case);
        let mut helper = stat(wait_for_script(&token), 1);
        if case.tier == "full" {
            // The first process of the namespace is in between.
            helper = stat(helper, 1);
        }
        let killed = Command::new("/bin/kill").args(["-9", &helper.to_string()]).status();
        assert!(killed.unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !processes_with(&token).is_empty() {
            assert!(Instant::now() < deadline, "{case:?}: the script outlives its helper");
            std::thread::yield_now();
        }
        let output = driver.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["failed"].is_string(), "{case:?}: {answer}");
    }
}

#[test]
fn in_full_isolation_mounts_give_no_more_than_they_must() {
    let script = r#"
for path in ("/", "/usr", "/skill", "/proc", "/tmp", "/output", "/dev/null"):
    flags = os.statvfs(path).f_flag
    names = {"ro": 1, "nosuid": 2, "nodev": 4, "noexec": 8}
    print(path, *[name for name, bit in names.items() if flags & bit])
"#;
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        let answer = AttackScript::python(script).run(case);
        let output = answer["stdout"].as_str().unwrap();
        let lines: Vec<_> = output.lines().collect();
        for line in [
            "/ ro nosuid nodev",
            "/usr ro nosuid nodev",
            "/skill ro nosuid nodev",
            "/tmp nosuid nodev noexec",
            "/output nosuid nodev noexec",
            "/dev/null nosuid noexec",
        ] {
            assert!(lines.contains(&line), "{line}, {case:?}: {answer}");
        }
        // A container may not be able to mount `/proc`; then the empty folder is part of the root.
        let proc = ["/proc ro nosuid nodev noexec", "/proc ro nosuid nodev"];
        assert!(proc.iter().any(|line| lines.contains(line)), "{case:?}: {answer}");
    }
}

#[test]
fn clone3_whose_flags_no_filter_sees_does_not_exist() {
    // Libraries use the older call only if this one fails as if it did not exist.
    let script = "attempt('clone3', lambda: call(435, ctypes.create_string_buffer(8), 8))";
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        let went = attempts(answer["stdout"].as_str().unwrap());
        let missing = libc::ENOSYS.to_string();
        assert_eq!(went["clone3"].as_ref(), Some(&missing), "{case:?}: {answer}");
    }
}

#[test]
fn nothing_executed_later_can_gain_privileges() {
    let script = "print(libc.prctl(39, 0, 0, 0, 0))";
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["stdout"], "1\n", "{case:?}: {answer}");
    }
}
