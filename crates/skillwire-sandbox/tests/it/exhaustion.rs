//! Attempts to use too many processes, or too much memory, time, output and space.

use serde_json::{Value, json};

use crate::support::{
    AttackScript, attempts, processes_with, public_folder, run_folders, test_cases, unique_token,
    users,
};

/// Makes processes that wait, as many as do no harm outside of the sandbox.
const FORK_BOMB: &str = r#"
made = 0
children = []
try:
    for _ in range(60):
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        children.append(pid)
        made += 1
except OSError:
    pass
time.sleep(given.get("pause", 0))
print("made", made, flush=True)
for pid in children:
    os.kill(pid, signal.SIGKILL)
"#;

fn made(output: &str) -> u32 {
    let line = output.lines().find_map(|line| line.strip_prefix("made "));
    line.unwrap_or_else(|| panic!("{output}")).parse().unwrap()
}

#[test]
fn a_fork_bomb_is_bounded() {
    for user in users() {
        assert_eq!(made(&AttackScript::python(FORK_BOMB).run_outside(user)), 60);
    }
    for case in test_cases() {
        let token = unique_token();
        let attack = AttackScript::python(FORK_BOMB).argument("token", token.as_str());
        let answer = attack.argument("pause", 1).limit(json!({ "processes": 10 })).run(case);
        // Either the kernel refuses more, or the run is stopped when they are counted.
        if answer["end"] != json!({ "stopped": "processes" }) {
            let made = made(answer["stdout"].as_str().unwrap());
            assert!(made <= 10 && made > 3, "{case:?}: {answer}");
        }
        assert!(processes_with(&token).is_empty());
    }
}

