//! Layers that others stand behind, so that no attack shows whether they are there: each is looked at
//! by itself.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{Attack, attempts, cells, processes_with, token};

/// Tells that it is there by its name, and stays. It writes nothing, for nobody may be reading.
const STAY: &str = "libc.prctl(15, b'staying', 0, 0, 0)\ntime.sleep(60)";

/// Waits until the script of a run stays, found by a word that it was given.
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

/// A number after the name in what the kernel says about a process: 1 is its parent, 2 its group, 3 its
/// session.
fn stat(pid: u32, field: usize) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(field).unwrap().parse().unwrap()
}

#[test]
fn a_run_has_a_session_of_its_own() {
    for cell in cells() {
        let token = token();
        let attack = Attack::python(STAY).give("token", token.as_str());
        let mut driver = attack.start(cell);
        let script = wait_for_script(&token);
        for (what, field) in [("group", 2), ("session", 3)] {
            assert_ne!(stat(script, field), stat(driver.id(), field), "{what}, {cell:?}");
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
    }
}

#[test]
fn a_script_ends_with_its_helper() {
    // It does not want to be told of its parent's end.
    let script = format!("libc.prctl(1, 0, 0, 0, 0)\n{STAY}");
    for cell in cells() {
        let token = token();
        let driver = Attack::python(&script).give("token", token.as_str()).start(cell);
        let mut helper = stat(wait_for_script(&token), 1);
        if cell.tier == "full" {
            // The first process of the namespace is in between.
            helper = stat(helper, 1);
        }
        let killed = Command::new("/bin/kill").args(["-9", &helper.to_string()]).status();
        assert!(killed.unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !processes_with(&token).is_empty() {
            assert!(Instant::now() < deadline, "{cell:?}: it outlives its helper");
            std::thread::yield_now();
        }
        let output = driver.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["failed"].is_string(), "{cell:?}: {answer}");
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
    for cell in cells().into_iter().filter(|cell| cell.tier == "full") {
        let answer = Attack::python(script).run(cell);
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
            assert!(lines.contains(&line), "{line}, {cell:?}: {answer}");
        }
        // Where it cannot be mounted, the folder of the root is all there is.
        let proc = ["/proc ro nosuid nodev noexec", "/proc ro nosuid nodev"];
        assert!(proc.iter().any(|line| lines.contains(line)), "{cell:?}: {answer}");
    }
}

#[test]
fn the_call_whose_flags_no_filter_sees_does_not_exist() {
    // Libraries use the older call only where this one is missing, not where it is refused.
    let script = "attempt('clone3', lambda: call(435, ctypes.create_string_buffer(8), 8))";
    for cell in cells() {
        let answer = Attack::python(script).run(cell);
        let went = attempts(answer["stdout"].as_str().unwrap());
        let missing = libc::ENOSYS.to_string();
        assert_eq!(went["clone3"].as_ref(), Some(&missing), "{cell:?}: {answer}");
    }
}

#[test]
fn nothing_executed_later_can_gain_privileges() {
    let script = "print(libc.prctl(39, 0, 0, 0, 0))";
    for cell in cells() {
        let answer = Attack::python(script).run(cell);
        assert_eq!(answer["stdout"], "1\n", "{cell:?}: {answer}");
    }
}
