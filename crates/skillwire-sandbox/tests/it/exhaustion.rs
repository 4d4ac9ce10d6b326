//! Too many processes, too much memory, time, output and space.

use serde_json::{Value, json};

use crate::support::{Attack, attempts, cells, processes_with, public_folder, token, users};

/// Makes processes that wait, up to a bound that harms nobody outside.
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
        assert_eq!(made(&Attack::python(FORK_BOMB).run_outside(user)), 60);
    }
    for cell in cells() {
        let token = token();
        let attack = Attack::python(FORK_BOMB).give("token", token.as_str());
        let answer = attack.limit(json!({ "processes": 10 })).run(cell);
        let made = made(answer["stdout"].as_str().unwrap());
        let most = if cell.tier == "full" { 10 } else { 0 };
        assert!(made <= most && (made > 3 || most == 0), "{cell:?}: {answer}");
        assert!(processes_with(&token).is_empty());
    }
}

/// 192 MiB, which any machine has and no limit below allows.
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
            let output = Attack::python(MEMORY).give("kind", kind).run_outside(user);
            assert_eq!(attempts(&output)["fill"], None, "{kind}: {output}");
        }
    }
    for cell in cells() {
        for kind in ["private", "shared", "several"] {
            let token = token();
            let attack = Attack::python(MEMORY).give("kind", kind).give("token", token.as_str());
            let answer = attack.limit(json!({ "memory_bytes": 64 * 1024 * 1024 })).run(cell);
            let output = answer["stdout"].as_str().unwrap();
            let done = attempts(output).get("fill") == Some(&None);
            assert!(!done, "{kind}, {cell:?}: {answer}");
            if kind != "private" && !(kind == "several" && cell.tier == "restricted") {
                assert_eq!(
                    answer["end"],
                    json!({ "stopped": "memory" }),
                    "{kind}, {cell:?}: {answer}"
                );
            }
            assert!(processes_with(&token).is_empty());
        }
    }
}

/// Uses two seconds of the processor, in one process or in several.
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
    assert!(Attack::python(BURN).give("several", false).run_outside(users()[0]).contains("burned"));
    for cell in cells() {
        let attack = Attack::python(BURN).give("several", cell.tier == "full");
        let answer = attack.limit(json!({ "cpu_ms": 600 })).run(cell);
        assert_eq!(answer["end"], json!({ "stopped": "cpu" }), "{cell:?}: {answer}");
        assert_eq!(answer["stdout"], "", "{cell:?}: {answer}");
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
        let mut child = Attack::python(script).start_outside(user);
        let mut first = [0; 7];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        assert_eq!(&first, b"asleep\n");
        assert!(child.try_wait().unwrap().is_none(), "it outlives what would be its limit");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for cell in cells() {
        let token = token();
        let attack = Attack::python(script).give("token", token.as_str());
        let answer = attack.clone().limit(json!({ "wall_ms": 700 })).run(cell);
        assert_eq!(answer["end"], json!({ "stopped": "wall" }), "{cell:?}: {answer}");
        assert_eq!(answer["stdout"], "asleep\n");
        assert!(answer["wall_ms"].as_u64().unwrap() < 5_000, "{answer}");
        assert!(processes_with(&token).is_empty());
        let cancelled = attack.set("cancel_after_ms", json!(200)).run(cell);
        assert_eq!(cancelled["end"], json!({ "stopped": "cancelled" }), "{cell:?}: {cancelled}");
        assert!(processes_with(&token).is_empty());
    }
}

#[test]
fn a_flood_of_output_is_cut_and_ended() {
    let flood = "for _ in range(given['times']): os.write(1, b'x' * 4096)\n";
    let outside = Attack::python(flood).give("times", 500).run_outside(users()[0]);
    assert_eq!(outside.len(), 500 * 4096);
    for cell in cells() {
        let attack = Attack::python(flood).limit(json!({ "stream_bytes": 5000 }));
        let answer = attack.clone().give("times", 10).run(cell);
        assert_eq!(answer["end"], json!({ "exited": 0 }), "{cell:?}: {answer}");
        assert_eq!(answer["stdout"].as_str().unwrap().len(), 5000);
        assert_eq!(answer["truncated"], true);
        let answer = attack.give("times", 1_000_000_000).run(cell);
        assert_eq!(answer["end"], json!({ "stopped": "output" }), "{cell:?}: {answer}");
        assert_eq!(answer["stdout"].as_str().unwrap().len(), 5000);
    }
}

/// Fills a folder with one file, with many, and without an end.
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
    let attack = Attack::python(FILL).give("outside", outside.path().to_str().unwrap());
    let output = attack.clone().give("where", "TMPDIR").give("blocks", 64).run_outside(users()[0]);
    let went = attempts(&output);
    assert_eq!((&went["one"], &went["many"]), (&None, &None), "{output}");
    for cell in cells() {
        for place in ["TMPDIR", "OUTPUT_DIR"] {
            let before = run_folders();
            let attack = attack.clone().give("where", place).give("blocks", 2000);
            let answer = attack.limit(json!({ "folder_bytes": 1024 * 1024 })).run(cell);
            let went = attempts(answer["stdout"].as_str().unwrap_or_default());
            assert_ne!(went.get("one"), Some(&None), "{place}, {cell:?}: {answer}");
            assert_ne!(went.get("many"), Some(&None), "{place}, {cell:?}: {answer}");
            let left: Vec<_> = run_folders_of_nobody(&before);
            assert_eq!(left, Vec::<Value>::new(), "{cell:?}");
        }
    }
}

fn run_folders() -> Vec<String> {
    let entries = std::fs::read_dir("/tmp").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("skillwire-run-")).collect()
}

/// Folders of runs that appeared since and belong to no process; other tests make and remove some.
fn run_folders_of_nobody(before: &[String]) -> Vec<Value> {
    let mut left = run_folders();
    left.retain(|name| !before.contains(name) && processes_with(name).is_empty());
    // One of another test may just be on its way out.
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