/// Takes 192 MiB in one of three ways. Every machine has that much, and the limit below is lower.
const MEMORY: &str = r#"
kind = given["kind"]
size = 192 * 1024 * 1024
def fill():
    if kind == "private":
        block = bytearray(size)
    elif kind == "shared":
        block = mmap.mmap(-1, size)
        for at in range(0, size, 4096):
            block[at] = 1
    elif kind == "several":
        for _ in range(6):
            if os.fork() == 0:
                block = bytearray(size // 6)
                for at in range(0, len(block), 4096):
                    block[at] = 1
                time.sleep(2)
                os._exit(0)
        time.sleep(2)
attempt("fill", fill)
"#;

#[test]
fn memory_is_bounded_however_it_is_taken() {
    for user in users() {
        for kind in ["private", "shared", "several"] {
            let output = AttackScript::python(MEMORY).argument("kind", kind).run_outside(user);
            assert_eq!(attempts(&output)["fill"], None, "{kind}: {output}");
        }
    }
    for case in test_cases() {
        for kind in ["private", "shared", "several"] {
            let token = unique_token();
            let attack = AttackScript::python(MEMORY)
                .argument("kind", kind)
                .argument("token", token.as_str());
            let answer = attack.limit(json!({ "memory_bytes": 64 * 1024 * 1024 })).run(case);
            let went = attempts(answer["stdout"].as_str().unwrap());
            let stopped = answer["end"] == json!({ "stopped": "memory" });
            // Either the run is stopped, or the script's own request fails.
            let failed = went.get("fill").is_some_and(Option::is_some);
            assert!(stopped || failed, "{kind}, {case:?}: {answer}");
            assert_ne!(went.get("fill"), Some(&None), "{kind}, {case:?}: {answer}");
            // Without a cgroup nothing could count shared memory, and it is refused.
            let is_refused =
                kind == "private" || kind == "shared" && answer["enforcement"]["cgroup"].is_null();
            assert!(stopped || is_refused, "{kind}, {case:?}: {answer}");
            assert!(processes_with(&token).is_empty());
        }
    }
}

/// Uses two seconds of processor time, in one process or in several.
const BURN: &str = r#"
if given["several"]:
    for _ in range(3):
        if os.fork() == 0:
            break
start = time.process_time()
while time.process_time() - start < 2:
    pass
print("burned", flush=True)
"#;

#[test]
fn processor_time_is_bounded() {
    assert!(
        AttackScript::python(BURN)
            .argument("several", false)
            .run_outside(users()[0])
            .contains("burned")
    );
    for case in test_cases() {
        let attack = AttackScript::python(BURN).argument("several", case.tier == "full");
        let answer = attack.limit(json!({ "cpu_ms": 600 })).run(case);
        assert_eq!(answer["end"], json!({ "stopped": "cpu" }), "{case:?}: {answer}");
        assert_eq!(answer["stdout"], "", "{case:?}: {answer}");
    }
}

#[test]
fn a_sleeper_that_ignores_every_signal_is_ended_in_time() {
    let script = r#"
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print("asleep", flush=True)
deadline = time.time() + 60
while time.time() < deadline:
    time.sleep(1)
"#;
    for user in users() {
        let mut child = AttackScript::python(script).start_outside(user);
        let mut first = [0; 7];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        assert_eq!(&first, b"asleep\n");
        assert!(child.try_wait().unwrap().is_none(), "it still runs after what would be its limit");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for case in test_cases() {
        let token = unique_token();
        let attack = AttackScript::python(script).argument("token", token.as_str());
        let answer = attack.clone().limit(json!({ "wall_ms": 700 })).run(case);
        assert_eq!(answer["end"], json!({ "stopped": "wall" }), "{case:?}: {answer}");
        assert_eq!(answer["stdout"], "asleep\n");
        assert!(answer["wall_ms"].as_u64().unwrap() < 5_000, "{answer}");
        assert!(processes_with(&token).is_empty());
        let cancelled = attack.request_field("cancel_after_ms", json!(200)).run(case);
        assert_eq!(cancelled["end"], json!({ "stopped": "cancelled" }), "{case:?}: {cancelled}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn a_flood_of_output_is_cut_and_ended() {
    let flood = "for _ in range(given['times']): os.write(1, b'x' * 4096)\n";
    let outside = AttackScript::python(flood).argument("times", 500).run_outside(users()[0]);
    assert_eq!(outside.len(), 500 * 4096);
    for case in test_cases() {
        let attack = AttackScript::python(flood).limit(json!({ "stream_bytes": 5000 }));
        let answer = attack.clone().argument("times", 10).run(case);
        assert_eq!(answer["end"], json!({ "exited": 0 }), "{case:?}: {answer}");
        assert_eq!(answer["stdout"].as_str().unwrap().len(), 5000);
        assert_eq!(answer["truncated"], true);
        let answer = attack.argument("times", 1_000_000_000).run(case);
        assert_eq!(answer["end"], json!({ "stopped": "output" }), "{case:?}: {answer}");
        assert_eq!(answer["stdout"].as_str().unwrap().len(), 5000);
    }
}

/// Fills a folder with one large file, and with many files.
const FILL: &str = r#"
def one():
    with open(os.path.join(os.environ[given["where"]], "one"), "wb") as file:
        for _ in range(given["blocks"]):
            file.write(b"x" * 65536)
def many():
    for number in range(given["blocks"]):
        with open(os.path.join(os.environ[given["where"]], str(number)), "wb") as file:
            file.write(b"x" * 65536)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("one", one)
attempt("many", many)
"#;

#[test]
fn a_disk_is_not_filled_and_nothing_is_left_on_it() {
    let outside = public_folder();
    let attack = AttackScript::python(FILL).argument("outside", outside.path().to_str().unwrap());
    let output =
        attack.clone().argument("where", "TMPDIR").argument("blocks", 64).run_outside(users()[0]);
    let went = attempts(&output);
    assert_eq!((&went["one"], &went["many"]), (&None, &None), "{output}");
    for case in test_cases() {
        for place in ["TMPDIR", "OUTPUT_DIR"] {
            let before = run_folders();
            let attack = attack.clone().argument("where", place).argument("blocks", 2000);
            let answer = attack.limit(json!({ "folder_bytes": 1024 * 1024 })).run(case);
            let went = attempts(answer["stdout"].as_str().unwrap_or_default());
            for name in ["one", "many"] {
                // Either the run is stopped before it is done, or the script's own writes fail.
                let failed = went.get(name).is_some_and(Option::is_some);
                let stopped = answer["end"] == json!({ "stopped": "disk" });
                assert!(failed || stopped, "{name}, {place}, {case:?}: {answer}");
                assert_ne!(went.get(name), Some(&None), "{name}, {place}, {case:?}: {answer}");
            }
            let left: Vec<_> = abandoned_run_folders(&before);
            assert_eq!(left, Vec::<Value>::new(), "{case:?}");
        }
    }
}

const WRITE_ANYTHING: &str = r#"
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def content():
    with open("content", "wb", buffering=0) as file:
        file.write(b"x")
    time.sleep(given["pause"])
def file():
    open("file", "wb").close()
    time.sleep(given["pause"])
attempt(given["kind"], globals()[given["kind"]])
"#;

#[test]
fn a_limit_of_nothing_is_not_taken_for_none_b_03() {
    for case in test_cases() {
        for (kind, limit) in [("content", "folder_bytes"), ("file", "folder_files")] {
            let attack = AttackScript::python(WRITE_ANYTHING)
                .argument("pause", 0.5)
                .argument("kind", kind)
                .limit(json!({ limit: 0 }));
            let answer = attack.run(case);
            let went = attempts(answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")));
            let failed = went.get(kind).is_some_and(Option::is_some);
            let stopped = answer["end"] == json!({ "stopped": "disk" });
            assert!(failed || stopped, "{kind}, {case:?}: {answer}");
            // The same with room for one.
            let answer =
                attack.limit(json!({ "folder_bytes": 65536, "folder_files": 1 })).run(case);
            let went = attempts(answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")));
            assert_eq!(went.get(kind), Some(&None), "{kind}, {case:?}: {answer}");
        }
    }
}

/// Folders of runs that appeared since `before` and that no process uses. Other tests make and
/// remove some at the same time.
fn abandoned_run_folders(before: &[String]) -> Vec<Value> {
    let mut left = run_folders();
    left.retain(|name| !before.contains(name) && processes_with(name).is_empty());
    // The folder of another test may be removed at this moment.
    left.retain(|name| {
        let path = std::path::Path::new("/tmp").join(name);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while path.exists() && processes_with(name).is_empty() {
            if std::time::Instant::now() > deadline {
                return true;
            }
            std::thread::yield_now();
        }
        false
    });
    left.into_iter().map(Value::from).collect()
}
